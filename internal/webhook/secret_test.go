package webhook_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/postledger/postledger/internal/webhook"
)

// The specification's own library is the judge of our signatures.
func TestSignaturesVerify(t *testing.T) {
	t.Parallel()
	old, fresh, foreign := webhook.NewSecret(), webhook.NewSecret(), webhook.NewSecret()
	body := []byte(`{"type":"delivery.sent","note":"å"}`)
	now := time.Now()
	header := func(at time.Time, secrets ...webhook.Secret) http.Header {
		h := http.Header{}
		h.Set("webhook-id", "0190a5d2-0000-5000-8000-000000000000")
		h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		h.Set("webhook-signature", webhook.Signature(secrets, h.Get("webhook-id"), at, body))
		return h
	}
	for _, c := range []struct {
		name   string
		header http.Header
		secret webhook.Secret
		body   string
		valid  bool
	}{
		{"one secret", header(now, fresh), fresh, string(body), true},
		{"during rotation, the old one", header(now, fresh, old), old, string(body), true},
		{"during rotation, the new one", header(now, fresh, old), fresh, string(body), true},
		{"another's secret", header(now, fresh), foreign, string(body), false},
		{"a changed body", header(now, fresh), fresh, strings.Replace(string(body), "sent", "lost", 1), false},
		{"an old timestamp", header(now.Add(-6*time.Minute), fresh), fresh, string(body), false},
	} {
		verifier, err := standardwebhooks.NewWebhook(c.secret.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify([]byte(c.body), c.header); (err == nil) != c.valid {
			t.Errorf("%s: verify: %v, want valid = %t", c.name, err, c.valid)
		}
	}
}

func TestSecretText(t *testing.T) {
	t.Parallel()
	made := webhook.NewSecret()
	read, err := webhook.ParseSecret(made.Reveal())
	if err != nil || read.Reveal() != made.Reveal() {
		t.Errorf("a secret is read back as %v, %v", read, err)
	}
	for _, shown := range []string{fmt.Sprint(made), fmt.Sprintf("%+v", made), fmt.Sprintf("%#v", made)} {
		if strings.Contains(shown, made.Reveal()[6:20]) {
			t.Errorf("a secret shows itself as %q", shown)
		}
	}
	for _, bad := range []string{"", "whsec_", "whsec_AAAA", strings.TrimPrefix(made.Reveal(), "whsec_"), made.Reveal() + "\n", "whsec_" + strings.Repeat("A", 88) + "=="} {
		if _, err := webhook.ParseSecret(bad); err == nil {
			t.Errorf("%q is taken for a secret", bad)
		}
	}
}
