package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plinthhost/plinth/cmd/host/config"
)

// certificate answers a certificate and its key, as PEM.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

func TestNetwork(t *testing.T) {
	dir, environ := home(t, `
[network]
proxy = "http://proxy.example:3128"
proxy_secret = "env:PLINTH_PROXY"
proxy_resolves = true
proxy_except = ["Git.example", ".corp.example", "2001:DB8::1"]
ca_files = ["~/a.pem", "~/b.pem"]
private = ["10.20.0.0/16", "fd00::/8", "192.168.1.7"]
`)
	first, key := certificate(t)
	second, _ := certificate(t)
	for name, data := range map[string][]byte{
		"a.pem": append([]byte("a comment\n"), first[:len(first)-1]...), // without the last newline
		"b.pem": append(append([]byte{}, key...), second...),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := config.Load(config.Sources{Environ: append(environ, "PLINTH_PROXY=u:p")})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Network{
		Proxy: "http://proxy.example:3128", ProxySecret: "env:PLINTH_PROXY", ProxyResolves: true,
		ProxyExcept: []string{"git.example", ".corp.example", "2001:db8::1"},
		CAFiles:     []string{filepath.Join(dir, "a.pem"), filepath.Join(dir, "b.pem")},
		Roots:       append(append([]byte{}, first...), second...), // and no key
		Private:     []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("192.168.1.7/32")},
	}
	if diff := cmp.Diff(want, got.Network, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
}

// TestProblemsOfTheNetwork gives one bad value each. HOME stands for the home.
func TestProblemsOfTheNetwork(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"unknown":         {`porxy = ""`, "FILE:2: network.porxy: unknown key; known here: proxy, proxy_secret, proxy_resolves, proxy_except, ca_files, private"},
		"kind":            {`proxy = true`, "FILE:2: network.proxy: must be a string in quotes"},
		"kind of resolve": {`proxy_resolves = "yes"`, "FILE:2: network.proxy_resolves: must be true or false"},
		"proxy":           {`proxy = "proxy.example:3128"`, "FILE:2: network.proxy: the proxy must be like http://host:port"},
		"proxy empty":     {`proxy = ""`, "FILE:2: network.proxy: the proxy must be like http://host:port"},
		"proxy password":  {`proxy = "http://me:hush@proxy.example"`, "FILE:2: network.proxy: the proxy must be like http://host:port"},
		"proxy port":      {`proxy = "http://proxy.example:0"`, "FILE:2: network.proxy: the port in"},
		"secret":          {"proxy = \"http://p\"\nproxy_secret = \"me:hush\"", "FILE:3: network.proxy_secret: a secret is given as a reference"},
		"secret alone":    {`proxy_secret = "env:P"`, "FILE:2: network.proxy_secret: has no use without a proxy; add one, like proxy ="},
		"resolves alone":  {`proxy_resolves = false`, "FILE:2: network.proxy_resolves: has no use without a proxy"},
		"except alone":    {`proxy_except = ["a"]`, "FILE:2: network.proxy_except: has no use without a proxy"},
		"except":          {"proxy = \"http://p\"\nproxy_except = [\"a.example\", \"*.b.example\"]", `FILE:3: network.proxy_except.1 = "*.b.example": must be a host's name or address, or ".domain"`},
		"CA relative":     {`ca_files = ["ca.pem"]`, `FILE:2: network.ca_files.0 = "ca.pem": must be an absolute path`},
		"CA missing":      {`ca_files = ["/nowhere/ca.pem"]`, `FILE:2: network.ca_files.0 = "/nowhere/ca.pem": cannot be read: no such file`},
		"CA folder":       {`ca_files = ["~/"]`, `FILE:2: network.ca_files.0 = "HOME": is not a regular file`},
		"CA empty":        {`ca_files = ["~/.config/plinth/config.toml"]`, `FILE:2: network.ca_files.0 = "FILE": holds no certificate in PEM form`},
		"CA broken":       {`ca_files = ["~/broken.pem"]`, `FILE:2: network.ca_files.0 = "HOME/broken.pem": certificate 2 in it cannot be read: x509`},
		"CA large":        {`ca_files = ["~/large.pem"]`, `FILE:2: network.ca_files.0 = "HOME/large.pem": has more than 4 MiB`},
		"private origin":  {`private = ["http://10.0.0.1"]`, `FILE:2: network.private.0 = "http://10.0.0.1": must be a network like "10.20.0.0/16"`},
		"private zone":    {`private = ["fe80::1%eth0"]`, `FILE:2: network.private.0 = "fe80::1%eth0": must be a network like`},
		"private bits":    {`private = ["10.0.0.0/8", "10.1.2.3/8"]`, `FILE:2: network.private.1 = "10.1.2.3/8": has bits behind its length; write 10.0.0.0/8`},
		"private all":     {`private = ["0.0.0.0/0"]`, `FILE:2: network.private.0 = "0.0.0.0/0": must not hold any of 0.0.0.0/8`},
		"private itself":  {`private = ["127.0.0.1"]`, `FILE:2: network.private.0 = "127.0.0.1": must not hold any of 127.0.0.0/8`},
		"private cloud":   {`private = ["169.254.169.254"]`, `FILE:2: network.private.0 = "169.254.169.254": must not hold any of 169.254.0.0/16`},
		"private all 6":   {`private = ["::/0"]`, `FILE:2: network.private.0 = "::/0": must not hold any of ::/96`},
		"private mapped":  {`private = ["::ffff:10.0.0.0/104"]`, `FILE:2: network.private.0 = "::ffff:10.0.0.0/104": is IPv4 inside of IPv6`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, environ := home(t, "[network]\n"+test.text)
			good, _ := certificate(t)
			for file, data := range map[string]string{
				"broken.pem": string(good) + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
				"large.pem":  string(good) + strings.Repeat("#", 4<<20),
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := config.Load(config.Sources{Environ: environ})
			var e *config.Error
			if !errors.As(err, &e) || len(e.Problems) != 1 {
				t.Fatalf("want one problem: %v", err)
			}
			want := strings.NewReplacer("FILE", filepath.Join(dir, ".config/plinth/config.toml"), "HOME", dir).Replace(test.want)
			if !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}
