package settle

import (
	"regexp"
	"strings"
)

// HideAddress replaces the recipient's address, in whatever letter case the
// hop repeats it, in a reply that is stored: addresses live in their own
// columns only. (The transport has replaced the form that went on the wire;
// this one is as the caller gave it.)
func HideAddress(text, address string) string {
	if address == "" || strings.Contains(address, "@") && !strings.Contains(text, "@") {
		return text // most replies: nothing to look for
	}
	find, err := regexp.Compile("(?i)" + regexp.QuoteMeta(address))
	if err != nil { // not UTF-8, which no accepted address is
		return strings.ReplaceAll(text, address, "{rcpt}")
	}
	return find.ReplaceAllLiteralString(text, "{rcpt}")
}
