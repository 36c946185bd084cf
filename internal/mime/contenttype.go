package mime

import (
	"maps"
	stdmime "mime"
	"slices"
	"strings"
)

const (
	octetStream = "application/octet-stream"
	// maxTypeName bounds a type and a subtype (RFC 6838 §4.2). Those of office
	// documents do not fit the line of the field's name, and stand on the next.
	maxTypeName = 127
)

// A mediaType is a checked content type: base in lower case, parameters in
// alphabetical order, without those the composer writes itself.
type mediaType struct {
	base   string
	params []parameter
}

type parameter struct{ name, value string }

// parseContentType is called with what a client declared for an attachment.
func parseContentType(s string) (mediaType, error) {
	const field = "content_type"
	if s == "" {
		return mediaType{base: octetStream}, nil
	}
	if err := checkText(field, s); err != nil {
		return mediaType{}, err
	}
	base, params := s, map[string]string(nil)
	if strings.IndexByte(s, ';') >= 0 {
		var err error
		if base, params, err = stdmime.ParseMediaType(s); err != nil {
			return mediaType{}, refuse(field, "is not a media type with parameters")
		}
	}
	main, sub, _ := strings.Cut(base, "/")
	if !all(main, isToken) || !all(sub, isToken) || len(main) > maxTypeName || len(sub) > maxTypeName {
		return mediaType{}, refuse(field, "is not a media type")
	}
	t := mediaType{base: strings.ToLower(base)}
	if strings.HasPrefix(t.base, "multipart/") {
		return mediaType{}, refuse(field, "must not be multipart: the parts would have no boundary")
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if err := checkText(field, params[name]); err != nil {
			return mediaType{}, err
		}
		if len(name) > maxPlainParam/2 {
			return mediaType{}, refuse(field, "has a parameter name of more than 30 octets")
		}
		if name != "name" && name != "method" {
			t.params = append(t.params, parameter{name, params[name]})
		}
	}
	return t, nil
}

func (t mediaType) isMessage() bool { return strings.HasPrefix(t.base, "message/") }

// write writes the Content-Type field up to, and without, its end.
func (t mediaType) write(l *lines) {
	l.field("Content-Type")
	l.word(t.base)
	for _, p := range t.params {
		l.parameter(p.name, p.value)
	}
}
