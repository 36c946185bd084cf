package lens

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/postledger/postledger/lens/catalogue"
)

// Value is a literal or the name of a parameter.
type Value struct {
	// Literal is a string, a bool or a json.Number, or bytes that were given as such; what
	// it means is decided by the field it is compared with.
	Literal any
	Param   string
}

// Operand is what an operator takes: one value or a list.
type Operand struct {
	One    Value
	List   []Value
	IsList bool
}

// givenBytes are bytes of Go's own. JSON writes them as base64, as lenses do.
type givenBytes []byte

// asKind takes bytes for text where a kind is not bytes: MySQL's driver gives them for
// everything. As base64 they would be another text, and found nowhere.
func (v Value) asKind(kind catalogue.Kind) Value {
	if b, isBytes := v.Literal.(givenBytes); isBytes && kind != catalogue.Bytes {
		v.Literal = string(b)
	}
	return v
}

var errNull = errors.New("is null, which is no value: isNull tests for it")

// operandOf takes a Go value as a literal: strings, booleans, numbers, times,
// bytes, [Value], and slices of these.
func operandOf(v any) (Operand, error) {
	if list := reflect.ValueOf(v); v != nil && list.Kind() == reflect.Slice && list.Type().Elem().Kind() != reflect.Uint8 {
		o := Operand{IsList: true, List: make([]Value, list.Len())}
		for i := range o.List {
			one, err := valueOf(list.Index(i).Interface())
			if err != nil {
				return Operand{}, fmt.Errorf("[%d]: %w", i, err)
			}
			o.List[i] = one
		}
		return o, nil
	}
	one, err := valueOf(v)
	return Operand{One: one}, err
}

func valueOf(v any) (Value, error) {
	switch v := v.(type) {
	case Value:
		return v, nil
	case string, bool, json.Number:
		return Value{Literal: v}, nil
	case nil:
		return Value{}, errNull
	case []byte:
		return Value{Literal: givenBytes(v)}, nil
	case time.Time:
		return Value{Literal: v.Format(time.RFC3339Nano)}, nil
	case fmt.Stringer: // uuids, decimals
		return Value{Literal: v.String()}, nil
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		return Value{Literal: r.String()}, nil
	case reflect.Bool:
		return Value{Literal: r.Bool()}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Value{Literal: json.Number(strconv.FormatInt(r.Int(), 10))}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Value{Literal: json.Number(strconv.FormatUint(r.Uint(), 10))}, nil
	case reflect.Float32, reflect.Float64:
		f := r.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return Value{}, fmt.Errorf("%v is not a number that can be compared", f)
		}
		return Value{Literal: json.Number(strconv.FormatFloat(f, 'g', -1, r.Type().Bits()))}, nil
	}
	return Value{}, fmt.Errorf("a value of type %T cannot be compared", v)
}
