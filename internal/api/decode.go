package api

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
)

// decoder reads JSON strictly: what encoding/json passes over (unknown and
// repeated names, names in other letter case, nulls, bytes that are not UTF-8)
// is a problem that names its field. It reports all of them, up to
// accept.MaxProblems.
type decoder struct {
	types    *members
	in       *tokens
	problems []FieldError
	more     int
}

func newDecoder(types *members, r io.Reader) *decoder {
	return &decoder{types: types, in: newTokens(r)}
}

// maxDepth bounds nesting; what the API takes has four levels.
const maxDepth = 32

func (d *decoder) add(name string, rule accept.Rule, message string) {
	if len(d.problems) >= accept.MaxProblems {
		d.more++
		return
	}
	d.problems = append(d.problems, FieldError{name, rule, message})
}

// err is the refusal of what was found.
func (d *decoder) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	p := problem(codeBadInput, "")
	p.Errors, p.More = d.problems, d.more
	return p
}

// whole decodes the only value of the stream.
func (d *decoder) whole(v any) error {
	if err := d.value(reflect.ValueOf(v).Elem(), ""); err != nil {
		return err
	}
	if err := d.end(); err != nil {
		return err
	}
	return d.err()
}

// end demands that nothing but white space follows.
func (d *decoder) end() error {
	switch _, err := d.in.next(); {
	case errors.Is(err, io.EOF):
		if d.in.bad && len(d.problems) == 0 {
			d.add("", accept.RuleEncoding, "is not valid UTF-8")
			return d.err()
		}
		return nil
	case err == nil:
		d.add("", ruleJSON, "something follows the JSON value")
		return d.err()
	default:
		return d.broken(err)
	}
}

// broken is the refusal of a stream that cannot be read on.
func (d *decoder) broken(err error) error {
	var syntax *json.SyntaxError
	tooLarge := new(http.MaxBytesError)
	switch {
	case errors.As(err, &tooLarge):
		p := problem(codeRequestTooLarge, "")
		p.Limit = &tooLarge.Limit
		return p
	case errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		at := ""
		if syntax != nil {
			at = " at byte " + strconv.FormatInt(syntax.Offset, 10)
		}
		d.add("", ruleJSON, "is not valid JSON"+at)
		return d.err()
	default:
		return readProblem(err)
	}
}

// value decodes the next value into v, whose place in the request is path.
func (d *decoder) value(v reflect.Value, path string) error {
	if strings.Count(path, ".")+strings.Count(path, "[") > maxDepth {
		d.add(path, ruleJSON, "is nested too deeply")
		return d.err()
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem(), path)
	}
	switch {
	case custom(v):
		return d.leaf(v, path)
	case v.Kind() == reflect.Struct:
		return d.object(v, path)
	case v.Kind() == reflect.String:
		text, _, err := d.text(v, path)
		v.SetString(text)
		return err
	case v.Type() == reflect.TypeFor[[]byte]():
		return d.bytes(v, path)
	case v.Kind() == reflect.Slice:
		return d.list(v, path)
	default:
		return d.leaf(v, path)
	}
}

// custom reports whether a type reads its own JSON.
func custom(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(json.Unmarshaler)
	if !ok {
		_, ok = v.Addr().Interface().(encoding.TextUnmarshaler)
	}
	return ok
}

// open reads the bracket that begins an object or a list; when another value
// stands there, it is skipped and false returned.
func (d *decoder) open(want byte, what, path string) (bool, error) {
	c, err := d.in.next()
	if err != nil {
		return false, d.broken(err)
	}
	if c == want {
		if err := d.in.take(c); err != nil {
			return false, d.broken(err)
		}
		return true, nil
	}
	return false, d.another(c, path, what)
}

// another skips a value that is not what is wanted.
func (d *decoder) another(c byte, path, what string) error {
	if c == 'n' {
		d.add(path, ruleNull, "is null: leave it out if it is not meant")
	} else {
		d.add(path, ruleType, "must be "+what)
	}
	if err := d.in.value(c); err != nil {
		return d.broken(err)
	}
	return nil
}

// closed reads the bracket that ends an object or a list.
func (d *decoder) closed() error {
	c, err := d.in.next()
	if err == nil {
		err = d.in.take(c)
	}
	if err != nil {
		return d.broken(err)
	}
	return nil
}

func (d *decoder) object(v reflect.Value, path string) error {
	ok, err := d.open('{', "an object", path)
	if !ok {
		return err
	}
	fields := d.types.of(v.Type())
	return d.members(path, fields, func(name string) error {
		at := name
		if path != "" {
			at = path + "." + name
		}
		return d.member(v, fields[name], at)
	})
}

// member reads the value of one of an object's members, and refuses one that is
// nothing where something is meant.
func (d *decoder) member(v reflect.Value, index []int, at string) error {
	member := v.FieldByIndex(index)
	before := len(d.problems) + d.more
	if err := d.value(member, at); err != nil {
		return err
	}
	if before == len(d.problems)+d.more && nothing(v.Type().FieldByIndex(index), member) {
		d.add(at, ruleEmpty, "is empty: leave it out if it is not meant")
	}
	return nil
}

// nothing reports a value that would be read as none where one was meant: any
// id or time, and what is tagged as needing a value when it is given.
func nothing(f reflect.StructField, v reflect.Value) bool {
	switch f.Type {
	case reflect.TypeFor[postledger.ID](), reflect.TypeFor[time.Time]():
		return v.IsZero()
	}
	return f.Tag.Get("given") == "nonempty" && (v.IsZero() || (v.Kind() == reflect.Slice && v.Len() == 0))
}

// members reads an object's members up to its end; each, once, is handed to
// take, which reads its value.
func (d *decoder) members(path string, fields map[string][]int, take func(name string) error) error {
	seen := map[string]bool{}
	for d.in.more() {
		name, err := d.name()
		if err != nil {
			return err
		}
		_, known := fields[name]
		switch {
		case seen[name]:
			d.add(memberPath(path, name, known), accept.RuleDuplicate, "is given more than once")
			err = d.skipValue()
		case !known:
			d.add(memberPath(path, name, false), accept.RuleUnknown, "is not a member that this request has"+closest(name, fields))
			err = d.skipValue()
		default:
			err = take(name)
		}
		if err != nil {
			return err
		}
		seen[name] = true
	}
	return d.closed()
}

// memberPath is where a member stands, as an answer may show it.
func memberPath(path, name string, known bool) string {
	if !known {
		name = safeName(name)
	}
	switch {
	case path == "":
		return name
	case name == "":
		return path
	default:
		return path + "." + name
	}
}

// name reads a member's name. One that is not UTF-8 is none of ours.
func (d *decoder) name() (string, error) {
	_, err := d.in.next()
	if err != nil {
		return "", d.broken(err)
	}
	name, ok, err := d.in.text()
	if err != nil {
		return "", d.broken(err)
	}
	d.in.bad = d.in.bad || !ok
	return name, nil
}

func (d *decoder) skipValue() error {
	c, err := d.in.next()
	if err == nil {
		err = d.in.value(c)
	}
	if err != nil {
		return d.broken(err)
	}
	return nil
}

func (d *decoder) list(v reflect.Value, path string) error {
	ok, err := d.open('[', "a list", path)
	if !ok {
		return err
	}
	v.SetLen(0)
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	}
	for i := 0; d.in.more(); i++ {
		if i >= maxList {
			d.add(path, accept.RuleTooMany, fmt.Sprintf("has more than %d entries", maxList))
			return d.err()
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		at := path + "[" + strconv.Itoa(i) + "]"
		before := len(d.problems) + d.more
		if err := d.value(v.Index(i), at); err != nil {
			return err
		}
		if v.Type().Elem() == reflect.TypeFor[postledger.ID]() && v.Index(i).IsZero() && before == len(d.problems)+d.more {
			d.add(at, ruleEmpty, "is empty")
		}
	}
	return d.closed()
}

// maxList bounds every list; the steps have lower bounds for each.
const maxList = 1000
