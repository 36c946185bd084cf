package api

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/accept"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/deliver/pace"
	"github.com/postledger/postledger/internal/secret"
)

const (
	maxConnections  = 1000
	maxRetryHorizon = 30 * 24 * 60 * 60
)

// checkLogin: no line break and no NUL is part of a login. A mail server would
// refuse it at the first delivery only, and not say why.
func checkLogin(add func(ok bool, at string, rule accept.Rule, message string), p *postledger.Profile, password *secret.Value) {
	const message = "holds a line break or NUL"
	var s struct {
		Username string `json:"username"`
	}
	// What else is wrong with the settings, their transport says.
	_ = json.Unmarshal(p.Config.Settings, &s)
	add(!strings.ContainsAny(s.Username, "\r\n\x00"), "settings.username", accept.RuleControl, message)
	if password != nil {
		add(!strings.ContainsAny(password.Reveal(), "\r\n\x00"), "password", accept.RuleControl, message)
	}
}

// checkProfile checks the form of what every profile has; what its transport
// needs, the transport knows.
func checkProfile(p *postledger.Profile, password *secret.Value) error {
	out := problem(codeInvalidProfile, "")
	add := func(ok bool, at string, rule accept.Rule, message string) {
		if !ok {
			out.Errors = append(out.Errors, FieldError{at, rule, message})
		}
	}
	c := &p.Config
	if c.From == "" {
		add(false, "from", accept.RuleRequired, "is missing")
	} else {
		_, err := address.Parse(c.From)
		add(err == nil, "from", accept.RuleSyntax, "is not an e-mail address")
	}
	add(address.CheckName(c.FromName) == nil, "from_name", accept.RuleControl, "holds a control or text-reordering character, or has more than 255 bytes")
	add(c.Transport != "", "transport", accept.RuleRequired, "is missing")
	if c.Connections == 0 {
		add(false, "connections", accept.RuleRequired, "is missing: a number between 2 and 1000, and 8 suits most relays")
	} else {
		add(c.Connections >= 2 && c.Connections <= maxConnections, "connections", accept.RuleRange, "must be between 2 and 1000: one is kept for the immediate lane")
	}
	add(c.PacePerMinute >= 0, "pace_per_minute", accept.RuleRange, "is negative")
	add(c.PacePerMinute <= pace.MaxPerMinute, "pace_per_minute", accept.RuleRange, fmt.Sprintf("must be at most %d; 0 is no bound", pace.MaxPerMinute))
	add(c.QuotaPerDay == nil || *c.QuotaPerDay >= 0, "quota_per_day", accept.RuleRange, "is negative")
	add(c.MaxAttachmentBytes >= 0, "max_attachment_bytes", accept.RuleRange, "is negative")
	add(c.ImmediatePerMinute >= 0, "immediate_per_minute", accept.RuleRange, "is negative")
	add(c.RetryHorizonSeconds >= 0 && c.RetryHorizonSeconds <= maxRetryHorizon, "retry_horizon_seconds", accept.RuleRange, "must be between 0 and 2592000 (30 days)")
	add(c.OnUnconfirmed == "" || c.OnUnconfirmed == postledger.UnconfirmedHold || c.OnUnconfirmed == postledger.UnconfirmedResend,
		"on_unconfirmed", accept.RuleUnknown, "is neither hold nor resend")
	for _, d := range []struct{ at, domain string }{
		{"bounce_domain", c.BounceDomain},
		{"message_id_domain", c.MessageIDDomain},
		{"dkim_domain", c.DKIMDomain},
	} {
		if d.domain != "" {
			_, err := address.Parse("x@" + d.domain)
			add(err == nil, d.at, accept.RuleSyntax, "is not a domain")
		}
	}
	checkLogin(add, p, password)
	if len(out.Errors) > 0 {
		return out
	}
	return nil
}
