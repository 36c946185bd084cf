package app

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// sourceOf names who a request comes from. A proxy that is trusted speaks for
// the address it appended to X-Forwarded-For, and so on backwards: what stands
// left of the first address that is not trusted could be anybody's invention.
// Of IPv6 it is the /64, since one machine commonly has all of it.
func sourceOf(trusted []netip.Prefix) func(*http.Request) string {
	return func(r *http.Request) string {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return r.RemoteAddr
		}
		source := peer.Addr().Unmap().WithZone("")
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for _, hop := range slices.Backward(hops) {
			if !slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(source) }) {
				break
			}
			next, err := netip.ParseAddr(strings.TrimSpace(hop))
			if err != nil {
				break
			}
			source = next.Unmap().WithZone("")
		}
		if source.Is6() {
			if p, err := source.Prefix(64); err == nil {
				return p.String()
			}
		}
		return source.String()
	}
}
