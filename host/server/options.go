package server

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Options say where and how to serve. At least one of Listen and Socket is set.
type Options struct {
	// Listen is the TCP address, "127.0.0.1:4747"; port 0 takes a free one.
	Listen string
	// AllowRemote permits an address that is not loopback. The server does not
	// speak TLS: tokens and transcripts then cross the network readable to all who
	// carry it, so a proxy with TLS belongs in front.
	AllowRemote bool
	// Socket is the path of the unix socket. It is made 0600, in a folder that must
	// be ours and 0700 and is made when missing.
	Socket string
	// AllowedHosts are the names, without port, that requests may address beside
	// the loopback names. AllowedOrigins are pages, "https://host[:port]", that may
	// call beside those of the server itself.
	AllowedHosts   []string
	AllowedOrigins []string
	Version        string
	Logger         hclog.Logger

	// Heartbeat is the time between pings: 20 s when 0.
	Heartbeat time.Duration
	// HelloTimeout is how long a connection may wait with its hello: 5 s when 0.
	HelloTimeout time.Duration
	// WriteTimeout ends a connection that takes nothing for so long: 60 s when 0.
	WriteTimeout time.Duration
	// DrainTimeout is how long Close waits for requests in flight: 5 s when 0.
	DrainTimeout time.Duration
	// MaxLive bounds the live connections and event streams: 4096 when 0.
	MaxLive int
}

// Limits of one live connection.
const (
	maxInflight = 64
	maxSubs     = 64
)

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.Heartbeat, 20*time.Second)
	set(&o.HelloTimeout, 5*time.Second)
	set(&o.WriteTimeout, 60*time.Second)
	set(&o.DrainTimeout, 5*time.Second)
	if o.MaxLive == 0 {
		o.MaxLive = 4096
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	return o
}

// check refuses options that cannot be served safely.
func (o Options) check() error {
	if o.Listen == "" && o.Socket == "" {
		return fmt.Errorf("neither a TCP address nor a unix socket is given to listen on")
	}
	if o.Listen != "" {
		if err := checkListen(o.Listen, o.AllowRemote); err != nil {
			return err
		}
	}
	for _, origin := range o.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return fmt.Errorf("allowed origin %q: write it as scheme://host or scheme://host:port", origin)
		}
	}
	return nil
}

func checkListen(address string, allowRemote bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: write it as host:port, such as 127.0.0.1:4747", address)
	}
	if allowRemote || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("listen address %q can be reached from other machines, and without TLS tokens and transcripts "+
		"would cross the network readable; listen on 127.0.0.1, or allow remote access explicitly and put a proxy with TLS in front", address)
}

// isLoopback tells whether the name or address is this machine's own.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
