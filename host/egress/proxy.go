package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/secret"
)

// Proxy is the operator's way out. Every connection is a tunnel through it, plain
// HTTP too, so it must allow CONNECT to the ports in use.
type Proxy struct {
	// URL is http://host:port, https://host:port or socks5://host:port.
	URL string
	// Secret answers "user:password"; nil for none. Without TLS it is sent to the
	// proxy in the clear, as these protocols have it.
	Secret func(ctx context.Context) (secret.Value, error)
	// Names hands names to the proxy instead of vetted addresses, for networks that
	// resolve nothing themselves. The proxy must then keep requests out of private
	// networks.
	Names bool
	// Except are hosts reached without the proxy: "host" itself, or ".domain" for
	// all below it. This machine never goes through the proxy.
	Except []string
}

const (
	proxySOCKS = "socks5"
	// maxProxyReply bounds the header of an answer to CONNECT, in bytes.
	maxProxyReply = 16 << 10
)

type proxy struct {
	options  Proxy
	network  *Network
	scheme   string
	endpoint string // host:port
	host     string
	scrubber *secret.Scrubber
}

func newProxy(options Proxy, n *Network, scrubber *secret.Scrubber) (*proxy, error) {
	fail := func() error {
		return policyError("the proxy must be like http://host:port, https://host:port or socks5://host:port, without a user name; give that by a secret")
	}
	parsed, err := url.Parse(options.URL)
	if err != nil || !slices.Contains([]string{"http", "https", proxySOCKS}, parsed.Scheme) {
		return nil, fail()
	}
	if parsed.User != nil || strings.Trim(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return nil, fail()
	}
	port := map[string]string{"http": "8080", "https": "443", proxySOCKS: "1080"}[parsed.Scheme]
	if parsed.Port() == "" {
		parsed.Host += ":" + port
	}
	origin, err := parseAuthority("http", parsed.Host)
	if err != nil {
		return nil, err
	}
	if scrubber == nil {
		scrubber = &secret.Scrubber{}
	}
	endpoint := net.JoinHostPort(origin.Host, strconv.Itoa(int(origin.Port)))
	return &proxy{options: options, network: n, scheme: parsed.Scheme, endpoint: endpoint, host: origin.Host, scrubber: scrubber}, nil
}

// takes reports whether connections to the endpoint go through the proxy.
func (p *proxy) takes(endpoint string) bool {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil || host == localhost {
		return false
	}
	if address, err := netip.ParseAddr(host); err == nil && address.IsLoopback() {
		return false
	}
	return !slices.ContainsFunc(p.options.Except, func(except string) bool {
		except = strings.ToLower(except)
		return host == except || strings.HasPrefix(except, ".") && strings.HasSuffix(host, except)
	})
}

// connect opens a tunnel to the endpoint. What the proxy is told is an address
// that was vetted here, unless it resolves the names.
func (p *proxy) connect(ctx context.Context, r reach, endpoint string) (net.Conn, error) {
	targets := []string{endpoint}
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return nil, fmt.Errorf("read the address %q: %w", endpoint, err)
	}
	if _, err := netip.ParseAddr(host); err == nil || !p.options.Names {
		addresses, err := r.addresses(ctx, p.network.resolver, endpoint)
		if err != nil {
			return nil, err
		}
		targets = targets[:0]
		for _, address := range addresses {
			targets = append(targets, address.String())
		}
	}
	for _, target := range targets {
		var conn net.Conn
		if conn, err = p.tunnel(ctx, target); err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// errProxy: the proxy did not open the tunnel.
var errProxy = errors.New("the proxy did not open a tunnel")

func (p *proxy) tunnel(ctx context.Context, target string) (net.Conn, error) {
	user, password, err := p.credentials(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := p.network.connect(ctx, reach{operator: true, literals: []string{p.endpoint}, network: p.network.private}, p.endpoint)
	if err != nil {
		return nil, fmt.Errorf("%w: no connection to it at %s: %w", errProxy, p.endpoint, err)
	}
	// The handshake ends with ctx; a deadline in the past wakes whoever waits.
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	conn := raw
	if p.scheme == "https" {
		conn = tls.Client(raw, &tls.Config{ServerName: p.host, RootCAs: p.network.roots, MinVersion: tls.VersionTLS12})
	}
	if p.scheme == proxySOCKS {
		err = socksConnect(conn, target, user, password)
	} else {
		err = httpConnect(conn, target, user, password)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%w to %s: %w", errProxy, target, err)
	}
	return conn, nil
}

func (p *proxy) credentials(ctx context.Context) (user, password string, err error) {
	if p.options.Secret == nil {
		return "", "", nil
	}
	value, err := p.options.Secret(ctx)
	if err != nil {
		return "", "", fmt.Errorf("%w: its secret is not there: %w", errProxy, err)
	}
	user, password, found := strings.Cut(value.Reveal(), ":")
	if !found || user == "" || len(user) > 255 || len(password) > 255 {
		return "", "", fmt.Errorf("%w: its secret must be user:password, each up to 255 bytes", errProxy)
	}
	p.scrubber.Add(value)
	p.scrubber.Add(secret.NewValue(password))
	return user, password, nil
}

// httpConnect asks an HTTP proxy for a tunnel.
func httpConnect(conn net.Conn, target, user, password string) error {
	request := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n"
	if user != "" {
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return err
	}
	limited := &io.LimitedReader{R: conn, N: maxProxyReply}
	reader := bufio.NewReader(limited)
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	switch {
	case limited.N <= 0:
		return fmt.Errorf("its answer has more than %d bytes", maxProxyReply)
	case err != nil:
		return fmt.Errorf("its answer is not HTTP: %w", err)
	case answer.StatusCode == http.StatusProxyAuthRequired:
		return errors.New("it answers 407; is its secret right?")
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("it answers %d", answer.StatusCode)
	case reader.Buffered() > 0:
		return errors.New("it speaks before it is asked")
	}
	return nil
}
