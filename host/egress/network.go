package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/plinthhost/plinth/host/secret"
)

// NetworkOptions are the operator's network. Nothing of it is read from the
// environment, but for the place of the system's certificates, which Go lets
// SSL_CERT_FILE and SSL_CERT_DIR name.
type NetworkOptions struct {
	// Resolver answers the addresses of names; nil is the system's.
	Resolver Resolver
	// Dial connects to an address that has been vetted; nil connects directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Private are the addresses of the operator's own network that the names of
	// granted origins may lead to, metadata excepted. None by default.
	Private []netip.Prefix
	// Proxy is used for all but this machine and what it excepts; nil for none.
	Proxy *Proxy
	// Roots are PEM certificates trusted beside the system's.
	Roots []byte
	// Scrubber is told the proxy's secret; nil for none.
	Scrubber *secret.Scrubber
}

// Network makes connections. It holds none, and is safe for use by several
// goroutines.
type Network struct {
	resolver Resolver
	dial     dialer
	private  []netip.Prefix
	proxy    *proxy
	roots    *x509.CertPool
}

// NewNetwork checks the options.
func NewNetwork(options NetworkOptions) (*Network, error) {
	n := &Network{resolver: options.Resolver, dial: options.Dial, private: slices.Clone(options.Private)}
	if n.resolver == nil {
		n.resolver = net.DefaultResolver
	}
	if n.dial == nil {
		n.dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	if len(options.Roots) > 0 {
		var err error
		if n.roots, err = x509.SystemCertPool(); err != nil {
			return nil, fmt.Errorf("read the system's certificates: %w", err)
		}
		if !n.roots.AppendCertsFromPEM(options.Roots) {
			return nil, errors.New("the extra certificates hold no certificate in PEM form")
		}
	}
	if options.Proxy != nil {
		var err error
		if n.proxy, err = newProxy(*options.Proxy, n, options.Scrubber); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// transport makes a pool of connections to what r reaches. Every connection is to
// an address that was vetted for it.
func (n *Network) transport(r reach, timeouts Timeouts, limits Limits) *http.Transport {
	connect := func(ctx context.Context, _, endpoint string) (net.Conn, error) {
		if n.proxy != nil && n.proxy.takes(endpoint) {
			return n.proxy.connect(ctx, r, endpoint)
		}
		return n.connect(ctx, r, endpoint)
	}
	return &http.Transport{
		DialContext:            boundDial(connect, timeouts.Connect),
		TLSClientConfig:        &tls.Config{RootCAs: n.roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    timeouts.Connect,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // bounded here, not there
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: limits.HeaderBytes,
		ReadBufferSize:         readSize,
	}
}

func (n *Network) connect(ctx context.Context, r reach, endpoint string) (net.Conn, error) {
	addresses, err := r.addresses(ctx, n.resolver, endpoint)
	if err != nil {
		return nil, err
	}
	return dialAny(ctx, n.dial, addresses)
}

// boundDial gives a connection, with the lookup of its name, so much time.
func boundDial(dial dialer, timeout time.Duration) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, errConnect)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil && errors.Is(context.Cause(ctx), errConnect) {
			if _, ok := errors.AsType[*net.DNSError](err); !ok {
				return nil, errConnect
			}
		}
		return conn, err
	}
}
