package dkim

import "bytes"

// maxFieldName is the longest name that could be covered.
const maxFieldName = 40

// covered names the fields that are covered when a message has them.
var covered = map[string]bool{
	"from": true, "reply-to": true, "to": true, "cc": true,
	"subject": true, "date": true, "content-type": true,

	"sender": true, "message-id": true, "in-reply-to": true, "references": true,
	"mime-version": true, "content-transfer-encoding": true, "content-disposition": true,
	"content-id": true, "content-description": true, "auto-submitted": true,
	"feedback-id": true, "bimi-selector": true,
	"list-id": true, "list-help": true, "list-subscribe": true, "list-unsubscribe": true,
	"list-unsubscribe-post": true, "list-post": true, "list-owner": true, "list-archive": true,
}

// guarded ends h=: the fields that are covered once more than they occur.
const guarded = ":\r\n  from:reply-to:to:cc:subject:date:content-type"

// A field is a header field: its octets without the CRLF that ends it, and the
// length of its name.
type field struct {
	raw  []byte
	name int
}

// appendFields splits a header into fields.
func appendFields(dst []field, header []byte) []field {
	for len(header) > 0 {
		end := 0
		for {
			i := bytes.IndexByte(header[end:], '\n')
			if i < 0 {
				end = len(header)
				break
			}
			end += i + 1
			if end == len(header) || header[end] != ' ' && header[end] != '\t' {
				break
			}
		}
		raw := bytes.TrimSuffix(header[:end], []byte("\r\n"))
		if name := bytes.IndexByte(raw, ':'); name > 0 {
			dst = append(dst, field{raw, name})
		}
		header = header[end:]
	}
	return dst
}

// lowerName returns the name in lower case, in room.
func (f field) lowerName(room *[maxFieldName]byte) []byte {
	name := bytes.TrimRight(f.raw[:f.name], " \t")
	if len(name) > len(room) {
		return nil
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		room[i] = c
	}
	return room[:len(name)]
}

// appendRelaxed appends the field in relaxed canonical form, without CRLF
// (RFC 6376 §3.4.2).
func (f field) appendRelaxed(dst, lowerName []byte) []byte {
	dst = append(dst, lowerName...)
	dst = append(dst, ':')
	value := f.raw[f.name+1:]
	blank, empty := false, true
	for i := 0; i < len(value); {
		start := i
		for i < len(value) && !isFold(value[i]) {
			i++
		}
		if i > start {
			if blank && !empty {
				dst = append(dst, ' ')
			}
			dst = append(dst, value[start:i]...)
			blank, empty = false, false
			continue
		}
		// The CR and LF are those of folds; they go, and the blanks after them count.
		blank = blank || value[i] == ' ' || value[i] == '\t'
		i++
	}
	return dst
}

func isFold(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
