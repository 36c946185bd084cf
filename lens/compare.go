package lens

import (
	"bytes"
	"cmp"
	"strings"
	"time"
)

// compareValues orders two values of one Go type: numbers by value, text and
// bytes byte by byte, false before true. Values of different types have no order
// and never get here.
func compareValues(a, b any) int {
	switch a := a.(type) {
	case number:
		return a.rat.Cmp(b.(number).rat)
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	case time.Time:
		return a.Compare(b.(time.Time))
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case bool:
		switch other := b.(bool); {
		case a == other:
			return 0
		case other:
			return -1
		}
		return 1
	}
	panic("lens: values that cannot be compared")
}
