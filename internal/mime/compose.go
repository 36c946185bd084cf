package mime

import (
	"sync"
	"time"
)

// maxPooled bounds what an idle message may keep: twice the limit of the bodies
// would stay for good in a pool of connections that once sent one such message.
const maxPooled = 1 << 20

// Composer composes messages into buffers it reuses. The zero value is ready,
// and it is safe for concurrent use. What it keeps is not more than the messages
// that were in use at once, each of at most 1 MiB, and falls to garbage
// collection when it is not used.
type Composer struct {
	pool sync.Pool
}

// Check refuses an input that Compose would refuse, without opening attachments.
// The error is a [FieldError].
func (in *Input) Check() error {
	if in.From.Addr == "" {
		return refuse("from.address", "is empty")
	}
	if err := in.From.Check(); err != nil {
		return under("from", err)
	}
	for _, l := range [...]struct {
		name string
		list []Address
	}{{"reply_to", in.ReplyTo}, {"to", in.To}, {"cc", in.Cc}} {
		for i, a := range l.list {
			if err := a.Check(); err != nil {
				return under(item(l.name, i), err)
			}
		}
	}
	if err := checkText("subject", in.Subject); err != nil {
		return err
	}
	if err := CheckMessageID(in.MessageID); err != nil {
		return err
	}
	// RFC 5322 §3.3: four digits, 1900 or later.
	if y := in.Date.UTC().Year(); y < 1900 || y > 9999 {
		return refuse("date", "is missing or out of range")
	}
	if err := checkHeaders(in); err != nil {
		return err
	}
	if err := checkBody("text", in.Text); err != nil {
		return err
	}
	if err := checkBody("html", in.HTML); err != nil {
		return err
	}
	if len(in.Seed) == 0 {
		return refuse("seed", "is empty")
	}
	return checkAttachments(in.Attachments)
}

// Compose is [Composer.Compose] without reuse of buffers.
func Compose(in *Input) (*Message, error) { return new(Composer).Compose(in) }

// Compose builds the message. It opens an attachment only if it is a message/*,
// to see how it can be sent. The error is a [FieldError] or an [AttachmentError].
func (c *Composer) Compose(in *Input) (*Message, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	m, ok := c.pool.Get().(*Message)
	if !ok {
		m = &Message{}
	}
	m.composer = c
	m.boundary = boundaryOf(in.Seed)
	m.smtputf8 = showsUTF8(in)
	m.fields(in)
	if err := m.parts(in); err != nil {
		m.Release()
		return nil, err
	}
	if b := m.lines.b; m.endsInHole() || b[len(b)-1] != '\n' {
		m.lines.end()
	}
	return m, nil
}

// Release gives the buffers back. The message must not be used after it.
func (m *Message) Release() {
	c := m.composer
	clear(m.holes) // let go of the openers
	*m = Message{
		lines:     lines{b: m.lines.b[:0]},
		signature: m.signature[:0],
		holes:     m.holes[:0],
		room:      m.room,
	}
	if c != nil && cap(m.lines.b) <= maxPooled {
		c.pool.Put(m)
	}
}

// fields writes the header up to the type of the root part.
func (m *Message) fields(in *Input) {
	l := &m.lines
	from := [1]Address{in.From}
	l.addresses("From", from[:])
	l.addresses("Reply-To", in.ReplyTo)
	l.addresses("To", in.To)
	l.addresses("Cc", in.Cc)
	if len(in.To)+len(in.Cc) == 0 {
		l.b = append(l.b, "To: undisclosed-recipients:;\r\n"...)
	}
	l.subject(in.Subject)
	l.b = append(l.b, "Date: "...)
	l.b = in.Date.UTC().AppendFormat(l.b, time.RFC1123Z)
	l.b = append(l.b, "\r\nMessage-ID: <"...)
	l.b = append(l.b, bareMessageID(in.MessageID)...)
	l.b = append(l.b, ">\r\n"...)
	for _, list := range [2][]Header{in.Added, in.Headers} {
		for _, h := range list {
			l.unstructured(h.Name, h.Value)
		}
	}
	if !hasHeader(in, "Auto-Submitted") {
		l.b = append(l.b, "Auto-Submitted: auto-generated\r\n"...) // RFC 3834 §5
	}
	l.b = append(l.b, "MIME-Version: 1.0\r\n"...)
}

// endsInHole reports whether an attachment is the last of the message.
func (m *Message) endsInHole() bool {
	n := len(m.holes)
	return n > 0 && m.holes[n-1].at == len(m.lines.b)
}

func showsUTF8(in *Input) bool {
	if !isASCII(in.From.Addr) {
		return true
	}
	for _, list := range [3][]Address{in.ReplyTo, in.To, in.Cc} {
		for _, a := range list {
			if !isASCII(a.Addr) {
				return true
			}
		}
	}
	return false
}
