package smtp

import (
	"testing"
	"time"
)

// RFC 5321 §4.5.3.2: the minima. The final dot's is what duplicates hang on.
func TestDefaultTimeouts(t *testing.T) {
	c, err := Config{Host: "hop.test", Port: 25, TLS: TLSNone}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		got, want time.Duration
	}{
		{"greeting", c.Timeouts.Greeting, 5 * time.Minute},
		{"mail", c.Timeouts.Mail, 5 * time.Minute},
		{"rcpt", c.Timeouts.Rcpt, 5 * time.Minute},
		{"data", c.Timeouts.Data, 2 * time.Minute},
		{"block", c.Timeouts.Block, 3 * time.Minute},
		{"dot", c.Timeouts.Dot, 10 * time.Minute},
	} {
		if tc.got < tc.want {
			t.Errorf("%s: %v by default, want at least %v", tc.name, tc.got, tc.want)
		}
	}
}
