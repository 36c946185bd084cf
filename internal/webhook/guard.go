package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// ErrForbiddenAddress: a connection would lead to an address that webhooks do not
// go to.
var ErrForbiddenAddress = errors.New("webhooks do not go there")

// Guard decides which addresses a webhook may be sent to: global unicast on ports
// 80 and 443, and what the operator allows.
type Guard struct {
	// Allow are ranges whose addresses may be reached on any port, such as a
	// private network's.
	Allow []netip.Prefix
	// Own are the listeners of this process, which are never reached, whatever
	// is allowed. An unspecified address stands for all of this machine's.
	Own []netip.AddrPort
	// Local reports whether an address is this machine's.
	Local func(netip.Addr) bool
}

// Check says why addr may not be dialed, or nil.
func (g *Guard) Check(addr netip.AddrPort) error {
	ip := addr.Addr().Unmap()
	if ip.Zone() != "" {
		return fmt.Errorf("%w: %s has a zone", ErrForbiddenAddress, ip)
	}
	if g.own(ip, addr.Port()) {
		return fmt.Errorf("%w: %s is a listener of Postledger's own", ErrForbiddenAddress, addr)
	}
	if slices.ContainsFunc(g.Allow, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return nil
	}
	if why := special(ip); why != "" {
		return fmt.Errorf("%w: %s is %s", ErrForbiddenAddress, ip, why)
	}
	if g.Local != nil && g.Local(ip) {
		return fmt.Errorf("%w: %s is this machine", ErrForbiddenAddress, ip)
	}
	if port := addr.Port(); port != 80 && port != 443 {
		return fmt.Errorf("%w: port %d is neither 80 nor 443", ErrForbiddenAddress, port)
	}
	return nil
}

func (g *Guard) own(ip netip.Addr, port uint16) bool {
	for _, o := range g.Own {
		if o.Port() != port {
			continue
		}
		if o.Addr().Unmap() == ip {
			return true
		}
		here := ip.IsLoopback() || ip.IsUnspecified() || g.Local != nil && g.Local(ip)
		if here && (o.Addr().IsUnspecified() || ip.IsUnspecified()) {
			return true
		}
	}
	return false
}

// Control is a net.Dialer's: it sees the address after names were resolved and
// right before the connection is made.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("%w: %s is not TCP", ErrForbiddenAddress, network)
	}
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrForbiddenAddress, address)
	}
	return g.Check(addr)
}

// block is a range that is not global unicast, or leads back into one that is not.
type block struct {
	prefix netip.Prefix
	what   string
}

// blocks are IANA's special-purpose registries (RFC 6890) and addresses at which
// providers serve a machine's credentials. Of IPv6 only 2000::/3 is given out for
// global unicast (RFC 4291 §2.4), so blocks within that are all that is listed:
// local (fc00::/7, fe80::/10), multicast, NAT64 (64:ff9b::/96) and IPv4-compatible
// forms lie outside.
var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "of this network (RFC 1122)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's own (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a provider's metadata service"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local (RFC 3927)"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "set aside for protocols (RFC 6890)"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved (RFC 1112)"},
	{netip.MustParsePrefix("2001::/23"), "set aside for protocols, Teredo among them (RFC 6890)"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation (RFC 3849)"},
	{netip.MustParsePrefix("2002::/16"), "6to4 (RFC 3056)"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation (RFC 9637)"},
}

var globalIPv6 = netip.MustParsePrefix("2000::/3")

// special says what kind of address ip is, or "" for global unicast.
func special(ip netip.Addr) string {
	for _, b := range blocks {
		if b.prefix.Contains(ip) {
			return b.what
		}
	}
	if ip.Is6() && !globalIPv6.Contains(ip) {
		return "not global unicast (RFC 4291 §2.4)"
	}
	return ""
}
