package hop

import (
	"crypto"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/mime/dkim"
)

// DKIMPublic is the public half of a profile's DKIM key, as its TXT record
// must hold it; nil when the profile has no key.
func (f *Factory) DKIMPublic(p *postledger.Profile) (crypto.PublicKey, error) {
	_, key, err := f.open(p)
	if err != nil || key == "" {
		return nil, err
	}
	private, err := dkim.ParseKey([]byte(key))
	if err != nil {
		return nil, dkimFault(err)
	}
	return private.Public(), nil
}
