package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/postledger/postledger/internal/secret"
)

// Database is a database's URL. Printing it hides the password.
type Database struct{ url string }

// SQLite is the URL of a file.
func SQLite(path string) Database { return Database{"sqlite://" + path} }

// ParseDatabase checks a URL's form.
func ParseDatabase(text string) (Database, error) {
	path, embedded := strings.CutPrefix(text, "sqlite://")
	switch {
	case embedded && path == "":
		return Database{}, errors.New("names no file (want sqlite:///path/to/postledger.db)")
	case embedded && strings.ContainsAny(path, "?#"):
		return Database{}, errors.New("has a ? or # in its path: SQLite takes no options here")
	case embedded:
		return Database{text}, nil
	case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
		if _, err := url.Parse(text); err != nil {
			// The parser's own words quote the URL, password included.
			return Database{}, errors.New("is not a valid URL (characters such as % / ? # @ in a password are percent-encoded)")
		}
		return Database{text}, nil
	default:
		return Database{}, errors.New("must be sqlite://PATH, a postgres:// URL, or file:PATH of a file that holds one")
	}
}

// UnmarshalText reads a URL, or takes it from a file.
func (d *Database) UnmarshalText(text []byte) error {
	s := string(text)
	if path, ok := strings.CutPrefix(s, filePrefix); ok {
		content, err := ReadSecretFile(path)
		if err != nil {
			return err
		}
		s = strings.TrimSpace(content)
	}
	parsed, err := ParseDatabase(s)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Reveal is the URL with its password, for what opens the database.
func (d Database) Reveal() string { return d.url }

// Embedded reports whether this is SQLite.
func (d Database) Embedded() bool { return strings.HasPrefix(d.url, "sqlite://") }

// Path is SQLite's file.
func (d Database) Path() string { return strings.TrimPrefix(d.url, "sqlite://") }

// hidden stands for a password in a URL, as in those that net/url redacts.
const hidden = "xxxxx"

// String is the URL without its password.
func (d Database) String() string {
	if d.url == "" || d.Embedded() {
		return d.url
	}
	u, err := url.Parse(d.url)
	if err != nil {
		return "postgres://" + secret.Value{}.String()
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), hidden)
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(name, "password") {
			query.Set(name, hidden)
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// GoString hides the password from %#v.
func (d Database) GoString() string { return d.String() }

// MarshalText hides the password from encoders.
func (d Database) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// WithoutPassword is the URL for another program, which asks for the password
// or finds it in its own places.
func (d Database) WithoutPassword() string {
	u, err := url.Parse(d.url)
	if err != nil || d.Embedded() {
		return d.String()
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(name, "password") {
			query.Del(name)
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}
