package mime

import (
	"strings"
)

const maxContentID = 255

// check refuses an attachment that cannot be written. It does not open it.
func (a *Attachment) check() error {
	if err := checkText("filename", a.Filename); err != nil {
		return err
	}
	t, err := parseContentType(a.ContentType)
	if err != nil {
		return err
	}
	if a.Disposition > DispositionInline {
		return refuse("disposition", "is neither attachment nor inline")
	}
	if a.ContentID != "" {
		if len(a.ContentID) > maxContentID {
			return refuse("content_id", "is longer than 255 octets")
		}
		for i := range len(a.ContentID) {
			if c := a.ContentID[i]; class[c]&isAtext == 0 && c != '.' && c != '@' {
				return refuse("content_id", "may only have the characters of a Message-ID")
			}
		}
	}
	if a.Method != "" {
		if !all(a.Method, isToken) || len(a.Method) > maxPlainParam/2 {
			return refuse("method", "is not a calendar method")
		}
		if t.base != "text/calendar" {
			return refuse("method", "needs the content type text/calendar")
		}
	}
	if a.Size < 0 {
		return refuse("size", "is negative")
	}
	if a.Open == nil {
		return refuse("open", "is missing")
	}
	return nil
}

func checkAttachments(list []Attachment) error {
	for i := range list {
		a := &list[i]
		if err := a.check(); err != nil {
			return under(item("attachments", i), err)
		}
		if a.ContentID == "" {
			continue
		}
		for j := range i {
			if list[j].ContentID == a.ContentID {
				return refuse(item("attachments", i)+".content_id", "is used twice")
			}
		}
	}
	return nil
}

// A place is where an attachment stands in the tree of parts.
type place uint8

const (
	inMixed place = 1 << iota
	inRelated
	inAlternative
)

// places returns every place of an attachment. An inline part without an HTML
// that could show it, or without an id to show it by, is a plain attachment
// that asks to be shown inline.
func (a *Attachment) places(html bool) place {
	switch {
	case a.Method != "" && a.Disposition == DispositionInline:
		return inAlternative
	case a.Method != "":
		return inAlternative | inMixed
	case a.Disposition == DispositionInline && a.ContentID != "" && html:
		return inRelated
	}
	return inMixed
}

// attachment writes an attachment as a part in one of its places.
func (m *Message) attachment(in *Input, i int, where place) error {
	a := &in.Attachments[i]
	t, err := parseContentType(a.ContentType)
	if err != nil {
		return under(item("attachments", i), err)
	}
	h := hole{index: i, size: a.Size, wire: base64Size(a.Size), open: a.Open}
	transfer := "base64"
	if t.isMessage() {
		wire, ok, err := m.scanEmbedded(a)
		if err != nil {
			return &AttachmentError{Index: i, Err: err}
		}
		if ok {
			transfer, h.verbatim, h.wire = "7bit", true, wire
		} else {
			t = mediaType{base: octetStream}
		}
	}
	if where == inAlternative {
		m.calendarType(t, a.Method)
	} else {
		t.write(&m.lines)
		if a.Filename != "" {
			m.lines.typeName(a.Filename)
		}
	}
	m.lines.end()
	m.lines.field("Content-Transfer-Encoding")
	m.lines.word(transfer)
	m.lines.end()
	if where != inAlternative {
		m.disposition(a)
	}
	m.endHeader()
	h.at = len(m.lines.b)
	m.holes = append(m.holes, h)
	return nil
}

// calendarType writes the type of an invitation, whose charset has to be said
// (RFC 6047 §2.4).
func (m *Message) calendarType(t mediaType, method string) {
	charset := "utf-8"
	for _, p := range t.params {
		if p.name == "charset" {
			charset = p.value
		}
	}
	m.lines.field("Content-Type")
	m.lines.word("text/calendar")
	m.lines.parameter("charset", charset)
	m.lines.parameter("method", strings.ToUpper(method))
}

func (m *Message) disposition(a *Attachment) {
	l := &m.lines
	kind := "attachment"
	if a.Disposition == DispositionInline {
		kind = "inline"
	}
	l.field("Content-Disposition")
	l.word(kind)
	if a.Filename != "" {
		l.dispositionName(a.Filename)
	}
	l.end()
	if a.ContentID != "" {
		l.field("Content-ID")
		l.word("<", a.ContentID, ">")
		l.end()
	}
}
