package lens

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

const notText = `\uD800 to \uDFFF stand for a character only in pairs`

// halfPair finds an escape in a JSON string that is half of a surrogate pair. Decoders
// read it as U+FFFD, which is a character that somebody may have meant.
func halfPair(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 || at+1 >= len(text) {
			return false
		}
		first, escaped := escapedRune(text[at:])
		if !escaped {
			text = text[at+2:] // whatever is escaped, it may be a backslash
			continue
		}
		text = text[at+6:]
		if !utf16.IsSurrogate(first) {
			continue
		}
		second, escaped := escapedRune(text)
		if !escaped || utf16.DecodeRune(first, second) == '\uFFFD' {
			return true
		}
		text = text[6:]
	}
}

func escapedRune(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
