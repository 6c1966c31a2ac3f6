package egress

import (
	"context"
	"net"
	"net/netip"
	"strings"
)

// names is a resolver: addresses by name, with spaces between. A name may have
// several answers, with bars between, given in turn.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	text, ok := n[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	first, rest, several := strings.Cut(text, "|")
	if several {
		n[host] = rest
	}
	var all []netip.Addr
	for address := range strings.FieldsSeq(first) {
		all = append(all, netip.MustParseAddr(address))
	}
	return all, nil
}
