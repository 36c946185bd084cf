package stablehash

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"unicode/utf8"
)

// Object hashes an object member by member, in the order of their names as they
// are written. Its hash is what [Sum] returns for all of them in one value; no
// text is encoded by encoding/json, or copied.
type Object struct {
	hash hash.Hash
	buf  []byte
	last []byte // the name before, as it is written; nil before the first
	name []byte
	err  error
}

// objectBuffer is how much is handed to the hash at once.
const objectBuffer = 1 << 10

// NewObject begins an object.
func NewObject() *Object {
	return &Object{hash: sha256.New(), buf: make([]byte, 0, objectBuffer)}
}

// Text adds a string.
func (o *Object) Text(name, value string) {
	if !utf8.ValidString(value) {
		o.fail(RuleEncoding, "text "+name+" is not valid UTF-8")
	}
	if o.member(name) {
		o.text(value)
	}
}

// Value adds what encoding/json makes of v.
func (o *Object) Value(name string, v any) {
	canonical, err := encode(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	if o.member(name) {
		for len(canonical) > 0 {
			n := min(len(canonical), o.room())
			o.buf = append(o.buf, canonical[:n]...)
			canonical = canonical[n:]
		}
	}
}

// Sum ends the object.
func (o *Object) Sum() (Hash, error) {
	if o.err != nil {
		return Hash{}, o.err
	}
	if o.last == nil {
		o.put('{')
	}
	o.put('}')
	o.hash.Write(o.buf)
	o.buf = o.buf[:0]
	return Hash{set: true, sum: [sha256.Size]byte(o.hash.Sum(nil))}, nil
}

func (o *Object) fail(rule Rule, detail string) {
	if o.err == nil {
		o.err = &Error{Rule: rule, Detail: detail}
	}
}

// member writes what stands before a value, unless something was refused.
func (o *Object) member(name string) bool {
	if !utf8.ValidString(name) {
		o.fail(RuleEncoding, "a name is not valid UTF-8")
	}
	o.name = o.name[:0]
	for i := range len(name) {
		if c := name[i]; c < utf8.RuneSelf && !plain[c] {
			o.name = appendRune(o.name, rune(c))
		} else {
			o.name = append(o.name, c)
		}
	}
	first := o.last == nil
	if !first && bytes.Compare(o.last, o.name) >= 0 {
		o.fail(RuleDuplicate, "a name is not behind the one before it")
	}
	o.last = append(append(o.last[:0], o.name...), 0)[:len(o.name)] // never nil
	if o.err != nil {
		return false
	}
	if first {
		o.put('{')
	} else {
		o.put(',')
	}
	o.text(name)
	o.put(':')
	return true
}

// room is how many bytes the buffer takes, at least one.
func (o *Object) room() int {
	if len(o.buf) == cap(o.buf) {
		o.hash.Write(o.buf) // never fails
		o.buf = o.buf[:0]
	}
	return cap(o.buf) - len(o.buf)
}

func (o *Object) put(c byte) {
	o.room()
	o.buf = append(o.buf, c)
}

// text writes the canonical form of a string that is valid UTF-8.
func (o *Object) text(s string) {
	o.put('"')
	run := 0
	for i := range len(s) {
		if c := s[i]; c < utf8.RuneSelf && !plain[c] {
			o.plain(s[run:i])
			var escaped [8]byte
			for _, e := range appendRune(escaped[:0], rune(c)) {
				o.put(e)
			}
			run = i + 1
		}
	}
	o.plain(s[run:])
	o.put('"')
}

func (o *Object) plain(s string) {
	for len(s) > 0 {
		n := min(len(s), o.room())
		o.buf = append(o.buf, s[:n]...)
		s = s[n:]
	}
}
