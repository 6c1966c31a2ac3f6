package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// maxAddresses bounds what a name may resolve to.
const maxAddresses = 32

// Resolver looks names up. A *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// errAddress: a host leads to an address that is out of bounds.
var errAddress = errors.New("the address is out of bounds")

// reach says which addresses the hosts of a policy may lead to.
type reach struct {
	// operator is set where the host is the operator's own choice: its names may
	// lead into private networks and to this machine, but to nothing that no
	// service is at.
	operator bool
	// literals are the granted origins, as host:port, that name an address or
	// localhost. They reach what they name, in whatever range that is.
	literals []string
	// network are the addresses of the operator's own network that names may lead to,
	// but for those of metadata and those that stand for others.
	network []netip.Prefix
	// local is set where every host is this machine by its very name.
	local bool
}

// check refuses an address that the host of an endpoint must not lead to.
func (r reach) check(endpoint, host string, address netip.Addr) error {
	of := classOf(address)
	switch {
	case of == classPublic, slices.Contains(r.literals, endpoint):
		return nil
	case of == classLoopback && r.local:
		return nil
	case of == classMetadata, of == classEmbedded:
	case slices.ContainsFunc(r.network, func(p netip.Prefix) bool { return p.Contains(address) }):
		return nil
	case r.operator && slices.Contains([]class{classPrivate, classLoopback, classCarrier}, of):
		return nil
	}
	if host == address.String() {
		return fmt.Errorf("%w: %s (%s) is not granted by name", errAddress, address, of)
	}
	return fmt.Errorf("%w: %s leads to %s (%s)", errAddress, host, address, of)
}

// addresses answers where the endpoint host:port may be reached: every address of
// its host has passed, or none is answered.
func (r reach) addresses(ctx context.Context, resolver Resolver, endpoint string) ([]netip.AddrPort, error) {
	host, portText, err := net.SplitHostPort(endpoint)
	if err != nil {
		return nil, fmt.Errorf("read the address %q: %w", endpoint, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("read the port of %q: %w", endpoint, err)
	}
	found, err := lookUp(ctx, resolver, host)
	if err != nil {
		return nil, err
	}
	if len(found) > maxAddresses {
		return nil, fmt.Errorf("%w: %s leads to %d addresses, the limit is %d", errAddress, host, len(found), maxAddresses)
	}
	all := make([]netip.AddrPort, 0, len(found))
	for _, address := range found {
		// Resolvers answer IPv4 addresses mapped into IPv6 too.
		address = address.Unmap()
		if err := r.check(endpoint, host, address); err != nil {
			return nil, err
		}
		all = append(all, netip.AddrPortFrom(address, uint16(port)))
	}
	return all, nil
}

// lookUp resolves a host. No name server is asked about this machine.
func lookUp(ctx context.Context, resolver Resolver, host string) ([]netip.Addr, error) {
	if host == localhost {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	found, err := resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	return found, err
}

// dialer is the part of a net.Dialer that is used.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// dialAny connects to the first address that answers. Each has its share of the
// time that is left.
func dialAny(ctx context.Context, dial dialer, addresses []netip.AddrPort) (net.Conn, error) {
	var first error
	for i, address := range addresses {
		share, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok {
			share, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(addresses)-i))
		}
		conn, err := dial(share, "tcp", address.String())
		cancel()
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}
