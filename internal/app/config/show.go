package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
)

// Show is the configuration in force as YAML, its secrets hidden.
func (c *Config) Show() (string, error) {
	b, err := yaml.Parser().Marshal(tree(reflect.ValueOf(*c)))
	if err != nil {
		return "", fmt.Errorf("encode configuration: %w", err)
	}
	return string(b), nil
}

func tree(v reflect.Value) map[string]any {
	out := map[string]any{}
	for i := range v.NumField() {
		f := v.Field(i)
		key := v.Type().Field(i).Tag.Get("koanf")
		switch x := f.Interface().(type) {
		case time.Duration, Size, Database, Redis:
			out[key] = fmt.Sprint(x)
		case []string:
			out[key] = append([]string{}, x...)
		default:
			switch {
			case group(f.Type()):
				out[key] = tree(f)
			case f.Kind() == reflect.Map:
				named := map[string]any{}
				for _, name := range f.MapKeys() {
					named[name.String()] = tree(f.MapIndex(name))
				}
				out[key] = named
			case f.Kind() == reflect.Slice:
				texts := make([]string, f.Len())
				for j := range texts {
					if p, ok := f.Index(j).Interface().(netip.Prefix); ok {
						texts[j] = p.String()
					} else {
						texts[j] = shown(f.Index(j).Interface())
					}
				}
				out[key] = texts
			case f.Kind() == reflect.Struct:
				out[key] = shown(x)
			default:
				out[key] = x
			}
		}
	}
	return out
}

// shown is where a secret comes from, never the secret.
func shown(v any) string {
	s, ok := v.(interface{ Reveal() string })
	if !ok || s.Reveal() == "" {
		return ""
	}
	if strings.HasPrefix(s.Reveal(), filePrefix) {
		return s.Reveal()
	}
	return fmt.Sprint(v)
}
