package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plinthhost/plinth/tests/chat"
)

// tunnels is an HTTP proxy for one user that leads every tunnel to one server.
type tunnels struct {
	to, user string // "user:password"
	pumps    sync.WaitGroup

	mu    sync.Mutex
	asked []string
}

func (p *tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.pumps.Add(1)
	defer p.pumps.Done()
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.RequestURI)
	p.mu.Unlock()
	if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(p.user)) {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	_, _ = io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n")
	p.pumps.Go(func() { _, _ = io.Copy(far, near); far.Close() })
	_, _ = io.Copy(near, far)
}

func (p *tunnels) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

// authority makes a certificate for a name and an address that is its own authority.
func authority(t *testing.T, name, address string) (own tls.Certificate, encoded string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{name}, IPAddresses: []net.IP{net.ParseIP(address)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestProxyAndCertificates: a provider that only the proxy leads to, with a
// certificate that only the operator's file makes trusted.
func TestProxyAndCertificates(t *testing.T) {
	t.Parallel()
	const key, user = "the-key-of-the-model", "operator:the-password-of-the-proxy"
	model := answering(t, key, "through")
	certificate, encoded := authority(t, "model.test", "203.0.113.7")
	server := httptest.NewUnstartedServer(model)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are to fail
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := &tunnels{to: server.Listener.Addr().String(), user: user}
	address := front(t, proxy.ServeHTTP).URL
	t.Cleanup(proxy.pumps.Wait)

	w := newWorld(t)
	w.write("ca.pem", encoded)
	w.write("proxy", user)
	w.write("stranger", "operator:another-password")
	run := func(base, network string) (string, string, int) {
		w.write("config/plinth/config.toml", fmt.Sprintf("model = \"far/test\"\n[providers.far]\nplugin = \"core/openai\"\nbase_url = %q\nsecret = \"env:MODEL_KEY\"\n[runner]\nretry_attempts = 0\n[network]\n%s",
			base, network))
		return w.plinthWith([]string{"MODEL_KEY=" + key}, "run", "Hi")
	}
	proxied, trusted := fmt.Sprintf("proxy = %q\nproxy_secret = \"file:%s/proxy\"\n", address, w.folder), fmt.Sprintf("ca_files = [%q]\n", w.folder+"/ca.pem")
	for _, c := range []struct {
		name, base, network string
		says                string // of a failure
		asked               []string
	}{
		{"by name", "https://model.test/v1", proxied + "proxy_resolves = true\n" + trusted, "", []string{"CONNECT model.test:443"}},
		{"by address", "https://203.0.113.7/v1", proxied + trusted, "", []string{"CONNECT 203.0.113.7:443"}},
		{"not trusted", "https://203.0.113.7/v1", proxied, "the certificate of https://203.0.113.7 is not trusted", []string{"CONNECT 203.0.113.7:443"}},
		{"another user", "https://203.0.113.7/v1", strings.Replace(proxied, "/proxy\"\n", "/stranger\"\n", 1) + trusted, "it answers 407; is its secret right?", []string{"CONNECT 203.0.113.7:443"}},
		{"without the proxy", model.URL, proxied + trusted, "", nil}, // this machine
	} {
		out, notes, code := run(c.base, c.network)
		if c.says == "" && (code != 0 || !strings.Contains(out, "through")) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out, notes)
		}
		if c.says != "" && (code != 3 || !strings.Contains(notes, c.says)) {
			t.Errorf("%s: exit %d, want %q\n%s%s", c.name, code, c.says, out, notes)
		}
		if asked := proxy.taken(); !slices.Equal(asked, c.asked) {
			t.Errorf("%s: the proxy was asked for %q, want %q", c.name, asked, c.asked)
		}
		silent(t, out+notes, key, "the-password-of-the-proxy", "another-password")
	}
}

// TestTimeoutsOfAProvider: a server that goes silent is left after the configured time.
func TestTimeoutsOfAProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stuck, err := chat.Start(func(chat.Request) chat.Turn { return chat.Turn{Text: "never", Gate: make(chan struct{})} }, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stuck.Close() })
	mute := front(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	for _, c := range []struct{ key, base, says string }{
		{"first_byte_ms", mute.URL + "/v1", "did not begin to answer within 150ms"},
		{"idle_ms", stuck.URL, "sent nothing more for 150ms"},
		{"timeout_ms", stuck.URL, "took more than the 150ms it may take altogether"},
	} {
		w.write("config/plinth/config.toml", fmt.Sprintf("model = \"slow/test\"\n[providers.slow]\nplugin = \"core/openai\"\nbase_url = %q\n%s = 150\n", c.base, c.key))
		if out, notes, code := w.plinth("run", "Hi"); code != 3 || !strings.Contains(notes, c.says) || !strings.Contains(notes, "(transport,") {
			t.Errorf("%s: exit %d, want %q\n%s%s", c.key, code, c.says, out, notes)
		}
	}
}
