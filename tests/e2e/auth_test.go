package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/tests/chat"
)

// answering is a Chat Completions server that wants a key and says one thing.
func answering(t *testing.T, key, text string) *chat.Server {
	t.Helper()
	server, err := chat.Start(chat.Say(text), chat.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// front starts an HTTP server on this machine.
func front(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server
}

// silent fails where a text shows one of the secrets.
func silent(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("it shows %q:\n%s", secret, text)
		}
	}
}

// login is a token endpoint for the client "plinth" and the scope "models.read". It
// takes one secret and gives one token.
type login struct {
	secret, token string

	mu              sync.Mutex
	given, rejected int
}

func (l *login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	user, password, _ := r.BasicAuth()
	if user != "plinth" || password != l.secret || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "models.read" {
		l.rejected++
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client"}`)
		return
	}
	l.given++
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": l.token, "token_type": "Bearer", "expires_in": 3600})
}

func (l *login) counts() (given, rejected int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given, l.rejected
}

// TestProviderBehindOAuth2: the access token goes where the codec's manifest has the
// key, is fetched once, and a client's secret that was wrong can be put right while
// the host runs.
func TestProviderBehindOAuth2(t *testing.T) {
	t.Parallel()
	const wrong, right, token = "the-wrong-client-secret", "the-right-client-secret", "an-access-token-of-the-test"
	w := newWorld(t)
	model := answering(t, token, "inside")
	endpoint := &login{secret: right, token: token}
	w.write("client-secret", wrong+"\n")
	w.write("config/plinth/config.toml", fmt.Sprintf(`model = "gateway/test"
[providers.gateway]
plugin = "core/openai"
base_url = %q
[providers.gateway.oauth2]
token_url = %q
client_id = "plinth"
client_secret = "file:%s/client-secret"
scope = "models.read"
`, model.URL, front(t, endpoint.ServeHTTP).URL+"/token", w.folder))
	host := w.serve()
	out, notes, code := w.plinth("run", "Hi")
	if given, rejected := endpoint.counts(); code != 3 || !strings.Contains(notes, "(authentication,") || !strings.Contains(notes, "the token endpoint http://127.0.0.1") ||
		given != 0 || rejected == 0 {
		t.Fatalf("the wrong secret: exit %d, %d tokens, %d rejected\n%s%s", code, given, rejected, out, notes)
	}
	w.write("client-secret", right+"\n")
	said := out + notes
	for range 2 {
		out, notes, code := w.plinth("run", "Hi")
		if code != 0 || !strings.Contains(out, "inside") {
			t.Fatalf("the right secret: exit %d\n%s%s", code, out, notes)
		}
		said += out + notes
	}
	if given, _ := endpoint.counts(); given != 1 {
		t.Errorf("%d tokens were fetched for two prompts, want 1", given)
	}
	list, _, _ := w.plinth("sessions")
	for line := range strings.Lines(list) {
		id, _, _ := strings.Cut(line, " ")
		events, _, _ := w.plinth("events", id)
		said += events
	}
	silent(t, said+host.notes.String(), wrong, right, token, base64.StdEncoding.EncodeToString([]byte("plinth:"+right)))
}

// TestProviderWithARefreshToken: the client's secret goes in the form where that is
// configured, and a refresh token that the endpoint replaces is told in the log.
func TestProviderWithARefreshToken(t *testing.T) {
	t.Parallel()
	const client, refresh, replaced, token = "the-secret-of-the-client", "the-first-refresh-token", "the-second-refresh-token", "an-access-token-of-the-test"
	w := newWorld(t)
	model := answering(t, token, "refreshed")
	endpoint := front(t, func(writer http.ResponseWriter, r *http.Request) {
		_, _, basic := r.BasicAuth()
		want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {"plinth"}, "client_secret": {client}}
		if err := r.ParseForm(); err != nil || basic || r.Form.Encode() != want.Encode() {
			t.Errorf("the endpoint was sent %v (%v), Basic %v", r.Form, err, basic)
		}
		_ = json.NewEncoder(writer).Encode(map[string]any{"access_token": token, "refresh_token": replaced})
	})
	w.write("config/plinth/config.toml", fmt.Sprintf(`model = "mine/test"
[providers.mine]
plugin = "core/openai"
base_url = %q
[providers.mine.oauth2]
token_url = %q
grant = "refresh_token"
client_id = "plinth"
client_secret = "env:PLINTH_CLIENT_SECRET"
client_auth = "body"
refresh_token = "env:PLINTH_REFRESH_TOKEN"
`, model.URL, endpoint.URL))
	out, notes, code := w.plinthWith([]string{"PLINTH_CLIENT_SECRET=" + client, "PLINTH_REFRESH_TOKEN=" + refresh}, "run", "Hi")
	if code != 0 || !strings.Contains(out, "refreshed") || !strings.Contains(notes, "the token endpoint replaced the refresh token") || !strings.Contains(notes, "provider=mine") {
		t.Errorf("exit %d\n%s%s", code, out, notes)
	}
	silent(t, out+notes, client, refresh, replaced, token)
}

// TestSecretThatChanges: a server stops to take a key in the middle of everything; the
// new one is in the file by then, and the prompt knows nothing of it.
func TestSecretThatChanges(t *testing.T) {
	t.Parallel()
	const before, after = "the-key-before-the-change", "the-key-after-the-change"
	w := newWorld(t)
	model := answering(t, after, "unlocked")
	var mu sync.Mutex
	var seen []string
	changing := front(t, func(writer http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		mu.Lock()
		seen = append(seen, key)
		mu.Unlock()
		if key == before {
			if err := os.WriteFile(filepath.Join(w.folder, "key"), []byte(after), 0o600); err != nil {
				t.Error(err)
			}
		}
		model.ServeHTTP(writer, r)
	})
	w.write("key", before)
	w.write("config/plinth/config.toml", fmt.Sprintf("model = \"local/test\"\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\nsecret = \"file:%s/key\"\n[titles]\nenabled = false\n",
		changing.URL+"/v1", w.folder))
	out, notes, code := w.plinth("run", "Hi")
	if code != 0 || !strings.Contains(out, "unlocked") {
		t.Fatalf("exit %d\n%s%s", code, out, notes)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(seen, []string{before, after}) {
		t.Errorf("the server was given %q", seen)
	}
	silent(t, out+notes, before, after)
}

// TestAuthThatIsMissing: what a codec's manifest wants and the configuration lacks is
// said when the host starts, with file, line and key, and keeps no other provider of
// the plugin away.
func TestAuthThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := answering(t, "", "signed and sealed")
	codec, err := os.ReadFile("../../plugins/builtin/dist/openai.wasm")
	if err != nil {
		t.Fatal(err)
	}
	manifest := "schema = 1\nid = \"acme/%[1]s\"\nversion = \"0.1.0\"\ndescription = \"Chat Completions\"\n[[provider]]\nid = \"openai\"\nframing = \"sse\"\nauth = %[2]s\n[limits]\nmemory_mib = 128\n"
	for name, auth := range map[string]string{"signer": `{ kind = "sigv4", name = "bedrock" }`, "bearer": `{ kind = "oauth2" }`} {
		w.write("plugins/"+name+"/plugin.toml", fmt.Sprintf(manifest, name, auth))
		w.write("plugins/"+name+"/"+name+".wasm", string(codec))
	}
	w.write("keys", "AKIDEXAMPLE:the-secret-key-of-aws")
	w.write("config/plinth/config.toml", fmt.Sprintf(`model = "signed/test"
[plugins]
folders = ["%[1]s/plugins"]
[providers.signed]
plugin = "acme/signer"
base_url = %[2]q
secret = "file:%[1]s/keys"
region = "eu-central-1"
[providers.unsigned]
plugin = "acme/signer"
base_url = %[2]q
[providers.nowhere]
plugin = "acme/signer"
base_url = %[2]q
secret = "file:%[1]s/keys"
[providers.tokenless]
plugin = "acme/bearer"
base_url = %[2]q
[providers.region]
plugin = "core/openai"
base_url = %[2]q
region = "eu-central-1"
[providers.keyless]
plugin = "core/openai"
base_url = "https://models.invalid/v1"
[titles]
enabled = false
`, w.folder, server.URL))
	host := w.serve()
	file := w.folder + "/config/plinth/config.toml"
	for model, says := range map[string]string{
		"unsigned":  file + ":9: providers.unsigned.secret: the codec of acme/signer signs requests to the AWS service bedrock; give a secret",
		"nowhere":   file + ":12: providers.nowhere.region: auth kind sigv4 needs a region",
		"tokenless": file + ":16: providers.tokenless.oauth2: the codec of acme/bearer sends access tokens; add a table [providers.tokenless.oauth2]",
		"region":    file + ":22: providers.region.region: the codec of core/openai does not sign by sigv4; remove the region",
	} {
		// The run waits until the plugins have been tried.
		if _, notes, code := w.plinth("run", "--model", model+"/test", "Hi"); code != 3 || !strings.Contains(notes, says) || !strings.Contains(notes, "(model_unavailable,") {
			t.Errorf("%s: exit %d\n%s", model, code, notes)
		}
		if !strings.Contains(host.notes.String(), says) {
			t.Errorf("the log does not say %q:\n%s", says, host.notes)
		}
	}
	if says := file + ":23: providers.keyless.secret: is not given; the codec of core/openai puts it into the header Authorization"; !strings.Contains(host.notes.String(), says) {
		t.Errorf("the log does not say %q:\n%s", says, host.notes)
	}
	if out, notes, code := w.plinth("run", "Hi"); code != 0 || !strings.Contains(out, "signed and sealed") {
		t.Fatalf("exit %d\n%s%s", code, out, notes)
	}
	requests := server.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests came through, want 1", len(requests))
	}
	signature := requests[0].Header.Get("Authorization")
	if !strings.HasPrefix(signature, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") || !strings.Contains(signature, "/eu-central-1/bedrock/aws4_request") {
		t.Errorf("the signature is %q", signature)
	}
}

// TestPluginThatIsThereTwice: the second of two plugins with one id is refused, and the
// providers of the first one work.
func TestPluginThatIsThereTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := answering(t, "", "from the first")
	codec, err := os.ReadFile("../../plugins/builtin/dist/openai.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"a", "b"} {
		w.write("plugins/"+folder+"/plugin.toml", "schema = 1\nid = \"acme/codec\"\nversion = \"0.1.0\"\ndescription = \"Chat Completions\"\n[[provider]]\nid = \"openai\"\nframing = \"sse\"\n[limits]\nmemory_mib = 128\n")
		w.write("plugins/"+folder+"/codec.wasm", string(codec))
	}
	w.write("config/plinth/config.toml", fmt.Sprintf("model = \"local/test\"\n[plugins]\nfolders = [\"%s/plugins\"]\n[providers.local]\nplugin = \"acme/codec\"\nbase_url = %q\n", w.folder, server.URL))
	out, notes, code := w.plinth("run", "Hi")
	if code != 0 || !strings.Contains(out, "from the first") || !strings.Contains(notes, "has this id; remove one") {
		t.Errorf("exit %d\n%s%s", code, out, notes)
	}
}
