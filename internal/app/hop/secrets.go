package hop

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/secret"
)

// sealed is what a profile's row holds.
type sealed struct {
	Password []byte `json:"password,omitempty"`
	DKIMKey  []byte `json:"dkim_key,omitempty"`
}

// Change is what an operator says about a profile's secrets: nil keeps what is
// there, an empty value removes it.
type Change struct {
	Password *secret.Value
	DKIMKey  *secret.Value
}

// ErrPasswordAgain: the host was changed, and its password belongs to the old one.
var ErrPasswordAgain = &FieldError{"password", "must be given again, since the host, port or user name is another"}

// ErrDKIMKeyAgain: the domain was changed, and the key belongs to the old one.
var ErrDKIMKeyAgain = &FieldError{"dkim_key", "must be given again, since dkim_domain is another"}

// Seal makes the secrets of a profile's new configuration from those it has
// and what the operator changes. The profile's id must be its final one.
func (f *Factory) Seal(old, changed postledger.Profile, c Change) ([]byte, error) {
	was, err := unpack(old.Secrets)
	if err != nil {
		return nil, err
	}
	var next sealed
	switch {
	case c.Password != nil && !c.Password.IsZero():
		next.Password = f.ring.Seal([]byte(c.Password.Reveal()), passwordBinding(&changed)...)
	case c.Password == nil && len(was.Password) > 0:
		if joined(passwordBinding(&old)) != joined(passwordBinding(&changed)) {
			return nil, ErrPasswordAgain
		}
		next.Password = was.Password
	}
	switch {
	case c.DKIMKey != nil && !c.DKIMKey.IsZero():
		next.DKIMKey = f.ring.Seal([]byte(c.DKIMKey.Reveal()), dkimBinding(&changed)...)
	case c.DKIMKey == nil && len(was.DKIMKey) > 0:
		if joined(dkimBinding(&old)) != joined(dkimBinding(&changed)) {
			return nil, ErrDKIMKeyAgain
		}
		next.DKIMKey = was.DKIMKey
	}
	return pack(next)
}

// Reseal seals a profile's secrets with the current key, and reports whether
// any was sealed with another.
func (f *Factory) Reseal(p postledger.Profile) ([]byte, bool, error) {
	s, err := unpack(p.Secrets)
	if err != nil {
		return nil, false, err
	}
	any := false
	for _, box := range []struct {
		name    string
		box     *[]byte
		binding []string
	}{{"password", &s.Password, passwordBinding(&p)}, {"dkim_key", &s.DKIMKey, dkimBinding(&p)}} {
		if len(*box.box) == 0 || !f.ring.NeedsReseal(*box.box) {
			continue
		}
		plain, err := f.ring.Open(*box.box, box.binding...)
		if err != nil {
			return nil, false, fmt.Errorf("open %s: %w", box.name, err)
		}
		*box.box = f.ring.Seal(plain, box.binding...)
		any = true
	}
	out, err := pack(s)
	return out, any, err
}

// Has says which secrets a profile has, without opening them.
func Has(p *postledger.Profile) (password, dkimKey bool) {
	s, err := unpack(p.Secrets)
	return err == nil && len(s.Password) > 0, err == nil && len(s.DKIMKey) > 0
}

func (f *Factory) open(p *postledger.Profile) (password, dkimKey string, err error) {
	s, err := unpack(p.Secrets)
	if err != nil {
		return "", "", err
	}
	if len(s.Password) > 0 {
		plain, err := f.ring.Open(s.Password, passwordBinding(p)...)
		if err != nil {
			return "", "", fmt.Errorf("open password: %w", err)
		}
		password = string(plain)
	}
	if len(s.DKIMKey) > 0 {
		plain, err := f.ring.Open(s.DKIMKey, dkimBinding(p)...)
		if err != nil {
			return "", "", fmt.Errorf("open DKIM key: %w", err)
		}
		dkimKey = string(plain)
	}
	return password, dkimKey, nil
}

func unpack(b []byte) (sealed, error) {
	var s sealed
	if len(b) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, errors.New("the stored secrets are damaged")
	}
	return s, nil
}

func pack(s sealed) ([]byte, error) {
	if len(s.Password) == 0 && len(s.DKIMKey) == 0 {
		return nil, nil
	}
	return json.Marshal(s)
}

func passwordBinding(p *postledger.Profile) []string {
	where, user := "", ""
	if s, err := parseSMTP(p.Config.Settings); err == nil && p.Config.Transport == SMTP {
		where, user = s.endpoint(), s.Username
	}
	return []string{"profile password", p.ID.String(), where, user}
}

func dkimBinding(p *postledger.Profile) []string {
	return []string{"profile dkim_key", p.ID.String(), p.Config.DKIMDomain}
}

func joined(binding []string) string { return fmt.Sprintf("%q", binding) }
