package sanitize

// Each writer here is a fixed point of itself after the tokenizer has undone
// it: text stays raw (its character references are not touched), attribute
// values are decoded by the tokenizer and encoded again.
//
// A "<" before a space or "=" and a ">" after a space are left alone. They can
// neither open a tag or comment nor close a comment, and they are how template
// languages compare numbers.

func writeText[T string | []byte](out []byte, s T, mso bool) []byte {
	done := 0
	for i := 0; i < len(s); i++ {
		ref := ""
		switch c := s[i]; {
		case c != '<' && c != '>':
			continue
		case c == '<' && opens(s, i):
			ref = "&lt;"
		case c == '>' && mso && closes(s, i):
			ref = "&gt;"
		default:
			continue
		}
		out = append(append(out, s[done:i]...), ref...)
		done = i + 1
	}
	return append(out, s[done:]...)
}

func (f *filter) writeValue(s []byte) {
	done := 0
	for i, c := range s {
		ref := ""
		switch {
		case c == '"':
			ref = "&quot;"
		case c == '&':
			ref = "&amp;"
		case c == '<' && opens(s, i):
			ref = "&lt;"
		case c == '>' && closes(s, i):
			ref = "&gt;"
		default:
			continue
		}
		f.out = append(append(f.out, s[done:i]...), ref...)
		done = i + 1
	}
	f.out = append(f.out, s[done:]...)
}

func opens[T string | []byte](s T, i int) bool {
	return i+1 == len(s) || s[i+1] != ' ' && s[i+1] != '='
}

func closes[T string | []byte](s T, i int) bool {
	return i == 0 || s[i-1] != ' '
}
