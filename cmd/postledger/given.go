package main

import (
	"reflect"

	"github.com/alecthomas/kong"
)

// refuseEmpty refuses a flag or an argument that was given and says nothing, as
// --profile "$PROFILE" does when the variable is not set. It would be read as
// left out: a filter would choose more than was meant, a message would leave
// from the default profile, and without the protection of its key.
//
// Flags that change a part of something are pointers: an empty one clears what
// it names.
func refuseEmpty(ctx *kong.Context) error {
	for _, p := range ctx.Path {
		var v *kong.Value
		name := ""
		switch {
		case p.Flag != nil:
			v, name = p.Flag.Value, "--"+p.Flag.Name
		case p.Positional != nil:
			v, name = p.Positional, p.Positional.Summary()
		default:
			continue
		}
		if saysNothing(v.Target) {
			return usage("%s: is empty: leave it out if it is not meant", name)
		}
	}
	return nil
}

func saysNothing(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return v.Len() == 0
	case reflect.Slice:
		for i := range v.Len() {
			if saysNothing(v.Index(i)) {
				return true
			}
		}
		return v.Len() == 0
	default:
		return false
	}
}
