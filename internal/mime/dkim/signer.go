package dkim

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrNoFrom refuses a header without a From field, which every signature must
// cover (RFC 6376 §5.4).
var ErrNoFrom = errors.New("header has no From field")

// Key is a private key and where its public half is published.
type Key struct {
	Domain   string
	Selector string
	Private  crypto.Signer // RSA or Ed25519
}

// Signer signs the messages of one profile. It is safe for concurrent use if
// its keys are.
type Signer struct {
	keys []signingKey
	// states are as many as messages are being signed at once, each a few
	// kilobytes, and fall to garbage collection when unused.
	states sync.Pool
}

type signingKey struct {
	private crypto.Signer
	prefix  string // of the field, up to h=
	opts    crypto.SignerOpts
}

// New makes a signer of one key, or of two for two signatures. The keys must
// have the same domain and different selectors (RFC 8463 §4).
func New(keys ...Key) (*Signer, error) {
	if len(keys) == 0 || len(keys) > 2 {
		return nil, refuse("keys", "must be one or two")
	}
	s := &Signer{}
	for _, k := range keys {
		if err := checkName("domain", k.Domain); err != nil {
			return nil, err
		}
		if err := checkName("selector", k.Selector); err != nil {
			return nil, err
		}
		if k.Private == nil {
			return nil, refuse("private", "is missing")
		}
		algorithm, err := algorithmOf(k.Private.Public())
		if err != nil {
			return nil, err
		}
		key := signingKey{private: k.Private, opts: crypto.SHA256}
		if algorithm == Ed25519 {
			key.opts = crypto.Hash(0) // the hash itself is the message (RFC 8463 §3)
		}
		key.prefix = fmt.Sprintf("DKIM-Signature: v=1; a=%s-sha256; c=relaxed/relaxed;\r\n d=%s;\r\n s=%s;\r\n h=",
			algorithm, k.Domain, k.Selector)
		s.keys = append(s.keys, key)
	}
	if len(keys) == 2 {
		if keys[0].Domain != keys[1].Domain {
			return nil, refuse("domain", "must be the same for both keys")
		}
		if keys[0].Selector == keys[1].Selector {
			return nil, refuse("selector", "must differ between the two keys")
		}
	}
	s.states.New = func() any {
		return &state{body: relaxedBody{h: sha256.New(), stage: make([]byte, 0, stageSize)}}
	}
	return s, nil
}

// state is what one signature needs while it is made.
type state struct {
	body   relaxedBody
	fields []field
	signed []byte // the covered fields in canonical form
	names  []byte // their names for h=, folded
	room   [maxFieldName]byte
}

// AppendSignature appends one DKIM-Signature field for each key to dst. header
// is the header of the message without the empty line after it, body writes what
// follows that line.
func (s *Signer) AppendSignature(dst, header []byte, body io.WriterTo) ([]byte, error) {
	st := s.states.Get().(*state)
	defer func() {
		clear(st.fields) // they point into the message
		s.states.Put(st)
	}()

	st.body.reset()
	if _, err := body.WriteTo(&st.body); err != nil {
		return nil, fmt.Errorf("hash body: %w", err)
	}
	var bodyHash [sha256.Size]byte
	st.body.sum(bodyHash[:0])

	if !st.cover(header) {
		return nil, ErrNoFrom
	}
	covered := len(st.signed)
	for i := range s.keys {
		k := &s.keys[i]
		start := len(dst)
		dst = append(dst, k.prefix...)
		dst = append(dst, st.names...)
		dst = append(dst, ";\r\n bh="...)
		dst = base64.StdEncoding.AppendEncode(dst, bodyHash[:])
		dst = append(dst, ";\r\n b="...)

		own := field{dst[start:], len("DKIM-Signature")}
		st.signed = own.appendRelaxed(st.signed[:covered], []byte("dkim-signature"))
		digest := sha256.Sum256(st.signed)
		signature, err := k.private.Sign(rand.Reader, digest[:], k.opts)
		if err != nil {
			return nil, fmt.Errorf("sign header: %w", err)
		}
		dst = appendFolded(dst, signature)
	}
	return dst, nil
}

// cover collects the covered fields from the last to the first, the order in
// which a verifier takes fields of the same name (RFC 6376 §5.4.2). It reports
// whether From is among them.
func (st *state) cover(header []byte) bool {
	st.fields = appendFields(st.fields[:0], header)
	st.signed, st.names = st.signed[:0], st.names[:0]
	from := false
	width := len(" h=")
	for i := len(st.fields) - 1; i >= 0; i-- {
		f := st.fields[i]
		name := f.lowerName(&st.room)
		if !covered[string(name)] {
			continue
		}
		from = from || string(name) == "from"
		st.signed = f.appendRelaxed(st.signed, name)
		st.signed = append(st.signed, '\r', '\n')
		if len(st.names) > 0 {
			st.names = append(st.names, ':')
			width++
		}
		if width+len(name) > 74 {
			st.names = append(st.names, "\r\n  "...)
			width = 2
		}
		st.names = append(st.names, name...)
		width += len(name)
	}
	st.names = append(st.names, guarded...)
	return from
}

// appendFolded appends the base64 of a signature in lines, which verifiers
// unfold (RFC 6376 §3.5), and the end of the field.
func appendFolded(dst, signature []byte) []byte {
	const octets = 72 / 4 * 3
	for i := 0; i < len(signature); i += octets {
		if i > 0 {
			dst = append(dst, "\r\n  "...)
		}
		dst = base64.StdEncoding.AppendEncode(dst, signature[i:min(i+octets, len(signature))])
	}
	return append(dst, '\r', '\n')
}

// algorithmOf tells which algorithm a public key is for, if any here.
func algorithmOf(public crypto.PublicKey) (Algorithm, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		// RFC 8301 §3.2: verifiers need not accept others.
		if n := k.N.BitLen(); n < 1024 || n > 4096 {
			return "", refuse("private", fmt.Sprintf("is an RSA key of %d bits; 1024 to 4096 can be verified", n))
		}
		return RSA, nil
	case ed25519.PublicKey:
		return Ed25519, nil
	}
	return "", refuse("private", fmt.Sprintf("is a %T; DKIM has RSA and Ed25519 only", public))
}
