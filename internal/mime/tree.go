package mime

// parts writes the body of the message: the type of its root, which ends the
// message's header, and everything below.
func (m *Message) parts(in *Input) error {
	count := m.countPlaces(in)
	if count.mixed == 0 && count.alternatives() > 0 {
		return m.alternative(in, count)
	}
	if count.mixed == 0 {
		m.text("text/plain; charset=utf-8", "") // a message needs a body to be shown
		return nil
	}
	m.openMultipart("mixed", levelMixed, "")
	if count.alternatives() > 0 {
		m.delimiter(levelMixed)
		if err := m.alternative(in, count); err != nil {
			return err
		}
	}
	if err := m.attachments(in, inMixed, levelMixed); err != nil {
		return err
	}
	m.closeMultipart(levelMixed)
	return nil
}

// alternative writes the same content in several forms, plainest first.
func (m *Message) alternative(in *Input, count placeCount) error {
	level := levelAlternative
	single := count.alternatives() == 1
	if single {
		level = ""
	} else {
		m.openMultipart("alternative", level, "")
	}
	if in.Text != "" {
		m.delimiter(level)
		m.text("text/plain; charset=utf-8", in.Text)
	}
	if in.HTML != "" {
		m.delimiter(level)
		if err := m.related(in, count); err != nil {
			return err
		}
	}
	if err := m.attachments(in, inAlternative, level); err != nil {
		return err
	}
	if !single {
		m.closeMultipart(level)
	}
	return nil
}

// related writes the HTML with the parts it shows, the HTML first because it is
// the root (RFC 2387 §3.2).
func (m *Message) related(in *Input, count placeCount) error {
	if count.related == 0 {
		m.text("text/html; charset=utf-8", in.HTML)
		return nil
	}
	m.openMultipart("related", levelRelated, "text/html")
	m.delimiter(levelRelated)
	m.text("text/html; charset=utf-8", in.HTML)
	if err := m.attachments(in, inRelated, levelRelated); err != nil {
		return err
	}
	m.closeMultipart(levelRelated)
	return nil
}

func (m *Message) attachments(in *Input, where place, level string) error {
	for i := range in.Attachments {
		if in.Attachments[i].places(in.HTML != "")&where == 0 {
			continue
		}
		m.delimiter(level)
		if err := m.attachment(in, i, where); err != nil {
			return err
		}
	}
	return nil
}

type placeCount struct{ bodies, calendars, related, mixed int }

// alternatives is the number of forms of the content.
func (c placeCount) alternatives() int { return c.bodies + c.calendars }

func (m *Message) countPlaces(in *Input) (c placeCount) {
	if in.Text != "" {
		c.bodies++
	}
	if in.HTML != "" {
		c.bodies++
	}
	for i := range in.Attachments {
		p := in.Attachments[i].places(in.HTML != "")
		if p&inAlternative != 0 {
			c.calendars++
		}
		if p&inRelated != 0 {
			c.related++
		}
		if p&inMixed != 0 {
			c.mixed++
		}
	}
	return c
}

func (m *Message) text(contentType, s string) {
	b := append(m.lines.b, "Content-Type: "...)
	b = append(b, contentType...)
	b = append(b, "\r\nContent-Transfer-Encoding: quoted-printable\r\n"...)
	m.lines.b = b
	m.endHeader()
	m.lines.b = appendQuotedPrintable(m.lines.b, s)
}

func (m *Message) openMultipart(subtype, level, root string) {
	l := &m.lines
	l.field("Content-Type")
	l.word("multipart/", subtype)
	if root != "" {
		l.attach(";")
		l.word(`type="`, root, `"`)
	}
	l.attach(";")
	l.word(`boundary="`, string(m.boundary[:]), level, `"`)
	l.end()
	m.endHeader()
}

// delimiter begins a part of a multipart. The CRLF before it belongs to it, not
// to the part that ends (RFC 2046 §5.1.1). The empty level is no multipart.
func (m *Message) delimiter(level string) {
	if level == "" {
		return
	}
	b := append(m.lines.b, "\r\n--"...)
	b = append(b, m.boundary[:]...)
	b = append(b, level...)
	m.lines.b = append(b, '\r', '\n')
}

func (m *Message) closeMultipart(level string) {
	b := append(m.lines.b, "\r\n--"...)
	b = append(b, m.boundary[:]...)
	b = append(b, level...)
	m.lines.b = append(b, "--"...)
}

// endHeader writes the empty line after the fields of a part. The first one is
// also the end of the message's header.
func (m *Message) endHeader() {
	if m.header == 0 {
		m.header = len(m.lines.b)
	}
	m.lines.b = append(m.lines.b, '\r', '\n')
}
