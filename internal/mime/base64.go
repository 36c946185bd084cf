package mime

import (
	"encoding/base64"
	"io"
)

const (
	b64Line   = 76 // RFC 2045 §6.8
	b64In     = b64Line / 4 * 3
	b64Lines  = 128 // lines encoded at a time
	scratchIn = b64In * b64Lines
	scratch   = scratchIn + (b64Line+2)*b64Lines
)

// base64Size is the number of octets n octets take in lines of base64, without
// a line end after the last.
func base64Size(n int64) int64 {
	if n == 0 {
		return 0
	}
	return (n+2)/3*4 + (n-1)/b64In*2
}

// writeBase64 encodes size octets of r in lines. room is a scratch buffer.
func writeBase64(w io.Writer, r io.Reader, size int64, room []byte) (int64, error) {
	in, out := room[:scratchIn], room[scratchIn:scratchIn]
	var done int64
	for rest := size; rest > 0; {
		n, err := io.ReadFull(r, in[:min(rest, scratchIn)])
		if err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				err = ErrContentChanged
			}
			return done, readError{err}
		}
		rest -= int64(n)
		out = out[:0]
		for i := 0; i < n; i += b64In {
			out = base64.StdEncoding.AppendEncode(out, in[i:min(i+b64In, n)])
			if rest > 0 || i+b64In < n {
				out = append(out, '\r', '\n')
			}
		}
		k, err := w.Write(out)
		done += int64(k)
		if err != nil {
			return done, err
		}
	}
	switch n, err := io.ReadFull(r, in[:1]); {
	case n > 0:
		return done, readError{ErrContentChanged}
	case err != io.EOF:
		return done, readError{err}
	}
	return done, nil
}

// readError marks an error as the content's, not the writer's.
type readError struct{ err error }

func (e readError) Error() string { return e.err.Error() }

func (e readError) Unwrap() error { return e.err }
