package smtp

import (
	"encoding/base64"
	"fmt"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/transport"
)

// login authenticates (RFC 4954). It is only called on an encrypted
// connection; nothing it returns holds a secret.
func (t *Transport) login(c *conn) (postledger.Outcome, bool) {
	mechanism := t.cfg.Auth
	switch {
	case mechanism != "":
	case c.ext.offersAuth(AuthPlain):
		mechanism = AuthPlain
	default:
		mechanism = AuthLogin
	}
	if !c.ext.offersAuth(mechanism) {
		return failure(postledger.OutcomeMisconfigured, postledger.PhaseAuth,
			fmt.Sprintf("the next hop does not offer the login mechanism %s", mechanism)), false
	}

	var first string
	var answers []string
	switch mechanism {
	case AuthLogin:
		first = "AUTH LOGIN"
		answers = []string{t.cfg.Username, t.cfg.Password}
	case AuthXOAuth2:
		token := "user=" + t.cfg.Username + "\x01auth=Bearer " + t.cfg.Password + "\x01\x01"
		first = "AUTH XOAUTH2 " + base64.StdEncoding.EncodeToString([]byte(token))
		// A 334 here is the reason of a failure in JSON; it must be answered
		// to get the reply (RFC 7628 §3.2.3).
		answers = []string{"\x01"}
	case AuthPlain:
		first = "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00"+t.cfg.Username+"\x00"+t.cfg.Password))
	}

	r, err := c.command(t.cfg.Timeouts.Auth, first)
	for _, answer := range answers {
		if err != nil || r.Code != 334 {
			break
		}
		r, err = c.command(t.cfg.Timeouts.Auth, base64.StdEncoding.EncodeToString([]byte(answer)))
	}
	switch {
	case err != nil:
		return lost(postledger.OutcomeUnavailable, postledger.PhaseAuth, err), false
	case r.Positive():
		return postledger.Outcome{}, true
	case r.Intermediate():
		return failure(postledger.OutcomeMisconfigured, postledger.PhaseAuth,
			fmt.Sprintf("the next hop asks for more than %s has", mechanism)), false
	}
	return transport.Classify(postledger.PhaseAuth, r, 0, nil), false
}
