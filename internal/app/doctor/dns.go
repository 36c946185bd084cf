package doctor

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/postledger/postledger"
	"github.com/postledger/postledger/internal/address"
	"github.com/postledger/postledger/internal/app/hop"
	"github.com/postledger/postledger/internal/mime/dkim"
)

// dnsTimeout bounds one question. The first that has no answer is the last
// that is asked: a machine without DNS costs it once.
const dnsTimeout = 3 * time.Second

// published compares what a profile needs in the DNS with what is there. What
// is wrong there is a warning: mail leaves all the same, and this machine may
// see other names than the world does.
func (x *examination) published(ctx context.Context, p *postledger.Profile, f *hop.Factory, o Options) {
	what := "profile " + p.Name
	switch {
	case p.Config.Transport == hop.Sandbox:
		return // nothing leaves
	case o.DNS == nil:
		x.good(what+", DNS", "was not asked")
		return
	}
	x.dkimRecord(ctx, what+", DKIM record", p, f, o.DNS)
	x.mailExchange(ctx, what+", replies", p, o.DNS)
}

// answered says whether a lookup has an answer, and if not, why.
func (x *examination) answered(what, name string, err error) bool {
	var d *net.DNSError
	switch {
	case err == nil:
		return true
	case errors.As(err, &d) && d.IsNotFound:
		return true
	default:
		x.noDNS = true
		x.warn(what, "was not checked: the DNS does not answer for %s", name)
		return false
	}
}

func (x *examination) dkimRecord(ctx context.Context, what string, p *postledger.Profile, f *hop.Factory, r *net.Resolver) {
	key, err := f.DKIMPublic(p)
	if err != nil || key == nil {
		return // the hop has said so
	}
	name := dkim.RecordName(p.Config.DKIMSelector, p.Config.DKIMDomain)
	if x.noDNS {
		x.warn(what, "was not checked: the DNS does not answer")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	texts, err := r.LookupTXT(ctx, name+".")
	switch {
	case !x.answered(what, name, err):
	case len(texts) == 0:
		x.warn(what, "%s has no TXT record: signatures do not verify", name)
	case len(texts) > 1:
		x.warn(what, "%s has %d TXT records: verifiers may take any of them", name, len(texts))
	default:
		if fault := recordFault(texts[0], key); fault != "" {
			x.warn(what, "%s %s: signatures do not verify", name, fault)
			return
		}
		x.good(what, "%s holds the public half of the profile's key", name)
	}
}

// recordFault says why a record (RFC 6376 §3.6.1) does not publish a key.
func recordFault(text string, key crypto.PublicKey) string {
	tags := map[string]string{"k": "rsa", "v": "DKIM1"}
	for tag := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(tag, "=")
		tags[strings.TrimSpace(name)] = strings.Join(strings.Fields(value), "")
	}
	algorithm := "rsa"
	if _, ok := key.(ed25519.PublicKey); ok {
		algorithm = "ed25519"
	}
	p, has := tags["p"]
	switch {
	case tags["v"] != "DKIM1" || !has:
		return "holds no DKIM key"
	case p == "":
		return "says that the key was revoked"
	case tags["k"] != algorithm:
		return fmt.Sprintf("holds a key of type %s, the profile's is of type %s", tags["k"], algorithm)
	}
	raw, err := base64.StdEncoding.DecodeString(p)
	if err != nil || !samePublic(raw, key) {
		return "holds another key than the profile's"
	}
	return ""
}

func samePublic(raw []byte, key crypto.PublicKey) bool {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return k.Equal(ed25519.PublicKey(raw))
	case *rsa.PublicKey:
		if other, err := x509.ParsePKIXPublicKey(raw); err == nil {
			return k.Equal(other)
		}
		// RFC 6376 names the bare form; some still publish it.
		other, err := x509.ParsePKCS1PublicKey(raw)
		return err == nil && k.Equal(other)
	default:
		return false
	}
}

// mailExchange asks whether failure reports can arrive: at the bounce domain,
// or else at From's, which is the return path then.
func (x *examination) mailExchange(ctx context.Context, what string, p *postledger.Profile, r *net.Resolver) {
	field, domain := "bounce_domain", p.Config.BounceDomain
	if domain == "" {
		field = "the domain of from"
		a, err := address.Parse(p.Config.From)
		if err != nil {
			return // it was said
		}
		domain = a.Domain()
	}
	if x.noDNS {
		x.warn(what, "%s: whether %s has an MX was not checked: the DNS does not answer", field, domain)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	// LookupMX leaves out names that are none, and says so beside the others.
	mx, err := r.LookupMX(ctx, domain+".")
	if len(mx) > 0 {
		err = nil
	}
	switch {
	case !x.answered(what, domain, err):
	case len(mx) == 0:
		x.warn(what, "%s: %s has no MX: failure reports may not arrive", field, domain)
	case len(mx) == 1 && mx[0].Host == ".":
		x.warn(what, "%s: %s takes no mail (RFC 7505): failure reports do not arrive", field, domain)
	default:
		x.good(what, "%s: %s has an MX (whether it takes mail was not tried)", field, domain)
	}
}
