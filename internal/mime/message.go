package mime

import (
	"errors"
	"io"
)

// Message is a composed message. It is not safe for concurrent use.
type Message struct {
	composer  *Composer
	lines     lines // everything but signatures and attachments
	signature []byte
	header    int // length of the header in lines.b, without the empty line
	holes     []hole
	boundary  [boundaryLen]byte
	smtputf8  bool
	room      []byte // scratch for attachments, made when first needed
}

// A hole is a place in the buffer where an attachment is streamed in.
type hole struct {
	at       int
	index    int
	verbatim bool // 7bit with CRLF line ends, else base64
	size     int64
	wire     int64
	open     func() (io.ReadCloser, error)
}

// Signer makes header fields that cover a message, such as DKIM-Signature.
type Signer interface {
	// AppendSignature appends whole fields, each ended by CRLF, to dst. header is
	// the header without the empty line after it; body writes what follows that.
	AppendSignature(dst, header []byte, body io.WriterTo) ([]byte, error)
}

// Size is the exact number of octets WriteTo writes, before dot-stuffing: the
// value of the SIZE parameter (RFC 1870 §3).
func (m *Message) Size() int64 {
	n := int64(len(m.signature)) + int64(len(m.lines.b))
	for i := range m.holes {
		n += m.holes[i].wire
	}
	return n
}

// MemorySize is what the message holds in memory, in octets.
func (m *Message) MemorySize() int64 {
	n := cap(m.lines.b) + cap(m.signature) + cap(m.room)
	if m.room == nil && len(m.holes) > 0 {
		n += scratch
	}
	return int64(n)
}

// NeedsSMTPUTF8 reports whether the header shows an address that may only be
// sent with the SMTPUTF8 extension.
func (m *Message) NeedsSMTPUTF8() bool { return m.smtputf8 }

// WriteTo writes the message, ended by CRLF. It may be called again and writes
// the same. An [AttachmentError] means that an attachment could not be read,
// any other error is that of w.
func (m *Message) WriteTo(w io.Writer) (int64, error) {
	var done int64
	if len(m.signature) > 0 {
		n, err := w.Write(m.signature)
		if done += int64(n); err != nil {
			return done, err
		}
	}
	n, err := m.writeFrom(w, 0)
	return done + n, err
}

// Sign puts the fields of s in front of the message, replacing those of an
// earlier call.
func (m *Message) Sign(s Signer) error {
	signature, err := s.AppendSignature(m.signature[:0], m.lines.b[:m.header], (*body)(m))
	if err != nil {
		return err
	}
	m.signature = signature
	return nil
}

// body writes what follows the header and the empty line.
type body Message

func (b *body) WriteTo(w io.Writer) (int64, error) {
	return (*Message)(b).writeFrom(w, b.header+len("\r\n"))
}

func (m *Message) writeFrom(w io.Writer, from int) (int64, error) {
	var done int64
	for i := range m.holes {
		h := &m.holes[i]
		n, err := w.Write(m.lines.b[from:h.at])
		if done += int64(n); err != nil {
			return done, err
		}
		k, err := m.writeHole(w, h)
		if done += k; err != nil {
			return done, err
		}
		from = h.at
	}
	n, err := w.Write(m.lines.b[from:])
	return done + int64(n), err
}

func (m *Message) writeHole(w io.Writer, h *hole) (int64, error) {
	var n int64
	var err error
	if h.verbatim {
		n, err = m.writeVerbatim(w, h)
	} else {
		n, err = m.writeEncoded(w, h)
	}
	var re readError
	if errors.As(err, &re) {
		return n, &AttachmentError{Index: h.index, Err: re.err}
	}
	return n, err
}

func (m *Message) writeEncoded(w io.Writer, h *hole) (int64, error) {
	r, err := h.open()
	if err != nil {
		return 0, readError{err}
	}
	n, err := writeBase64(w, r, h.size, m.scratch())
	if cerr := r.Close(); err == nil && cerr != nil {
		err = readError{cerr}
	}
	return n, err
}

// writeVerbatim looks at the content again while it passes: what was not seen
// when the message was composed is not written.
func (m *Message) writeVerbatim(w io.Writer, h *hole) (int64, error) {
	g := embeddedGuard{scan: m.newScan(), crlf: crlfWriter{w: w}, wire: h.wire}
	_, err := m.copyContent(&g, h.open)
	if err == nil && g.scan.wire != h.wire {
		err = readError{ErrContentChanged}
	}
	return g.crlf.n, err
}

// copyContent streams an attachment into w. Errors of the content are readErrors.
func (m *Message) copyContent(w io.Writer, open func() (io.ReadCloser, error)) (int64, error) {
	r, err := open()
	if err != nil {
		return 0, readError{err}
	}
	room := m.scratch()
	var done int64
	for {
		n, rerr := r.Read(room)
		if _, err := w.Write(room[:n]); err != nil {
			r.Close()
			return done, err
		}
		done += int64(n)
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			r.Close()
			return done, readError{rerr}
		}
	}
	if err := r.Close(); err != nil {
		return done, readError{err}
	}
	return done, nil
}

func (m *Message) scratch() []byte {
	if m.room == nil {
		m.room = make([]byte, scratch)
	}
	return m.room
}
