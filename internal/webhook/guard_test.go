package webhook_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/webhook"
)

func TestGuardChecksAddresses(t *testing.T) {
	t.Parallel()
	g := &webhook.Guard{
		Allow: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("127.0.0.0/8")},
		Own:   []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8025"), netip.MustParseAddrPort("0.0.0.0:9025")},
		Local: func(a netip.Addr) bool { return a == netip.MustParseAddr("198.41.0.9") },
	}
	for address, allowed := range map[string]bool{
		"93.184.216.34:443":                    true,
		"93.184.216.34:80":                     true,
		"93.184.216.34:22":                     false,
		"93.184.216.34:8443":                   false,
		"[2606:2800:220:1::1]:443":             true,
		"10.20.1.1:8080":                       true, // the operator's
		"10.21.1.1:443":                        false,
		"127.0.0.1:9999":                       true, // the operator's
		"127.0.0.1:8025":                       false,
		"127.0.0.1:9025":                       false,
		"[::ffff:127.0.0.1]:8025":              false,
		"198.41.0.9:443":                       false, // this machine
		"198.41.0.9:9025":                      false,
		"0.0.0.0:80":                           false,
		"0.0.0.0:9025":                         false,
		"169.254.169.254:80":                   false, // metadata
		"100.64.0.1:443":                       false, // CGNAT
		"100.100.100.200:80":                   false,
		"168.63.129.16:80":                     false,
		"172.31.255.255:443":                   false,
		"172.32.0.1:443":                       true,
		"192.168.1.1:443":                      false,
		"198.18.0.1:443":                       false,
		"224.0.0.1:443":                        false,
		"255.255.255.255:443":                  false,
		"[::1]:443":                            false,
		"[::]:443":                             false,
		"[::ffff:10.0.0.1]:443":                false,
		"[::ffff:93.184.216.34]:443":           true,
		"[::10.0.0.1]:443":                     false, // IPv4-compatible
		"[64:ff9b::a00:1]:443":                 false, // NAT64
		"[64:ff9b:1::a00:1]:443":               false,
		"[2002:a00:1::1]:443":                  false, // 6to4
		"[2001:0:4136:e378::1]:443":            false, // Teredo
		"[2001:db8::1]:443":                    false,
		"[2001:4860:4860::8888]:443":           true,
		"[fe80::1]:443":                        false,
		"[fe80::1%eth0]:443":                   false,
		"[fc00::1]:443":                        false,
		"[fd00:ec2::254]:80":                   false, // metadata
		"[fec0::1]:443":                        false,
		"[ff02::1]:443":                        false,
		"[4000::1]:443":                        false,
		"[100::1]:443":                         false,
		"[2001:10::1]:443":                     false,
		"[3fff::1]:443":                        false,
		"[2606:2800:220:1::1%eth0]:443":        false,
		"192.0.0.192:80":                       false,
		"[::ffff:169.254.169.254]:80":          false,
		"[::ffff:0:a9fe:a9fe]:80":              false, // IPv4-translated
		"[2001:4860:4860:0:0:ffff:a00:1]:8443": false,
	} {
		err := g.Check(netip.MustParseAddrPort(address))
		if (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed = %t", address, err, allowed)
		}
		if err != nil && !errors.Is(err, webhook.ErrForbiddenAddress) {
			t.Errorf("%s: %v is no ErrForbiddenAddress", address, err)
		}
	}
}

func TestGuardControlsOnlyTCP(t *testing.T) {
	t.Parallel()
	g := &webhook.Guard{}
	for _, c := range [][2]string{{"udp4", "93.184.216.34:443"}, {"unix", "/run/x"}, {"tcp4", "example:443"}, {"tcp4", ""}} {
		if err := g.Control(c[0], c[1], nil); !errors.Is(err, webhook.ErrForbiddenAddress) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if err := g.Control("tcp4", "93.184.216.34:443", nil); err != nil {
		t.Error(err)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	g := &webhook.Guard{}
	for text, rule := range map[string]string{
		"https://hooks.shop.test/in?k=1":               "",
		"http://hooks.shop.test/":                      "",
		"https://93.184.216.34/x":                      "",
		"https://hooks.shop.test:443/":                 "",
		"https://xn--bcher-kva.test/":                  "",
		"":                                             "begin with",
		"hooks.shop.test/in":                           "begin with",
		"ftp://hooks.shop.test/":                       "begin with",
		"https:hooks.shop.test":                        "names no host",
		"https:///in":                                  "names no host",
		"https://u:p@hooks.shop.test/":                 "user or password",
		"https://hooks.shop.test/#x":                   "fragment",
		"https://hooks.shop.test/#":                    "fragment",
		"https://hooks.shop.test:0/":                   "port",
		"https://hooks.shop.test:/":                    "port",
		"https://hooks.shop.test:70000/":               "",
		"https://hooks shop.test/":                     "printable",
		"https://hooks.shop.test\\@x/":                 "backslash",
		"https://bücher.test/":                         "printable",
		"https://2130706433/":                          "number",
		"https://0x7f000001/":                          "number",
		"https://0177.0.0.1/":                          "number",
		"https://127.1/":                               "number",
		"https://127.0.0.1./":                          "number",
		"https://127.0.0.1/":                           "do not go",
		"https://[::1]/":                               "do not go",
		"https://[::ffff:7f00:1]/":                     "do not go",
		"https://[fe80::1%25eth0]/":                    "zone",
		"https://93.184.216.34:8443/":                  "port",
		"https://under_score.test/":                    "domain name",
		"https://x." + strings.Repeat("a", 2048) + "/": "longer",
	} {
		got, err := g.CheckURL(text)
		switch {
		case rule == "" && text == "https://hooks.shop.test:70000/":
			if err == nil {
				t.Errorf("%s is taken", text)
			}
		case rule == "" && (err != nil || got == ""):
			t.Errorf("%s: %v", text, err)
		case rule != "" && (!errors.Is(err, webhook.ErrBadURL) || !strings.Contains(err.Error(), rule)):
			t.Errorf("%.60s: %v, want one that says %q", text, err, rule)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{"https://hooks.shop.test/in", "http://[::1]:80/", "https://0x7f.1/", "https://a@b/"} {
		f.Add(seed)
	}
	g := &webhook.Guard{}
	f.Fuzz(func(t *testing.T, text string) {
		usual, err := g.CheckURL(text)
		if err != nil {
			return
		}
		again, err := g.CheckURL(usual)
		if err != nil || again != usual {
			t.Errorf("%q becomes %q, which becomes %q (%v)", text, usual, again, err)
		}
	})
}
