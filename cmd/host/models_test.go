package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/session"
)

// modelServer lists models to who has the key.
type modelServer struct {
	*httptest.Server
	answer atomic.Pointer[string]
	asked  atomic.Int32
}

func newModelServer(t *testing.T) *modelServer {
	m := &modelServer{}
	m.say(`{"object":"list","data":[{"id":"local/llama","max_model_len":8192},{"id":"gpt-4o"}]}`)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.asked.Add(1)
		if r.Method+" "+r.URL.String() != "GET /v1/models" || r.Header.Get("Authorization") != "Bearer sk-models" {
			http.Error(w, fmt.Sprintf("%s %s, %s", r.Method, r.URL, r.Header.Get("Authorization")), http.StatusTeapot)
			return
		}
		switch answer := *m.answer.Load(); {
		case answer == "moved":
			http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
		default:
			fmt.Fprint(w, answer)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *modelServer) say(text string) { m.answer.Store(&text) }

// modelsRig is a host with a provider whose server tells its models, and one whose
// server is not there.
func modelsRig(t *testing.T) (*rig, *modelServer) {
	r, server := newRig(t), newModelServer(t)
	t.Setenv("MODELS_KEY", "sk-models")
	r.configure(fmt.Sprintf(`
model = "plain/gpt-4o-mini"
[providers.plain]
plugin = "core/openai"
base_url = "http://127.0.0.1:1/v1"
[providers.here]
plugin = "core/openai"
base_url = "%s/v1/"
secret = "env:MODELS_KEY"
discover = true
[providers.away]
plugin = "core/openai"
base_url = "http://127.0.0.1:1/v1"
discover = true
models = ["some"]
[models."here/gpt-4o"]
price = {input = 1, output = 2.5, tiers = [{above = 1000, input = 3, output = 4}]}
capabilities = []
[models."here/gpt-4o".variants.high]
[models."here/gpt-4o".variants.calm]
generation.temperature = 0
`, server.URL))
	r.restart()
	return r, server
}

func TestModels(t *testing.T) {
	r, server := modelsRig(t)
	list := func(request protocol.ListModels) protocol.ModelList {
		t.Helper()
		got, err := modelService{r.backend}.List(r.within(), request)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if server.asked.Load() != 0 {
		t.Error("the start asks servers")
	}
	away := "the provider away did not list its models: connection to http://127.0.0.1:1 refused; is the server running?"
	want := protocol.ModelList{Warnings: []string{away}, Models: []protocol.Model{
		{ID: "away/some", Provider: "away", Model: "some", Sources: []protocol.ModelSource{}},
		{ID: "here/gpt-4o", Provider: "here", Model: "gpt-4o", Name: "GPT-4o", Context: 128000, Output: 16384, Capabilities: []string{}, Variants: []string{"calm", "high"},
			Price: &protocol.ModelPrice{Input: "1", Output: "2.5", CacheRead: "1", CacheWrite: "1",
				Tiers: []protocol.PriceTier{{Above: 1000, Input: "3", Output: "4", CacheRead: "3", CacheWrite: "3"}}},
			Sources: []protocol.ModelSource{protocol.ModelBuiltin, protocol.ModelDiscovered, protocol.ModelConfigured}},
		{ID: "here/local/llama", Provider: "here", Model: "local/llama", Context: 8192, Sources: []protocol.ModelSource{protocol.ModelDiscovered}},
		{ID: "offline/rules", Provider: "offline", Model: "rules", Name: "Fixed rules, no model", Context: 128000, Capabilities: []string{"tools"},
			Price: &protocol.ModelPrice{Input: "0", Output: "0", CacheRead: "0", CacheWrite: "0"}, Sources: []protocol.ModelSource{protocol.ModelBuiltin}},
		{ID: "plain/gpt-4o-mini", Provider: "plain", Model: "gpt-4o-mini", Name: "GPT-4o mini", Context: 128000, Output: 16384,
			Capabilities: []string{"tools", "images", "documents"}, Price: &protocol.ModelPrice{Input: "0.15", Output: "0.6", CacheRead: "0.075", CacheWrite: "0.15"},
			Sources: []protocol.ModelSource{protocol.ModelBuiltin}},
	}}
	if diff := cmp.Diff(want, list(protocol.ListModels{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Models[1:3], list(protocol.ListModels{Provider: "here"}).Models); diff != "" || server.asked.Load() != 1 {
		t.Errorf("asked %d times, %s", server.asked.Load(), diff)
	}
	info, err := r.models.Model(r.within(), session.ModelRef{Provider: "here", Model: "gpt-4o", Variant: "calm"})
	if cost := info.Cost(session.Usage{Input: 1001}); err != nil || info.Generation.Temperature == nil || cost == nil || *cost != 1001*3000 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := (modelService{r.backend}).List(r.within(), protocol.ListModels{Provider: "none"}); protocol.AsError(err).Code != protocol.NotFound ||
		err.Error() != `not_found: there is no provider "none"; known are away, here, offline, plain` {
		t.Errorf("of no provider: %v", err)
	}
}

// TestModelsOfABadServer: whatever it says, the list stays and a warning names what is
// wrong.
func TestModelsOfABadServer(t *testing.T) {
	r, server := modelsRig(t)
	first, err := modelService{r.backend}.List(r.within(), protocol.ListModels{Provider: "here"})
	if err != nil || len(first.Models) != 2 || first.Warnings != nil {
		t.Fatalf("%+v, %v", first, err)
	}
	for answer, want := range map[string]string{
		"moved":                          "/v1/models is answered 301 Moved Permanently",
		"<html>":                         "the answer is not a list of models in JSON",
		strings.Repeat("[", 1<<20+1):     "is larger than 1048576 bytes",
		`{"error":"the key sk-models"}`:  `the answer has no list "data"`,
		`{"data":"the key sk-models"}`:   "the answer is not a list",
		strings.Repeat("[", 100_000):     "the answer is not a list",
		`{"data":[{"id":"sk-models"}]} `: "",
	} {
		server.say(answer)
		got, err := modelService{r.backend}.List(r.within(), protocol.ListModels{Provider: "here", Refresh: true})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprint(got), "sk-models") {
			t.Errorf("%.20q: the secret comes back: %+v", answer, got)
		}
		if want == "" {
			continue
		}
		if warnings := strings.Join(got.Warnings, "\n"); !strings.HasPrefix(warnings, "the provider here did not list its models: ") || !strings.Contains(warnings, want) {
			t.Errorf("%.20q: warned of %q, want %q", answer, warnings, want)
		}
	}
}

// TestModelsOfEveryProtocol: each builtin asks as its own server wants it, page by page.
func TestModelsOfEveryProtocol(t *testing.T) {
	pages := map[string]string{
		"/v1/models?limit=1000 x-api-key=k anthropic-version=2023-06-01":                      `{"data":[{"type":"model","id":"claude-b","display_name":"Claude B","max_input_tokens":200000,"max_tokens":64000}],"has_more":true,"first_id":"claude-b","last_id":"claude-b"}`,
		"/v1/models?after_id=claude-b&limit=1000 x-api-key=k anthropic-version=2023-06-01":    `{"data":[{"type":"model","id":"claude-a","display_name":"Claude A"}],"has_more":false,"first_id":"claude-a","last_id":"claude-a"}`,
		"/v1beta/models?pageSize=1000 x-goog-api-key=k":                                       `{"models":[{"name":"models/gemini-b","inputTokenLimit":1000,"outputTokenLimit":10}],"nextPageToken":"two +"}`,
		"/v1beta/models?pageSize=1000&pageToken=two+%2B x-goog-api-key=k":                     `{"models":[{"name":"models/gemini-a"}]}`,
		"/openai/models authorization=Bearer k":                                               `{"object":"list","data":[{"id":"gpt-x"}]}`,
		"/endless/v1/models?limit=1000 x-api-key=k anthropic-version=2023-06-01":              `{"data":[{"id":"one"}],"has_more":true,"last_id":"one"}`,
		"/endless/v1/models?after_id=one&limit=1000 x-api-key=k anthropic-version=2023-06-01": `{"data":[{"id":"one"}],"has_more":true,"last_id":"one"}`,
	}
	var endless atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.URL.String()
		for _, header := range []string{"authorization", "x-api-key", "x-goog-api-key", "anthropic-version"} {
			if value := r.Header.Get(header); value != "" {
				asked += " " + header + "=" + value
			}
		}
		if strings.HasPrefix(asked, "/endless") {
			endless.Add(1)
		}
		answer, ok := pages[asked]
		if !ok || r.Method != http.MethodGet {
			http.Error(w, asked, http.StatusTeapot)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("MODELS_KEY", "k")
	r, text := newRig(t), ""
	for _, one := range [][3]string{{"a", "core/anthropic", ""}, {"b", "core/gemini", "/v1beta"}, {"c", "core/openai", "/openai"}, {"d", "core/openai-responses", "/openai/"}, {"e", "core/anthropic", "/endless"}} {
		text += fmt.Sprintf("[providers.%s]\nplugin = %q\nbase_url = %q\nsecret = \"env:MODELS_KEY\"\ndiscover = true\n", one[0], one[1], server.URL+one[2])
	}
	r.configure(text)
	r.restart()
	list, err := modelService{r.backend}.List(r.within(), protocol.ListModels{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, model := range list.Models {
		got = append(got, fmt.Sprintf("%s %s %d %d", model.ID, model.Name, model.Context, model.Output))
	}
	want := []string{"a/claude-a Claude A 0 0", "a/claude-b Claude B 200000 64000", "b/gemini-a  0 0", "b/gemini-b  1000 10", "c/gpt-x  0 0", "d/gpt-x  0 0", "e/one  0 0"}
	if diff := cmp.Diff(want, slices.DeleteFunc(got, func(id string) bool { return strings.HasPrefix(id, "offline/") })); diff != "" {
		t.Error(diff)
	}
	warned := []string{"the provider e lists its models on more than 20 pages; those of the first 20 are taken"}
	if diff := cmp.Diff(warned, list.Warnings); diff != "" || endless.Load() != 20 {
		t.Errorf("asked %d times: %s", endless.Load(), diff)
	}
}

func TestModelsCommand(t *testing.T) {
	r, server := modelsRig(t)
	run := func(args ...string) (out, errors string, err error) {
		var stdout, stderr bytes.Buffer
		c := &cli{in: strings.NewReader(""), out: &stdout, errors: &stderr, environ: []string{"HOME=" + r.data}, flags: config.Overrides{}}
		command := c.command()
		command.SetArgs(append([]string{"models", "--data", r.data, "--server", "unix:" + socketPath(r.data)}, args...))
		err = command.ExecuteContext(r.within())
		return stdout.String(), stderr.String(), err
	}
	out, warned, err := run()
	want := `MODEL              CONTEXT  OUTPUT  PRICE       CAPABILITIES            VARIANTS   SOURCES
away/some          -        -       -           -                       -          -
here/gpt-4o        128000   16384   $1 $2.5 +   none                    calm,high  builtin,discovered,configured
here/local/llama   8192     -       -           -                       -          discovered
offline/rules      128000   -       $0 $0       tools                   -          builtin
plain/gpt-4o-mini  128000   16384   $0.15 $0.6  tools,images,documents  -          builtin
`
	if diff := cmp.Diff(want, out); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if warned != "plinth: the provider away did not list its models: connection to http://127.0.0.1:1 refused; is the server running?\n" {
		t.Errorf("warned of %q", warned)
	}
	server.say(`{"data":[{"id":"new"}]}`)
	out, warned, err = run("here", "--refresh", "--json")
	var list protocol.ModelList
	if err = errors.Join(err, json.Unmarshal([]byte(out), &list)); err != nil || warned != "" || len(list.Models) != 2 || list.Models[1].ID != "here/new" {
		t.Errorf("%v, %s, %s", err, out, warned)
	}
	if out, _, err := run("none"); err == nil || out != "" || exitCode(err) != exitFailed {
		t.Errorf("of no provider: %s, %v", out, err)
	}
	if _, _, err := run("a", "b"); exitCode(err) != exitUsage {
		t.Errorf("two providers: %v", err)
	}
}
