package mime

const (
	// foldAt is the length a line is kept within: RFC 5322 §2.1.1 prefers 78, and
	// RFC 2047 §2 wants 76 where a line holds an encoded-word.
	foldAt  = 76
	maxLine = 998 // RFC 5322 §2.1.1
)

// lines appends header fields and folds them. A field is a sequence of words;
// before each stands one space or, if the word would not fit, CRLF and a space.
// Both unfold to the same value (RFC 5322 §2.2.3).
type lines struct {
	b   []byte
	col int
}

func (l *lines) field(name string) {
	l.b = append(l.b, name...)
	l.b = append(l.b, ':')
	l.col = len(name) + 1
}

func (l *lines) end() {
	l.b = append(l.b, '\r', '\n')
	l.col = 0
}

// gap leaves room for a word of n octets. A word too long for any line is not moved
// away from its field name for nothing.
func (l *lines) gap(n int) {
	fits := l.col+1+n <= foldAt
	if !fits && (1+n <= foldAt || l.col+1+n > maxLine) {
		l.fold()
		return
	}
	l.b = append(l.b, ' ')
	l.col++
}

func (l *lines) fold() {
	l.b = append(l.b, '\r', '\n', ' ')
	l.col = 1
}

// word writes the parts as one unbreakable word.
func (l *lines) word(parts ...string) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	l.gap(n)
	for _, p := range parts {
		l.b = append(l.b, p...)
	}
	l.col += n
}

// attach writes s directly behind the last word.
func (l *lines) attach(s string) {
	l.b = append(l.b, s...)
	l.col += len(s)
}

// text writes s word by word. It breaks at a single space only: parsers differ
// on what an unfolded run of blanks becomes.
func (l *lines) text(s string) {
	for {
		n := nextBreak(s)
		l.word(s[:n])
		if n == len(s) {
			return
		}
		s = s[n+1:]
	}
}

// nextBreak returns the index of the first single space of s with something
// on both sides, or len(s).
func nextBreak(s string) int {
	for i := 1; i < len(s)-1; i++ {
		if s[i] == ' ' && !isWSP(s[i-1]) && !isWSP(s[i+1]) {
			return i
		}
	}
	return len(s)
}

// longestWord returns the length of the longest word that text would write.
func longestWord(s string) int {
	longest := 0
	for {
		n := nextBreak(s)
		longest = max(longest, n)
		if n == len(s) {
			return longest
		}
		s = s[n+1:]
	}
}
