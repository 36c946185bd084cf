package smtp

import (
	"slices"
	"strconv"
	"strings"
)

// extensions is what the hop offered in its EHLO reply (RFC 5321 §4.1.1.1).
type extensions struct {
	startTLS   bool
	pipelining bool
	eightBit   bool
	utf8       bool
	dsn        bool
	size       bool
	maxSize    int64 // 0: none stated (RFC 1870 §4)
	auth       []string
}

// parseExtensions reads an EHLO reply's text: the first line is a greeting.
func parseExtensions(text string) extensions {
	var e extensions
	_, rest, _ := strings.Cut(text, "\n")
	for line := range strings.SplitSeq(rest, "\n") {
		// "AUTH=PLAIN" is an old spelling that some hops still offer.
		fields := strings.Fields(strings.ToUpper(strings.Replace(line, "=", " ", 1)))
		if len(fields) == 0 {
			continue
		}
		switch fields[0] {
		case "STARTTLS":
			e.startTLS = true
		case "PIPELINING":
			e.pipelining = true
		case "8BITMIME":
			e.eightBit = true
		case "SMTPUTF8":
			e.utf8 = true
		case "DSN":
			e.dsn = true
		case "SIZE":
			e.size = true
			if len(fields) > 1 {
				if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil && n > 0 {
					e.maxSize = n
				}
			}
		case "AUTH":
			e.auth = append(e.auth, fields[1:]...)
		}
	}
	return e
}

func (e extensions) offersAuth(m AuthMechanism) bool { return slices.Contains(e.auth, string(m)) }
