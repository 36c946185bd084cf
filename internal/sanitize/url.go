package sanitize

import (
	"bytes"
	"strings"
)

// cleanURL returns a URL as the URL parsers of browsers see it (WHATWG URL §4.4:
// outer spaces and inner tabs and line feeds are dropped) and whether it may
// stay. The bytes may be changed in place.
func cleanURL(v []byte, loaded bool) ([]byte, bool) {
	v = bytes.Trim(v, " \t\n")
	if bytes.IndexByte(v, '\n') >= 0 || bytes.IndexByte(v, '\t') >= 0 {
		kept := v[:0]
		for _, c := range v {
			if c != '\n' && c != '\t' {
				kept = append(kept, c)
			}
		}
		v = kept
	}
	return v, allowedURL(v, loaded)
}

// allowedURL is for URLs that have been cleaned.
func allowedURL(v []byte, loaded bool) bool {
	switch {
	case len(v) == 0:
		return true
	case v[0] == '#':
		return true
	case placeholderAt(v):
		return true
	}
	colon := bytes.IndexByte(v, ':')
	if colon < 2 || colon > len("mailto") {
		return false
	}
	switch strings.ToLower(string(v[:colon])) {
	case "http", "https":
		return true
	case "cid":
		return true
	case "mailto", "tel", "sms":
		return !loaded
	}
	return false
}

// placeholderAt reports whether a template decides what the URL starts with.
func placeholderAt(v []byte) bool {
	return len(v) > 4 && v[0] == '{' && (v[1] == '{' || v[1] == '%')
}

// allowedSrcset checks each candidate of a srcset. A comma inside a URL makes
// its rest look like a candidate without scheme, so such lists are refused.
func allowedSrcset(v []byte) bool {
	for candidate := range bytes.SplitSeq(v, []byte(",")) {
		fields := bytes.Fields(candidate)
		if len(fields) == 0 || len(fields) > 2 || !allowedURL(fields[0], true) {
			return false
		}
	}
	return true
}
