package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/api"
)

// A suggestion is near and always the same one; a name that is near nothing gets none.
func TestWhichMemberWasMeant(t *testing.T) {
	for name, want := range map[string]string{
		"sbject": "subject", "Subject": "subject", "attachmets": "attachments", "tp": "to", "bc": "bcc", "htm": "html",
		"": "", "x": "", "zz": "", "nothing_like_it": "",
	} {
		for range 20 {
			_, err := api.DecodeMessage(fmt.Appendf(nil, `{%q:1}`, name))
			if err == nil {
				t.Fatalf("%q was taken", name)
			}
			_, got, _ := strings.Cut(err.Error(), "did you mean ")
			if got = strings.TrimSuffix(got, "?"); got != want {
				t.Fatalf("%q: %v, want %q", name, err, want)
			}
		}
	}
}
