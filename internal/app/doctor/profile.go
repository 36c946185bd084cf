package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/app"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/ledger"
	"github.com/postledger/postledger/internal/transport/smtp"
)

// lateLimit is how long what is due may wait on a profile that is not paused:
// more than any pause between two looks of a worker, or a short trouble.
const lateLimit = 10 * time.Minute

func (x *examination) profiles(ctx context.Context, l *ledger.Ledger, f *hop.Factory, o Options) {
	profiles, err := l.Profiles(ctx)
	if err != nil {
		x.bad("profiles", "%v", err)
		return
	}
	backlogs, err := l.Backlogs(ctx)
	if err != nil {
		x.bad("profiles", "%v", err)
		return
	}
	n := 0
	for i := range profiles {
		p := &profiles[i]
		if !p.RemovedAt.IsZero() {
			continue
		}
		n++
		x.waiting(p, backlogs[p.ID])
		x.settings(p, l.SQLite())
		if f == nil {
			x.warn("profile "+p.Name, "its secrets and next hop were not checked: there is no encryption key")
			continue
		}
		if x.hop(ctx, p, f, o) {
			x.published(ctx, p, f, o)
		}
	}
	if n == 0 {
		x.good("profiles", "there are none yet: make one with `postledger profiles put`")
	}
}

// waiting tells of what waits on a profile, and of a pause. Whether its hop is
// down, each server knows for itself; here the login says it.
func (x *examination) waiting(p *postledger.Profile, b ledger.Backlog) {
	what := "profile " + p.Name + ", waiting"
	waits := "nothing waits"
	if b.Waiting > 0 {
		waits = fmt.Sprintf("%d", b.Waiting)
		if b.More {
			waits = "more than " + waits
		}
		waits += " deliveries wait, "
		if b.Late > 0 {
			waits += "the oldest has been due for " + b.Late.Round(time.Second).String()
		} else {
			waits += "none is due before " + b.OldestDue.UTC().Format(time.RFC3339)
		}
	}
	switch {
	case !p.PausedAt.IsZero():
		why := p.Alarm
		if why == "" {
			why = p.PauseReason
		}
		if why == "" {
			why = "no reason was given"
		}
		x.bad(what, "the profile is paused since %s (%s); %s", p.PausedAt.UTC().Format(time.RFC3339), why, waits)
	case b.Late > lateLimit:
		x.warn(what, "%s: is its pace too low, its next hop down, or no server running?", waits)
	default:
		x.good(what, "%s", waits)
	}
}

// settings looks at what the ledger holds of a profile, its secrets apart.
func (x *examination) settings(p *postledger.Profile, embedded bool) {
	what, c := "profile "+p.Name, &p.Config
	if p.IsDefault && c.Transport == hop.Sandbox && !embedded && !x.config.AllowSandbox {
		x.bad(what+", default", "%v", app.ErrSandboxDefault)
	}
	pace := "no pace"
	if c.PacePerMinute > 0 {
		pace = fmt.Sprintf("a pace of %d recipients a minute", c.PacePerMinute)
	}
	switch {
	case c.QuotaPerDay == nil:
		x.good(what+", limits", "%s, no quota", pace)
	case *c.QuotaPerDay == 0:
		x.warn(what+", limits", "%s; quota_per_day is 0: every message is refused", pace)
	default:
		x.good(what+", limits", "%s, a quota of %d recipients a day for each app", pace, *c.QuotaPerDay)
	}
	from, err := address.Parse(c.From)
	switch {
	case err != nil:
		x.bad(what+", from", "is no e-mail address")
	case c.DKIMDomain == "" && c.Transport != hop.Sandbox:
		x.good(what+", from", "is an address of %s; Postledger signs nothing (no DKIM key)", from.Domain())
	case c.DKIMDomain != "" && !aligned(from.Domain(), c.DKIMDomain):
		x.warn(what+", from", "is an address of %s, and dkim_domain is %s: to DMARC that signature does not speak for it", from.Domain(), c.DKIMDomain)
	default:
		x.good(what+", from", "is an address of %s", from.Domain())
	}
	if c.Transport == hop.SMTP {
		x.encryption(what+", TLS", c)
	}
}

// aligned: of one organisation, which is what DMARC asks for unless a domain
// asks for more (RFC 7489 §3.1).
func aligned(from, signer string) bool {
	signer = strings.ToLower(signer)
	if from == signer {
		return true
	}
	a, errA := publicsuffix.EffectiveTLDPlusOne(from)
	b, errB := publicsuffix.EffectiveTLDPlusOne(signer)
	return errA == nil && errB == nil && a == b
}

func (x *examination) encryption(what string, c *postledger.ProfileConfig) {
	var s hop.SMTPSettings
	if json.Unmarshal(c.Settings, &s) != nil {
		return // making the hop says what is wrong
	}
	plain := s.TLS == smtp.TLSNone || s.TLS == smtp.TLSOpportunistic
	switch {
	case plain && s.Username != "":
		x.bad(what, "settings.tls is %s, and there is a login: it would be sent in clear text", s.TLS)
	case s.TLS == smtp.TLSNone && !loopback(s.Host):
		x.warn(what, "settings.tls is none: mail goes to %s in clear text", s.Host)
	case s.TLS == smtp.TLSOpportunistic:
		x.warn(what, "settings.tls is opportunistic: whoever sits between can have mail in clear text")
	case plain:
		x.good(what, "is off, and %s is this machine", s.Host)
	default:
		x.good(what, "is %s: the certificate must verify", s.TLS)
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// hop makes the profile's transport and signer, as a server would, and asks
// its next hop for a login.
func (x *examination) hop(ctx context.Context, p *postledger.Profile, f *hop.Factory, o Options) bool {
	what := "profile " + p.Name
	h, err := f.Make(*p)
	if err != nil {
		x.bad(what+", secrets", "%v", err)
		return false
	}
	defer h.Transport.Close()
	password, key := hop.Has(p)
	switch {
	case password && key:
		x.good(what+", secrets", "its password opens, and its DKIM key can sign")
	case password:
		x.good(what+", secrets", "its password opens")
	case key:
		x.good(what+", secrets", "its DKIM key can sign")
	default:
		x.good(what+", secrets", "it has none")
	}
	what += ", next hop"
	if !o.Login {
		x.good(what, "its settings can be used (no login was tried)")
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	switch out := h.Transport.Probe(ctx); {
	case out.Class != postledger.OutcomeAccepted:
		x.bad(what, "%s: %s", out, out.Text)
	case p.Config.Transport == hop.Sandbox:
		x.good(what, "is ready: the sandbox, nothing leaves")
	case password:
		x.good(what, "is ready, and takes the login")
	default:
		x.good(what, "is ready (there is no login)")
	}
	return true
}
