package leaks

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/tests/chat"
)

// The secrets: of the provider, from a variable; of the plugins, from a file and a
// variable.
const (
	providerSecret = "provider-" + marker
	pluginSecret   = "plugin-" + marker
	otherSecret    = "other-" + marker
)

// everyForm is what a server says that wants the secret to get out.
func everyForm(secret string) string {
	quoted, _ := json.Marshal(secret)
	return strings.Join([]string{
		"plain " + secret, "json " + string(quoted), "url " + url.QueryEscape(secret), "path " + url.PathEscape(secret),
		"hex " + hex.EncodeToString([]byte(secret)), "HEX " + strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"base64 " + base64.StdEncoding.EncodeToString([]byte(secret)), "basic " + base64.StdEncoding.EncodeToString([]byte("user:"+secret)),
		"bearer " + base64.URLEncoding.EncodeToString([]byte("Bearer "+secret)), "end",
	}, " | ")
}

// treacherous is a server that tells whatever it was sent in every part of its answer,
// and how often it was sent a secret.
type treacherous struct {
	*httptest.Server
	told atomic.Int64
}

func newTreacherous(t *testing.T) *treacherous {
	t.Helper()
	s := &treacherous{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *treacherous) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	secret := request.Header.Get("X-Key") + request.URL.Query().Get("key")
	if strings.Contains(secret, marker) {
		s.told.Add(1)
	}
	body := everyForm(secret)
	header := w.Header()
	header.Set("X-Plain", secret)
	header.Set("X-Escaped", url.QueryEscape(secret))
	header.Set("X-Base64", base64.StdEncoding.EncodeToString([]byte(secret)))
	header.Set("X-Hex", hex.EncodeToString([]byte(secret)))
	switch strings.TrimPrefix(request.URL.Path, "/api/") {
	case "refused":
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, body)
	case "redirect":
		http.Redirect(w, request, "/api/echo?again="+url.QueryEscape(secret), http.StatusFound)
	case "away":
		http.Redirect(w, request, "http://elsewhere.example/"+url.PathEscape(secret)+"?"+url.QueryEscape(secret), http.StatusFound)
	case "split":
		for len(body) > 0 { // so that the secret comes in parts
			n := min(7, len(body))
			fmt.Fprint(w, body[:n])
			_ = http.NewResponseController(w).Flush()
			body = body[n:]
		}
	case "cut", "garbage":
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		if strings.HasSuffix(request.URL.Path, "cut") {
			fmt.Fprintf(connection, "HTTP/1.1 200 %s\r\nX-Plain: %s\r\nContent-Length: 100000\r\n\r\n%s", secret, secret, body)
			return
		}
		fmt.Fprintf(connection, "%s\r\n%s\r\n\r\n", secret, body)
	default:
		fmt.Fprint(w, body)
	}
}

// paths are the ways in which the server lets it out.
func paths() []string {
	return []string{"echo", "refused", "redirect", "away", "split", "cut", "garbage"}
}

// fetching is a plugin with a tool per path and way to answer: as output, as a kept
// file's name, and as a failure with the host's words.
func (w *world) fetching(name, server, inject string) (tools []string) {
	for _, path := range paths() {
		for way, form := range map[string][2]string{"out": {`{"ok":{"structured":`, `}}`}, "raw": {"", ""}} {
			for blob, suffix := range map[bool]string{true: "kept", false: "body"} {
				id := fmt.Sprintf("%s-%s-%s-%s", name, path, way, suffix)
				request := fmt.Sprintf(`{"url":%q,"blob":%t}`, server+"/api/"+path, blob)
				guest := bridgetest.NewAsking().Asks(abi.ExportTool, abi.OpHTTPFetch, request, form[0], form[1])
				w.plugin(id, guest, fmt.Sprintf("[[request.http]]\norigins = [%q]\nmethods = [\"GET\"]\npaths = [\"/api/*\"]\nreason = \"test\"\n"+
					"[[request.secret]]\nhandle = \"key\"\naudience = %q\ninject = %s\nreason = \"test\"\n", server, server, inject))
				tools = append(tools, id)
			}
		}
	}
	return tools
}

// plugin writes a plugin leak/NAME with a tool of that name.
func (w *world) plugin(name string, guest *bridgetest.Guest, requests string) {
	w.t.Helper()
	manifest := fmt.Sprintf("schema = 1\nid = \"leak/%s\"\nversion = \"1.0.0\"\ndescription = \"test\"\n"+
		"[[tool]]\nname = %q\ndescription = \"test\"\ninput = '{\"type\":\"object\"}'\npermission = \"by-operation\"\n%s", name, name, requests)
	w.write("plugins/"+name+".wasm", string(guest.Packed(manifest)))
}

// A secret never appears, whatever the servers do that it is sent to.
func TestNoSecretAppears(t *testing.T) {
	w := newWorld(t)
	server := newTreacherous(t)
	secretFile := w.write("config/plinth/key", pluginSecret+"\n")
	tools := w.fetching("header", server.URL, `{ kind = "header", name = "x-key" }`)
	tools = append(tools, w.fetching("query", server.URL, `{ kind = "query", name = "key" }`)...)
	w.plugin("environment", bridgetest.NewAsking().Asks(abi.ExportTool, abi.OpProcessRun, `{"command":"env; set; tr '\\0' '\\n' </proc/self/environ"}`, `{"ok":{"structured":`, `}}`),
		"[request.process]\nreason = \"test\"\n")
	tools = append(tools, "environment")

	var calls []chat.ToolCall
	for i, tool := range tools {
		calls = append(calls, chat.ToolCall{ID: fmt.Sprint("call", i), Name: tool, Arguments: "{}"})
	}
	var sent atomic.Int64
	model, err := chat.Start(func(request chat.Request) chat.Turn {
		_, secret, _ := strings.Cut(request.Header.Get("Authorization"), " ")
		if strings.Contains(secret, marker) {
			sent.Add(1)
		}
		leak := everyForm(secret)
		headers := http.Header{"X-Plain": {secret}, "Www-Authenticate": {"Bearer error=" + secret}}
		body, _ := json.Marshal(map[string]any{"error": map[string]string{"message": leak, "type": secret, "code": secret}})
		switch prompt := request.LastUser(); {
		case prompt == "refuse":
			return chat.Turn{Fault: chat.Fault{Status: http.StatusUnauthorized, Body: string(body), Headers: headers}}
		case prompt == "invalid":
			return chat.Turn{Fault: chat.Fault{Status: http.StatusBadRequest, Body: string(body), Headers: headers}}
		case prompt == "html":
			return chat.Turn{Fault: chat.Fault{Status: http.StatusNotFound, Body: "<html>" + leak, Headers: headers}}
		case prompt == "garbage":
			return chat.Turn{Text: "x", Fault: chat.Fault{Garbage: "not json " + leak}}
		case prompt == "tools" && strings.HasSuffix(string(request.Messages[len(request.Messages)-1].Role), "user"):
			return chat.Turn{Text: "calling", Calls: calls}
		}
		return chat.Turn{Text: leak, Reasoning: leak, Deltas: 1}
	}, chat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })

	config := fmt.Sprintf("model = \"local/test\"\n[providers.local]\nplugin = \"core/openai\"\nbase_url = %q\nsecret = \"env:LEAK_PROVIDER\"\n"+
		"[permissions]\nrules = [{ action = \"*\", resource = \"*\", effect = \"allow\" }]\n[runner]\nmax_parallel_tools = 64\n[plugins]\ndevelopment = true\nfolders = [%q]\n",
		model.URL, filepath.Join(w.folder, "plugins"))
	for _, tool := range tools[:len(tools)-1] {
		reference := "file:" + secretFile
		if strings.HasPrefix(tool, "query") {
			reference = "env:LEAK_OTHER"
		}
		config += fmt.Sprintf("[plugins.\"leak/%s\"]\nsecrets = { key = %q }\n", tool, reference)
	}
	w.write("config/plinth/config.toml", config)
	w.serve("LEAK_PROVIDER="+providerSecret, "LEAK_OTHER="+otherSecret, "UNRELATED_API_KEY=unrelated-"+marker)

	ids := w.converse("say it", "tools", "refuse", "invalid", "html", "garbage")
	if sent.Load() < 6 || server.told.Load() < int64(len(tools)-1) {
		t.Errorf("the model was sent its secret %d times, the server %d: too few to prove anything", sent.Load(), server.told.Load())
	}
	for _, id := range ids {
		w.readAll(id)
	}
	if plugins, err := w.client.Plugins(t.Context()); err != nil || len(plugins.Plugins) < len(tools) {
		t.Errorf("%d plugins, %v", len(plugins.Plugins), err)
	}
	w.signal(syscall.SIGQUIT)
	if said := w.said.String(); !strings.Contains(said, "goroutine ") {
		t.Errorf("there is no stack in what the host said: %.300s", said)
	}
	for _, needed := range []string{"[secret]", "leak/header-echo-out-body", "PATH="} {
		if !strings.Contains(w.sent.String(), needed) {
			t.Errorf("what went over the socket has no %s", needed)
		}
	}
	mustNotLeak(t, "standard output and error", w.said.String())
	mustNotLeak(t, "the socket", w.sent.String())
	if files := mustNotLeakIn(t, w.folder, secretFile); files < 10 {
		t.Errorf("only %d files were searched", files)
	}
}

// converse puts each prompt to a session of its own and follows it to its end.
func (w *world) converse(prompts ...string) (ids []string) {
	w.t.Helper()
	for _, prompt := range prompts {
		created, err := w.client.CreateSession(w.t.Context(), protocol.CreateSession{Location: protocol.Location{Directory: w.project}})
		if err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, created.ID)
		if _, err := w.client.Prompt(w.t.Context(), created.ID, protocol.Prompt{PromptBody: protocol.PromptBody{Text: prompt}}); err != nil {
			w.t.Fatal(err)
		}
		for update, err := range w.client.Follow(w.t.Context(), created.ID, client.FollowOptions{}) {
			if err != nil {
				w.t.Fatal(err)
			}
			if update.Event != nil && update.Event.Type == "session.activity.ended" {
				break
			}
		}
	}
	return ids
}

// readAll asks the host for everything of a session, so that it goes over the socket.
func (w *world) readAll(id string) {
	w.t.Helper()
	if _, err := w.client.Messages(w.t.Context(), id, protocol.ListMessages{}); err != nil {
		w.t.Error(err)
	}
	for after := ""; ; {
		page, err := w.client.Events(w.t.Context(), id, after, 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		if !page.More {
			return
		}
		after = page.Cursor
	}
}

// A configuration that has a secret where a reference belongs is refused without
// repeating it.
func TestARefusedConfigurationDoesNotTell(t *testing.T) {
	for name, line := range map[string]string{
		"provider": "[providers.local]\nplugin = \"core/openai\"\nbase_url = \"http://127.0.0.1:1\"\nsecret = \"" + providerSecret + "\"",
		"plugin":   "[plugins.\"a/b\"]\nsecrets = { key = \"" + pluginSecret + "\" }",
		"wrong":    "[providers.local]\nplugin = \"core/openai\"\nbase_url = \"http://127.0.0.1:1\"\nsecrets = \"" + providerSecret + "\"",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			path := w.write("config/plinth/config.toml", line+"\n")
			said := w.fails()
			if !strings.Contains(said, "config.toml") {
				t.Errorf("it says %s", said)
			}
			mustNotLeak(t, "what it says", said)
			mustNotLeakIn(t, w.folder, path)
		})
	}
}
