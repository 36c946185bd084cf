package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/postledger/postledger/internal/secret"
	"github.com/postledger/postledger/lens/catalogue"
	"github.com/postledger/postledger/lens/source"
)

// Source is an application's database, which is read and never written.
type Source struct {
	// DSN is postgres://, mysql://, mariadb:// or sqlite:, or file:PATH of a
	// file that holds one.
	DSN secret.Value `koanf:"dsn"`
	// Model is the file that renames, hides, allows and relates; "" is none.
	Model string `koanf:"model"`
	// Apps are the apps that may use it, by name or id: none, where none is named.
	Apps []string `koanf:"apps"`
	// Scope is the file of its floors: conditions that are and-ed to every lens.
	Scope string `koanf:"scope"`
	// Schemas are the PostgreSQL schemas that are read, the default one first.
	Schemas []string `koanf:"schemas"`
	// Connections bounds the pool of one process, Timeout a statement, Rows what
	// one statement may return; zero is the library's default.
	Connections int           `koanf:"connections"`
	Timeout     time.Duration `koanf:"timeout"`
	Rows        int           `koanf:"rows"`
}

// sourceName is what a source may be called: it stands in variables too, where
// letters have no case.
var sourceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// checkSources looks at what can be seen without opening anything.
func (c *Config) checkSources(fault func(bool, string, string, ...any)) {
	for name, s := range c.Sources {
		key := "sources." + name
		fault(!sourceName.MatchString(name) || strings.Contains(name, "__"), key,
			"must have a name of 1 to 63 of a-z, 0-9 and _, that begins with a letter and has no __")
		fault(s.DSN.IsZero(), key+".dsn", "must be set")
		if dsn := s.DSN.Reveal(); dsn != "" && !strings.HasPrefix(dsn, filePrefix) {
			if _, err := source.DialectOf(dsn); err != nil {
				fault(true, key+".dsn", "%w, or file:PATH of a file that holds one", err)
			}
		}
		for i, app := range s.Apps {
			fault(app == "" || slices.Contains(s.Apps[:i], app), key+".apps", "has %q, and must have names or ids of apps, each once", app)
		}
		fault(s.Connections < 0 || s.Connections > 100, key+".connections", "is %d, and must be between 1 and 100, or 0 for the default", s.Connections)
		fault(s.Timeout < 0 || s.Timeout > time.Hour, key+".timeout", "is %s, and must be at most 1h, or 0 for the default", s.Timeout)
		fault(s.Rows < 0 || s.Rows > 1_000_000, key+".rows", "is %d, and must be at most 1000000, or 0 for the default", s.Rows)
	}
}

// Reads gathers what opens the source called name. It reads the files that hold
// its DSN and its model.
func (c *Config) Reads(name string) (dsn string, o source.Options, m catalogue.Model, err error) {
	s, found := c.Sources[name]
	if !found {
		return "", o, m, fmt.Errorf("sources.%s: is not configured", name)
	}
	dsn = s.DSN.Reveal()
	if path, ok := strings.CutPrefix(dsn, filePrefix); ok {
		content, err := ReadSecretFile(path)
		if err != nil {
			return "", o, m, fmt.Errorf("sources.%s.dsn: %w", name, err)
		}
		dsn = strings.TrimSpace(content)
	}
	if s.Model != "" {
		text, err := os.ReadFile(s.Model)
		if err != nil {
			return "", o, m, fmt.Errorf("sources.%s.model: cannot be read: %w", name, err)
		}
		if m, err = catalogue.ParseModel(text); err != nil {
			return "", o, m, fmt.Errorf("sources.%s.model: %w", name, err)
		}
	}
	o = source.Options{Connections: s.Connections, Timeout: s.Timeout, Rows: s.Rows, Schemas: s.Schemas}
	return dsn, o, m, nil
}
