package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is an internet of one public server and a machine with one private one,
// which must never be reached. The addresses of both are mapped to real listeners.
type world struct {
	outer, inner *httptest.Server
	touched      atomic.Int32
	mu           sync.Mutex
	dialled      []string
}

const outerAddress = "93.184.216.34"

// newWorld serves outer to everybody who dials its address at port 80.
func newWorld(t *testing.T, outer http.HandlerFunc) *world {
	t.Helper()
	w := &world{outer: serve(t, outer)}
	w.inner = serve(t, func(http.ResponseWriter, *http.Request) { w.touched.Add(1) })
	return w
}

// port is that of the private server, for URLs that name it.
func (w *world) port() string {
	_, port, _ := net.SplitHostPort(w.inner.Listener.Addr().String())
	return port
}

// dial leads every public address to the public server and every other to the
// private one, as if all of them were routed.
func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, address)
	w.mu.Unlock()
	to := w.inner
	if classOf(netip.MustParseAddrPort(address).Addr()) == classPublic {
		to = w.outer
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.Listener.Addr().String())
}

// fetcher makes one for the world with a resolver and grants of everything at the
// origins.
func (w *world) fetcher(t *testing.T, resolver Resolver, options FetcherOptions, origins ...string) *Fetcher {
	t.Helper()
	policy, err := NewPolicy(Grant{Origins: origins, Methods: methods[:], Paths: []string{"/**"}})
	if err != nil {
		t.Fatal(err)
	}
	options.Policy, options.Network = policy, network(t, NetworkOptions{Resolver: resolver, Dial: w.dial})
	f, err := NewFetcher(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestAddressTricks: none gets out, each with its error. The proxies are those of
// the environment, which nobody asks.
func TestAddressTricks(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	})
	many := strings.TrimSpace(strings.Repeat(outerAddress+" ", 33))
	resolver := names{"api.example": outerAddress}
	origins := []string{"http://api.example", "https://api.example"}
	for i, address := range []string{
		"127.0.0.1", "127.9.9.9", "10.0.0.5", "172.16.0.1", "192.168.1.1", "169.254.1.1", "169.254.169.254", "169.254.170.2",
		"100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "0.0.0.0", "255.255.255.255", "224.0.0.1", "198.18.0.1", "192.0.2.1",
		"::1", "::", "fc00::1", "fd00:ec2::254", "fe80::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.5",
		"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
		outerAddress + " 127.0.0.1", "::1 " + outerAddress, many, "",
	} {
		name := fmt.Sprintf("inner%d.example", i)
		resolver[name] = address
		origins = append(origins, "http://"+name)
	}
	f := w.fetcher(t, resolver, FetcherOptions{Limits: Limits{Burst: 1000}}, origins...)
	port := w.port()
	leads := func(class class) string { return "leads to %s (" + string(class) + ")" }

	type trick struct {
		url, want string
		kind      Kind // of the error; "" for KindPolicy
	}
	tricks := []trick{
		// One URL that two readers read in two ways.
		{"https://api.example@127.0.0.1/", "must not hold a user name", ""},
		{"http://user:pw@api.example/", "must not hold a user name", ""},
		{"http://api.example:80@127.0.0.1:" + port + "/", "must not hold a user name", ""},
		{`http://api.example\@127.0.0.1/`, "no backslash", ""},
		{`http:\\127.0.0.1\`, "no backslash", ""},
		{"http://127.0.0.1#@api.example/", "no fragment", ""},
		{"http://127.0.0.1:" + port + "?@api.example/", "http://127.0.0.1:" + port + " is not granted", ""},
		{"http://api.example\t.evil.example/", "no control character", ""},
		{"http://api.example\r\nHost: 127.0.0.1/", "no control character", ""},
		{"http://api.example\x00.evil.example/", "no control character", ""},
		{"http://api.example .evil.example/", "characters that no name has", ""},
		{"http://api.example\xff/", "not valid UTF-8", ""},
		// Ways to write an address.
		{"http://127.0.0.1:" + port + "/", "is not granted", ""},
		{"http://2130706433/", "address in an unusual form", ""},
		{"http://0177.0.0.1/", "address in an unusual form", ""},
		{"http://0x7f.0.0.1/", "address in an unusual form", ""},
		{"http://0x7F000001/", "address in an unusual form", ""},
		{"http://127.1/", "address in an unusual form", ""},
		{"http://127.0.0.01/", "address in an unusual form", ""},
		{"http://0/", "address in an unusual form", ""},
		{"http://0x/", "address in an unusual form", ""},
		{"http://1.2.3.4.5/", "address in an unusual form", ""},
		{"http://256.0.0.1/", "address in an unusual form", ""},
		{"http://%31%32%37.0.0.1/", "must not be percent-encoded", ""},
		{"http://１２７.０.０.１:" + port + "/", "http://127.0.0.1:" + port + " is not granted", ""},
		{"http://127。0。0。1/", "http://127.0.0.1 is not granted", ""},
		{"http://[::1]:" + port + "/", "is not granted", ""},
		{"http://[::ffff:127.0.0.1]/", "stands for an IPv4 address (127.0.0.1)", ""},
		{"http://[::ffff:7f00:1]/", "stands for an IPv4 address (127.0.0.1)", ""},
		{"http://[::127.0.0.1]/", "stands for an IPv4 address (127.0.0.1)", ""},
		{"http://[64:ff9b::7f00:1]/", "stands for an IPv4 address (127.0.0.1)", ""},
		{"http://[2002:7f00:1::]/", "stands for an IPv4 address (127.0.0.1)", ""},
		{"http://[2001:0:1:2:3:4:80ff:fffe]/", "stands for an IPv4 address (127.0.0.1)", ""},
		{"http://[fe80::1%25lo]/", "must have no zone", ""},
		{"http://[fe80::1%lo]/", "must have no zone", ""},
		{"http://[127.0.0.1]/", "is not an IPv6 address", ""},
		{"http://[::1/", "no closing bracket", ""},
		{"http://[::]/", "is not granted", ""},
		// Names that look like the granted one.
		{"http://api.example./", "must not end with a dot", ""},
		{"http://127.0.0.1./", "must not end with a dot", ""},
		{"http://аpi.example/", "http://xn--pi-6kc.example is not granted", ""},
		{"http://api.example.evil.example/", "is not granted", ""},
		{"http://evil-api.example/", "is not granted", ""},
		{"http://.api.example/", "is not a valid name", ""},
		{"http://api..example/", "is not a valid name", ""},
		{"http://xn--a.example/", "is not a valid name", ""},
		{"http://" + strings.Repeat("a", 64) + ".example/", "is not a valid name", ""},
		{"http://localhost:" + port + "/", "http://localhost:" + port + " is not granted", ""},
		{"http:///", "there is no host", ""},
		// Ports.
		{"http://api.example:" + port + "/", "is not granted", ""},
		{"http://api.example:0/", "a number from 1 to 65535", ""},
		{"http://api.example:65616/", "a number from 1 to 65535", ""},
		{"http://api.example:+80/", "a number from 1 to 65535", ""},
		{"http://api.example:080/", "a number from 1 to 65535", ""},
		{"http://api.example:/", "a number from 1 to 65535", ""},
		{"http://api.example:80:80/", "a number from 1 to 65535", ""},
		// Other ways out.
		{"file:///etc/passwd", "must begin with https://", ""},
		{"gopher://127.0.0.1/_x", "must begin with https://", ""},
		{"ftp://api.example/", "must begin with https://", ""},
		{"//api.example/", "must begin with https://", ""},
		{"http:api.example", "must begin with https://", ""},
		{"http:/api.example/", "must begin with https://", ""},
		{"unix:///run/x.sock", "must begin with https://", ""},
		{"", "must begin with https://", ""},
		{"http://api.example/" + strings.Repeat("a", maxURL), "the limit is 8192", KindLimit},
		// Names that lead inside.
		{"http://inner0.example/", leads(classLoopback), ""}, {"http://inner1.example/", leads(classLoopback), ""},
		{"http://inner2.example/", leads(classPrivate), ""}, {"http://inner3.example/", leads(classPrivate), ""}, {"http://inner4.example/", leads(classPrivate), ""},
		{"http://inner5.example/", leads(classLinkLocal), ""}, {"http://inner6.example/", leads(classMetadata), ""}, {"http://inner7.example/", leads(classMetadata), ""},
		{"http://inner8.example/", leads(classCarrier), ""}, {"http://inner9.example/", leads(classMetadata), ""}, {"http://inner10.example/", leads(classMetadata), ""},
		{"http://inner11.example/", leads(classMetadata), ""}, {"http://inner12.example/", leads(classReserved), ""}, {"http://inner13.example/", leads(classReserved), ""},
		{"http://inner14.example/", leads(classMulticast), ""}, {"http://inner15.example/", leads(classBenchmark), ""}, {"http://inner16.example/", leads(classExample), ""},
		{"http://inner17.example/", leads(classLoopback), ""}, {"http://inner18.example/", leads(classReserved), ""}, {"http://inner19.example/", leads(classPrivate), ""},
		{"http://inner20.example/", leads(classMetadata), ""}, {"http://inner21.example/", leads(classLinkLocal), ""}, {"http://inner22.example/", leads(classMulticast), ""},
		{"http://inner23.example/", leads(classExample), ""}, {"http://inner24.example/", leads(classLoopback), ""}, {"http://inner25.example/", leads(classPrivate), ""},
		{"http://inner26.example/", leads(classEmbedded), ""}, {"http://inner27.example/", leads(classEmbedded), ""}, {"http://inner28.example/", leads(classEmbedded), ""},
		{"http://inner29.example/", leads(classEmbedded), ""}, {"http://inner30.example/", leads(classEmbedded), ""},
		{"http://inner31.example/", leads(classLoopback), ""}, {"http://inner32.example/", leads(classLoopback), ""}, // one good address does not help
		{"http://inner33.example/", "leads to 33 addresses, the limit is 32", ""},
		{"http://inner34.example/", "is not known", KindDNS},
	}
	for _, to := range []trick{
		{"http://127.0.0.1:" + port + "/", "is not granted", ""},
		{"http://[::ffff:127.0.0.1]/", "stands for an IPv4 address", ""},
		{"http://0x7f.1/", "address in an unusual form", ""},
		{"http://2130706433/", "address in an unusual form", ""},
		{"http://169.254.169.254/latest/meta-data/", "http://169.254.169.254 is not granted", ""},
		{"http://inner6.example/", leads(classMetadata), ""},
		{"http://metadata.google.internal/", "is not granted", ""},
		{"http://localhost:" + port + "/", "is not granted", ""},
		{"//127.0.0.1:" + port + "/", "is not granted", ""},
		{`/\127.0.0.1/`, "no backslash", ""},
		{"http://api.example@127.0.0.1/", "must not hold a user name", ""},
		{"file:///etc/passwd", "must begin with https://", ""},
		{"javascript:alert(1)", "must begin with https://", ""},
		{"http://api.example./", "must not end with a dot", ""},
		{"/a/..%2f..%2fb", "must not hide", ""},
		{"http://%zz/", "is no URL", ""},
	} {
		tricks = append(tricks, trick{"http://api.example/?to=" + strings.NewReplacer("%", "%25", "#", "%23", "&", "%26", `\`, "%5C").Replace(to.url), to.want, to.kind})
	}
	for _, trick := range tricks {
		fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: trick.url})
		if err == nil {
			t.Errorf("%q: answered by %s", trick.url, fetched.URL)
			continue
		}
		kind := trick.kind
		if kind == "" {
			kind = KindPolicy
		}
		e, ok := errors.AsType[*Error](err)
		if want, rest, _ := strings.Cut(trick.want, "%s"); !ok || e.Kind != kind || !strings.Contains(e.Text, want) || !strings.Contains(e.Text, rest) {
			t.Errorf("%q: %v, want %s: %q", trick.url, err, kind, trick.want)
		}
	}
	if n := w.touched.Load(); n > 0 {
		t.Errorf("%d requests came through", n)
	}
	for _, address := range w.dialled {
		if address != outerAddress+":80" {
			t.Errorf("%s was dialled", address)
		}
	}
	if fetched, err := f.Do(t.Context(), Fetch{Method: "GET", URL: "http://api.example/"}); err != nil || fetched.Status != http.StatusOK {
		t.Errorf("the granted URL: %v", err)
	}
}

// TestRebinding: the name answers a public address first and a private one then.
// A kept connection stays with the first; a new one is refused.
func TestRebinding(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", r.URL.Query().Get("then")) })
	resolver := names{"rebind.example": outerAddress + "|" + outerAddress + "|127.0.0.1", "flip.example": "127.0.0.1|" + outerAddress}
	f := w.fetcher(t, resolver, FetcherOptions{}, "http://rebind.example", "http://flip.example")
	for i, test := range []struct{ url, want string }{
		{"http://rebind.example/", ""},
		{"http://rebind.example/?then=close", ""}, // over the first connection
		{"http://rebind.example/?then=close", ""}, // the second answer
		{"http://rebind.example/", "leads to 127.0.0.1 (loopback)"},
		{"http://flip.example/", "leads to 127.0.0.1 (loopback)"},
		{"http://flip.example/", ""},
	} {
		_, err := f.Do(t.Context(), Fetch{Method: "GET", URL: test.url})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%d %s: %v, want %q", i, test.url, err, test.want)
		}
	}
	if n := w.touched.Load(); n > 0 {
		t.Errorf("%d requests came through", n)
	}
	if diff := cmp.Diff([]string{outerAddress + ":80", outerAddress + ":80", outerAddress + ":80"}, w.dialled); diff != "" {
		t.Error(diff)
	}
}

// TestGrantedAddresses: what is granted by name of the address is reached, at that
// port, and names may lead where the operator's network is.
func TestGrantedAddresses(t *testing.T) {
	w := newWorld(t, func(http.ResponseWriter, *http.Request) {})
	port := w.port()
	resolver := names{"wiki.example": "10.1.2.3", "other.example": "10.2.0.1", "imds.example": "169.254.169.254", "near.example": "169.254.1.5", "nat64.example": "64:ff9b::a01:203"}
	policy, err := NewPolicy(Grant{
		Origins: []string{"http://127.0.0.1:" + port, "http://localhost:" + port, "http://[::1]:" + port, "http://192.168.1.1", "http://169.254.169.254", "http://wiki.example", "http://other.example",
			"http://imds.example", "http://near.example", "http://nat64.example"},
		Methods: []string{"GET"}, Paths: []string{"/**"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFetcher(FetcherOptions{Policy: policy, Network: network(t, NetworkOptions{
		Resolver: resolver, Dial: w.dial, Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("::/0")},
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for url, want := range map[string]string{
		"http://127.0.0.1:" + port + "/":  "",
		"http://localhost:" + port + "/":  "",
		"http://[::1]:" + port + "/":      "",
		"http://192.168.1.1/":             "",
		"http://169.254.169.254/latest/":  "",
		"http://wiki.example/":            "",
		"http://other.example/":           "other.example leads to 10.2.0.1 (private)",
		"http://near.example/":            "",
		"http://imds.example/":            "imds.example leads to 169.254.169.254 (cloud metadata)",
		"http://nat64.example/":           "(IPv4 inside IPv6)",
		"http://127.0.0.2:" + port + "/":  "is not granted",
		"http://192.168.1.1:" + port + "": "is not granted",
	} {
		_, err := f.Do(t.Context(), Fetch{Method: "GET", URL: url})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// TestOperatorsAddresses: a base URL may lead into private networks, but not to
// where no provider is.
func TestOperatorsAddresses(t *testing.T) {
	w := newWorld(t, func(http.ResponseWriter, *http.Request) {})
	resolver := names{"models.lan": "192.168.1.9", "mybox": "127.0.1.1", "cgnat.lan": "100.64.0.9", "public.example": outerAddress, "meta.example": "169.254.169.254", "mapped.example": "64:ff9b::7f00:1", "any.example": "0.0.0.0"}
	for base, want := range map[string]string{
		"http://models.lan:8080/v1": "", "http://mybox:1": "", "http://cgnat.lan": "", "http://public.example": "", "http://10.0.0.1": "", "http://169.254.1.1": "",
		"http://meta.example":   "meta.example leads to 169.254.169.254 (cloud metadata)",
		"http://mapped.example": "(IPv4 inside IPv6)",
		"http://any.example":    "(reserved)",
	} {
		client := connect(t, Options{BaseURL: base, Network: network(t, NetworkOptions{Resolver: resolver, Dial: w.dial})})
		response, err := client.Do(t.Context(), Request{Method: "GET"})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", base, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", base, err)
			continue
		}
		response.Body.Close()
	}
}
