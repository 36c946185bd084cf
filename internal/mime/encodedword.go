package mime

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const (
	wordLen   = 75 // RFC 2047 §2: the longest encoded-word
	wordHeadQ = "=?UTF-8?Q?"
	wordHeadB = "=?UTF-8?B?"
	wordTail  = "?="
	// wordFrame is what a word costs before it says anything, and wordLeast
	// what it needs to hold the longest character in "Q".
	wordFrame = len(wordHeadQ) + len(wordTail)
	wordLeast = wordFrame + 4*3
)

// needsWords reports whether s cannot be written as it is: it is not printable
// ASCII, or a reader would take part of it for an encoded-word.
func needsWords(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c > '~' {
			return true
		}
	}
	return strings.Contains(s, "=?")
}

// encodedWords writes s, valid UTF-8, as encoded-words. Every word holds whole
// characters and stands alone, in the alphabet that is safe in a phrase too
// (RFC 2047 §5). White space between two words is not part of the value, so s
// comes back exactly. "Q" is used unless "B" is shorter.
//
// A value that fits one word is not split over two lines: there are readers that
// see a space between the words of a display name.
func (l *lines) encodedWords(s string) {
	n, b := lenQ(s), base64.StdEncoding.EncodedLen(len(s))
	q := n <= b
	if n = wordFrame + min(n, b); n <= wordLen && l.col+1+n > foldAt && l.b[len(l.b)-1] != ':' {
		l.fold()
		l.b = l.b[:len(l.b)-1] // the space comes with the word
		l.col = 0
	}
	for s != "" {
		room := foldAt - l.col - 1
		if room < wordLeast {
			l.fold()
			room = wordLen
		} else {
			l.b = append(l.b, ' ')
			l.col++
		}
		room = min(room, wordLen) - wordFrame
		before := len(l.b)
		if q {
			s = l.wordQ(s, room)
		} else {
			s = l.wordB(s, room)
		}
		l.col += len(l.b) - before
	}
}

func (l *lines) wordQ(s string, room int) string {
	n := 0
	for n < len(s) {
		_, size := utf8.DecodeRuneInString(s[n:])
		cost := lenQ(s[n : n+size])
		if cost > room {
			break
		}
		room -= cost
		n += size
	}
	l.b = append(l.b, wordHeadQ...)
	for i := range n {
		switch c := s[i]; {
		case c == ' ':
			l.b = append(l.b, '_')
		case class[c]&isPhraseQ != 0:
			l.b = append(l.b, c)
		default:
			l.b = append(l.b, '=', upperHex[c>>4], upperHex[c&15])
		}
	}
	l.b = append(l.b, wordTail...)
	return s[n:]
}

func (l *lines) wordB(s string, room int) string {
	limit := room / 4 * 3
	n := 0
	for n < len(s) {
		_, size := utf8.DecodeRuneInString(s[n:])
		if n+size > limit {
			break
		}
		n += size
	}
	l.b = append(l.b, wordHeadB...)
	l.b = appendBase64(l.b, s[:n])
	l.b = append(l.b, wordTail...)
	return s[n:]
}

func appendBase64(dst []byte, s string) []byte {
	var block [48]byte // a multiple of three that holds any word
	for s != "" {
		n := copy(block[:], s)
		dst = base64.StdEncoding.AppendEncode(dst, block[:n])
		s = s[n:]
	}
	return dst
}

func lenQ(s string) int {
	n := len(s)
	for i := range len(s) {
		if c := s[i]; c != ' ' && class[c]&isPhraseQ == 0 {
			n += 2
		}
	}
	return n
}
