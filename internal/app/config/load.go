package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

// Prefix starts the variables that stand over the file.
const Prefix = "POSTLEDGER_"

// reserved are variables that belong to commands and tests, not to the
// configuration.
var reserved = map[string]bool{
	"CONFIG": true, "SERVER": true, "API_KEY": true, "CREDENTIALS": true, "KILL_AT": true, "LONG": true,
}

// Load reads the file at path and the environment. An empty path reads
// [DefaultPath] if it is there.
func Load(path string, environ []string) (Config, error) {
	k := koanf.New(".")
	if err := loadFile(k, path); err != nil {
		return Config{}, err
	}
	faults := unset(k)
	faults = append(faults, loadEnv(k, environ)...)
	c := Default()
	faults = append(faults, decode(k, &c)...)
	if len(faults) > 0 {
		return Config{}, errors.Join(faults...)
	}
	for _, p := range []*string{&c.DataDir, &c.Blobs, &c.JournalDir} {
		if *p == "" || strings.Contains(*p, "://") || p == &c.Blobs && c.BlobsInS3() {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return Config{}, fmt.Errorf("find working directory: %w", err)
		}
		*p = abs
	}
	c.place()
	if c.BlobsInS3() {
		c.S3.fromEnvironment(environ)
	}
	return c, c.Check()
}

func loadFile(k *koanf.Koanf, path string) error {
	named := path != ""
	if !named {
		path = DefaultPath
	}
	if _, err := os.Stat(path); err != nil {
		if !named && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("read configuration: %w", err)
	}
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		return fmt.Errorf("read configuration %s: %w", path, err)
	}
	return nil
}

// unset finds keys without a value: whether that means the default or nothing
// is not for us to guess.
func unset(k *koanf.Koanf) []error {
	var faults []error
	for key, v := range k.All() {
		if v == nil {
			faults = append(faults, fmt.Errorf("%s: has no value", key))
		}
	}
	return faults
}

// loadEnv lays the variables over the file.
func loadEnv(k *koanf.Koanf, environ []string) []error {
	known := keys()
	var faults []error
	transform := func(name, value string) (string, any) {
		bare := strings.TrimPrefix(name, Prefix)
		if reserved[bare] || strings.HasPrefix(bare, "TEST_") {
			return "", nil
		}
		key := strings.ReplaceAll(strings.ToLower(bare), "__", ".")
		if !isKey(known, key) {
			faults = append(faults, fmt.Errorf("%s: is no variable of the configuration%s", name, suggest(name, variables(known))))
			return "", nil
		}
		return key, value
	}
	err := k.Load(env.Provider(".", env.Opt{
		Prefix: Prefix, TransformFunc: transform, EnvironFunc: func() []string { return environ },
	}), nil)
	if err != nil {
		faults = append(faults, fmt.Errorf("read environment: %w", err))
	}
	return faults
}

// decode fills c, and reports unknown keys and values of the wrong kind.
func decode(k *koanf.Koanf, c *Config) []error {
	known := keys()
	var faults []error
	for _, key := range k.Keys() {
		// A text in the place of a group is the decoder's to report.
		if !isGroup(known, key) && !isKey(known, key) {
			faults = append(faults, fmt.Errorf("%s: is no key of the configuration%s", key, suggest(key, known)))
		}
	}
	err := k.UnmarshalWithConf("", c, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: c, TagName: "koanf",
		DecodeHook: mapstructure.ComposeDecodeHookFunc(
			durationNeedsUnit, textToPrefix, mapstructure.StringToTimeDurationHookFunc(), textToList,
			mapstructure.TextUnmarshallerHookFunc(), textToScalar,
		),
	}})
	return append(faults, named(err)...)
}

// named turns the decoder's errors into ones that start with the key.
func named(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range many.Unwrap() {
			out = append(out, named(e)...)
		}
		return out
	}
	var at *mapstructure.DecodeError
	if !errors.As(err, &at) {
		return []error{err}
	}
	inner, name := at.Unwrap(), inMap.ReplaceAllString(at.Name(), "sources.$1")
	var kind *mapstructure.UnconvertibleTypeError
	switch {
	case isGroup(keys(), name):
		inner = errors.New("must be a group of keys")
	case errors.As(inner, &kind):
		inner = fmt.Errorf("must be %s", kindName(kind.Expected.Type()))
	}
	return []error{fmt.Errorf("%s: %w", name, inner)}
}

// inMap is the decoder's name of a source, which is written like a position in a
// list.
var inMap = regexp.MustCompile(`^sources\[([^\]]*)\]`)

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	default:
		return "a text"
	}
}

// durationNeedsUnit refuses a bare number: 60 would be 60 nanoseconds.
func durationNeedsUnit(from, to reflect.Type, data any) (any, error) {
	if to != reflect.TypeFor[time.Duration]() {
		return data, nil
	}
	if s, ok := data.(string); ok {
		if _, err := time.ParseDuration(s); err == nil {
			return data, nil
		}
	}
	return nil, errors.New("must be a time with its unit, such as 250ms, 30s or 2m")
}

// textToPrefix reads a network, or an address as a network of its own.
func textToPrefix(from, to reflect.Type, data any) (any, error) {
	s, ok := data.(string)
	if !ok || to != reflect.TypeFor[netip.Prefix]() {
		return data, nil
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p != p.Masked() {
		return nil, errors.New("must be addresses and networks, such as 127.0.0.1 or 10.0.0.0/8")
	}
	return p, nil
}

// textToList reads lists from the environment.
func textToList(from, to reflect.Type, data any) (any, error) {
	s, ok := data.(string)
	if !ok || to.Kind() != reflect.Slice {
		return data, nil
	}
	if s == "" {
		return []string{}, nil
	}
	return strings.Split(s, ","), nil
}

// textToScalar reads numbers and truth values from the environment.
func textToScalar(from, to reflect.Type, data any) (any, error) {
	s, ok := data.(string)
	if !ok {
		return data, nil
	}
	switch to.Kind() {
	case reflect.Bool:
		if s != "true" && s != "false" {
			return nil, errors.New("must be true or false")
		}
		return s == "true", nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, errors.New("must be a whole number")
		}
		return n, nil
	default:
		return data, nil
	}
}
