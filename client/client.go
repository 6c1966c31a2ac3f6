package client

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
)

// Options say which host to talk to.
type Options struct {
	// Address is "unix:/path/of/cli.sock", "http://127.0.0.1:4747" or an https URL.
	Address string
	// Token goes with every request of an http or https address.
	Token string
	// Insecure permits to send the token over plain HTTP to another machine.
	Insecure bool
	// Name and Version tell the host what program this is.
	Name, Version string
	// Backoff spaces attempts; the zero value is 250 ms, doubling up to 30 s.
	Backoff Backoff
}

// Client talks to one host. It may be used by many goroutines.
type Client struct {
	options Options
	base    string // "http://host:port", without a slash at the end
	http    *http.Client
	dialer  websocket.Dialer
	ids     IDs
}

// Dial makes a client and makes sure that the host answers. Errors: a
// *protocol.Error with the code unavailable when it does not, bad_request for an
// address that is none.
func Dial(ctx context.Context, options Options) (*Client, error) {
	c, err := newClient(options)
	if err != nil {
		return nil, err
	}
	var health protocol.Health
	if err := c.attempt(ctx, request{method: http.MethodGet, path: "/healthz"}, &health); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func newClient(options Options) (*Client, error) {
	options.Backoff = options.Backoff.withDefaults()
	c := &Client{options: options}
	transport := &http.Transport{
		MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	c.dialer = websocket.Dialer{
		Subprotocols: []string{protocol.Subprotocol}, HandshakeTimeout: 10 * time.Second,
		ReadBufferSize: 16 << 10, WriteBufferSize: 4 << 10,
	}
	if path, ok := strings.CutPrefix(options.Address, "unix:"); ok {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
		}
		c.base, transport.DialContext, c.dialer.NetDialContext = "http://localhost", dial, dial
	} else {
		if err := checkURL(options); err != nil {
			return nil, err
		}
		dialer := &net.Dialer{Timeout: 10 * time.Second}
		c.base, transport.DialContext, c.dialer.NetDialContext = strings.TrimSuffix(options.Address, "/"), dialer.DialContext, dialer.DialContext
	}
	c.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// checkURL refuses addresses a token must not go to.
func checkURL(options Options) error {
	u, err := url.Parse(options.Address)
	if err == nil {
		options.Address = u.Redacted() // it may stand in an error
	}
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.TrimSuffix(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" {
		return protocol.Errorf(protocol.BadRequest, "the host's address %q is none; write it as unix:/path, http://host:port or https://host", options.Address)
	}
	if u.Scheme == "http" && options.Token != "" && !options.Insecure && !isLoopback(u.Hostname()) {
		return protocol.Errorf(protocol.BadRequest, "to %q the token would cross the network readable; use https, or allow it explicitly", options.Address)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}

// NewMessageID makes an id for a prompt.
func (c *Client) NewMessageID() string { return c.ids.Message() }

// Close gives up idle connections. Safe twice.
func (c *Client) Close() { c.http.CloseIdleConnections() }
