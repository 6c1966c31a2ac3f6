package config

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/plinthhost/plinth/host/egress"
)

// Network is [network]: how everything that Plinth and its plugins ask for on the
// network gets there.
type Network struct {
	// Proxy is like "http://host:port", also https and socks5; empty for none.
	Proxy string
	// ProxySecret is a reference to "user:password"; empty for none.
	ProxySecret string
	// ProxyResolves hands names to the proxy instead of addresses.
	ProxyResolves bool
	// ProxyExcept are hosts reached without the proxy: names, addresses, and
	// ".domain" for all below it. Small letters.
	ProxyExcept []string
	// CAFiles are absolute paths of PEM files.
	CAFiles []string
	// Roots are the certificates in CAFiles, as PEM; nil for none.
	Roots []byte
	// Private are networks that fetches of plugins may lead into.
	Private []netip.Prefix
}

// networkTable is [network] as it is written. A nil field was not set.
type networkTable struct {
	Proxy         *string  `toml:"proxy"`
	ProxySecret   *string  `toml:"proxy_secret"`
	ProxyResolves *bool    `toml:"proxy_resolves"`
	ProxyExcept   []string `toml:"proxy_except"`
	CAFiles       []string `toml:"ca_files"`
	Private       []string `toml:"private"`
}

// maxCAFile bounds a file of certificates, in bytes.
const maxCAFile = 4 << 20

// unnamed are the networks that no name may lead into, whatever is configured: this
// machine's own, its neighbours' on the wire, and groups.
var unnamed = [...]string{
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4",
	"::/96", "fe80::/10", "ff00::/8",
}

// network takes the table over. Nothing else gives its settings.
func (l *loader) network(table networkTable) {
	n := &l.config.Network
	set(&n.Proxy, table.Proxy)
	set(&n.ProxySecret, table.ProxySecret)
	set(&n.ProxyResolves, table.ProxyResolves)
	l.proxy(table)
	for i, text := range table.ProxyExcept {
		host, ok := exception(text)
		if !ok {
			l.problem(join("network", "proxy_except", strconv.Itoa(i)), text, `must be a host's name or address, or ".domain" for all below it`)
		}
		n.ProxyExcept = append(n.ProxyExcept, host)
	}
	for i, text := range table.CAFiles {
		key := join("network", "ca_files", strconv.Itoa(i))
		path := l.absolute(key, text)
		n.CAFiles = append(n.CAFiles, path)
		if strings.HasPrefix(path, "/") {
			n.Roots = append(n.Roots, l.certificates(key, path)...)
		}
	}
	for i, text := range table.Private {
		prefix, err := parsePrivate(text)
		if err != nil {
			l.problem(join("network", "private", strconv.Itoa(i)), text, "%v", err)
			continue
		}
		n.Private = append(n.Private, prefix)
	}
}

// proxy checks the proxy and what is said of it.
func (l *loader) proxy(table networkTable) {
	n := l.config.Network
	if table.Proxy != nil {
		if _, err := egress.NewNetwork(egress.NetworkOptions{Proxy: &egress.Proxy{URL: n.Proxy}}); err != nil {
			l.problem(join("network", "proxy"), nil, "%v", err) // the value may hold a password
		}
	}
	l.reference(join("network", "proxy_secret"), n.ProxySecret)
	if table.Proxy != nil {
		return
	}
	for _, setting := range []struct {
		name  string
		given bool
	}{{"proxy_secret", table.ProxySecret != nil}, {"proxy_resolves", table.ProxyResolves != nil}, {"proxy_except", table.ProxyExcept != nil}} {
		if setting.given {
			l.problem(join("network", setting.name), nil, `has no use without a proxy; add one, like proxy = "http://proxy.example:3128", or remove it`)
		}
	}
}

// exception answers a host that the proxy is not for, as it is compared.
func exception(text string) (string, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.String(), true
	}
	return strings.ToLower(text), hostname.MatchString(strings.TrimPrefix(text, "."))
}

// certificates answers the certificates in a file, as PEM and nothing else.
func (l *loader) certificates(key, path string) []byte {
	data, err := readCAFile(path)
	if err != nil {
		l.problem(key, path, "%v", err)
		return nil
	}
	var found []byte
	for number := 1; ; {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			l.problem(key, path, "certificate %d in it cannot be read: %v", number, err)
			return nil
		}
		found = append(found, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		number++
	}
	if found == nil {
		l.problem(key, path, "holds no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----")
	}
	return found
}

// readCAFile reads a regular file of at most maxCAFile bytes.
func readCAFile(path string) ([]byte, error) {
	data, err := readFile(path, maxCAFile+1, "certificates in PEM form")
	if err == nil && len(data) > maxCAFile {
		return nil, fmt.Errorf("has more than %d MiB; name the certificates that are needed", maxCAFile>>20)
	}
	return data, err
}

// parsePrivate reads a network like "10.20.0.0/16", or an address for itself alone.
func parsePrivate(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if address, addressErr := netip.ParseAddr(text); addressErr == nil && address.Zone() == "" {
		prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
	}
	if err != nil {
		return netip.Prefix{}, errors.New(`must be a network like "10.20.0.0/16", or an address`)
	}
	if prefix.Masked() != prefix {
		return netip.Prefix{}, fmt.Errorf("has bits behind its length; write %s", prefix.Masked())
	}
	if prefix.Addr().Is4In6() {
		return netip.Prefix{}, errors.New("is IPv4 inside of IPv6; write it as IPv4")
	}
	for _, never := range unnamed {
		if prefix.Overlaps(netip.MustParsePrefix(never)) {
			return netip.Prefix{}, fmt.Errorf("must not hold any of %s, which no name may lead to", never)
		}
	}
	return prefix, nil
}
