package main

import (
	"fmt"

	"github.com/postledger/postledger/internal/mime/dkim"
)

type keysDkimCmd struct {
	Domain    string `help:"Domain that signs." required:"" placeholder:"DOMAIN"`
	Selector  string `help:"Selector." required:""`
	Algorithm string `help:"rsa, which everybody verifies, or ed25519." enum:"rsa,ed25519" default:"rsa"`
	Out       string `help:"File of mode 0600 to make, for profiles put --dkim-key-file." required:"" placeholder:"FILE"`
}

func (c *keysDkimCmd) Run(e *env) error {
	key, err := dkim.GenerateKey(dkim.Algorithm(c.Algorithm))
	if err != nil {
		return err
	}
	// The signer knows what a domain and a selector may be.
	if _, err := dkim.New(dkim.Key{Domain: c.Domain, Selector: c.Selector, Private: key}); err != nil {
		return usage("--%w", err)
	}
	text, err := dkim.EncodeKey(key)
	if err != nil {
		return err
	}
	record, err := dkim.Record(key.Public())
	if err != nil {
		return err
	}
	sink, err := tokenSink(e, c.Out)
	if err != nil {
		return err
	}
	if err := sink(string(text[:len(text)-1])); err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.stdout, dkim.ZoneLine(c.Selector, c.Domain, record))
	return err
}
