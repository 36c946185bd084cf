package dkim

import "crypto/sha256"

// RelaxedField and BodyHash show the canonical forms to tests that compare them
// with published examples.
func RelaxedField(raw string) string {
	f := appendFields(nil, []byte(raw))[0]
	var room [maxFieldName]byte
	return string(f.appendRelaxed(nil, f.lowerName(&room)))
}

// BodyHash hashes a body written in pieces of n octets.
func BodyHash(body string, n int) []byte {
	c := relaxedBody{h: sha256.New(), stage: make([]byte, 0, stageSize)}
	c.reset()
	for len(body) > 0 {
		k := min(n, len(body))
		c.Write([]byte(body[:k]))
		body = body[k:]
	}
	return c.sum(nil)
}
