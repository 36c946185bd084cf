package accept

import "github.com/postledger/postledger/lens/stablehash"

// Fingerprint is what the request's key would be kept with.
func Fingerprint(r *Request) (string, error) { return r.fingerprint() }

// EncodedFingerprint is the same by encoding/json, as it was first made: what
// ledgers hold.
func EncodedFingerprint(r *Request) (string, error) {
	v := struct {
		Request
		Attachments []printedFile `json:"attachments,omitempty"`
	}{Request: *r}
	v.Key = ""
	v.Request.Attachments = nil
	v.Lane, v.Category = r.lane(), r.category()
	v.SendAt, v.Deadline.At = r.SendAt.UTC(), r.Deadline.At.UTC()
	if len(r.Attachments) > 0 {
		v.Attachments = r.printedFiles()
	}
	h, err := stablehash.Sum(v)
	return h.String(), err
}
