package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
	"github.com/plinthhost/plinth/session"
)

const (
	requestKV   = "[request.kv]\nreason = \"it remembers <places>\"\n"
	requestHTTP = "[[request.http]]\norigins = [\"https://api.weather.example\"]\nmethods = [\"GET\"]\npaths = [\"/v1/*\"]\nreason = \"asks the forecast\"\n"
)

// weather is a packed plugin with a tool that says its version.
func weather(version, tables string) []byte {
	return bridgetest.New().Answers(abi.ExportTool, `{"ok":{"content":[{"type":"text","text":"`+version+`"}]}}`).Packed(
		"schema = 1\nid = \"acme/weather\"\nversion = \"" + version + "\"\ndescription = \"Tells the weather\"\n" +
			"[[tool]]\nname = \"weather\"\ndescription = \"d\"\ninput = '{\"type\":\"object\"}'\npermission = \"by-operation\"\n" + tables)
}

// file writes a file beside the data and answers its path.
func (r *rig) file(name string, content []byte) string {
	r.t.Helper()
	path := filepath.Join(r.project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// plugin answers a plugin as the host tells it.
func (r *rig) plugin(id, location string) protocol.Plugin {
	r.t.Helper()
	plugin, err := r.client().Plugin(r.within(), protocol.PluginParams{ID: id, Location: location})
	if err != nil {
		r.t.Fatal(err)
	}
	return plugin
}

// pluginSays runs plinth plugin and wants its exit, and texts in what it prints.
func (r *rig) pluginSays(exit int, wanted []string, args ...string) string {
	r.t.Helper()
	out, notes, code := r.terminal(append([]string{"plugin"}, args...)...)
	if code != exit {
		r.t.Fatalf("%v: exit %d, want %d\n%s%s", args, code, exit, out, notes)
	}
	for _, want := range wanted {
		if !strings.Contains(out+notes, want) {
			r.t.Errorf("%v does not say %q:\n%s%s", args, want, out, notes)
		}
	}
	return out + notes
}

func TestPluginLife(t *testing.T) {
	r := newRig(t)
	first := r.file("weather-1.wasm", weather("1.0.0", requestKV))
	// Without a terminal a version that asks for something waits.
	r.pluginSays(exitDenied, []string{"acme/weather 1.0.0 asks for:", "kv: it wants to", "it remembers <places>", "no terminal to ask at"}, "add", first)
	if p := r.plugin("acme/weather", ""); p.State != protocol.PluginHeld || p.Held == nil || p.Held.Requests[0].Key != "kv" || p.Held.Requests[0].Granted || p.Serving || p.Source != "upload" {
		t.Errorf("%+v", p)
	}
	r.pluginSays(exitOK, []string{"acme/weather", "held", "1.0.0 waits: it asks for kv"}, "list")
	r.pluginSays(exitOK, []string{"waits", "asks     kv", "not granted"}, "show", "acme/weather")
	r.pluginSays(exitUsage, []string{`grant "process": the plugin acme/weather asks for no such thing`}, "approve", "acme/weather", "--grant", "process")
	r.pluginSays(exitFailed, []string{"conflict: the plugin acme/weather is not disabled, it waits for approval: plinth plugin approve acme/weather"}, "enable", "acme/weather")
	if p := r.plugin("acme/weather", ""); p.Error != "" || len(p.Approvals) > 0 {
		t.Errorf("a wrong key left %+v", p)
	}
	r.pluginSays(exitOK, []string{"acme/weather  1.0.0  active  revision "}, "approve", "acme/weather", "--grant", "kv")
	one := r.plugin("acme/weather", "")
	if !one.Serving || !one.Requests[0].Granted || one.Contributions.Tools[0] != "weather" || one.Engine == nil || len(one.Approvals) != 1 {
		t.Errorf("%+v", one)
	}
	// More than was approved waits and shows what it changes; the flags grant it.
	second := r.file("weather-2.wasm", weather("2.0.0", requestKV+requestHTTP))
	r.pluginSays(exitDenied, []string{"it changes:", "+ http https://api.weather.example", "(granted before)"}, "add", second)
	if p := r.plugin("acme/weather", ""); p.Revision != one.Revision || p.State != protocol.PluginActive || p.Held.Change == nil || !p.Held.Requests[1].Granted || p.Held.Requests[0].Granted {
		t.Errorf("%+v\n%+v", p, p.Held)
	}
	r.pluginSays(exitOK, []string{"2.0.0  active"}, "add", second, "--grant-all")
	two := r.plugin("acme/weather", "")
	r.pluginSays(exitOK, []string{"1.0.0  active  revision " + one.Revision}, "rollback", "acme/weather")
	r.pluginSays(exitFailed, []string{"conflict: ", "was rolled back", "roll back to " + two.Revision}, "add", second)
	r.pluginSays(exitFailed, []string{"conflict: the plugin acme/weather has no earlier revision"}, "rollback", "acme/weather")
	r.pluginSays(exitOK, []string{"2.0.0  active  revision " + two.Revision}, "rollback", "acme/weather", two.Revision)
	r.pluginSays(exitOK, []string{"disabled", "plinth plugin enable acme/weather"}, "disable", "acme/weather")
	r.pluginSays(exitOK, []string{"2.0.0  active"}, "enable", "acme/weather")
	r.pluginSays(exitOK, []string{"2.0.0  active"}, "reload", "acme/weather")
	r.pluginSays(exitOK, []string{"acme/weather  removed"}, "remove", "acme/weather", "--purge", "--force")
	r.pluginSays(exitFailed, []string{"not_found: there is no plugin acme/weather"}, "show", "acme/weather")
	r.pluginSays(exitFailed, []string{"conflict: the plugin core/files is part of plinth; disable it instead"}, "remove", "core/files")
	r.pluginSays(exitUsage, []string{`"weather" is no plugin's id`}, "show", "weather")
	r.pluginSays(exitUsage, []string{"the path of the plugin is empty"}, "add", "")
	broken := r.file("broken.wasm", []byte("no module"))
	for _, command := range []string{"add", "inspect"} {
		r.pluginSays(exitUsage, []string{"broken.wasm"}, command, broken)
	}
}

// faulty packs another version of the weather with this module, and more in its folder.
func faulty(t *testing.T, module []byte, tables string, files map[string]string) []byte {
	t.Helper()
	folder := t.TempDir()
	all := map[string]string{"guest.wasm": string(module), plugin.ManifestName: "schema = 1\nid = \"acme/weather\"\nversion = \"2.0.0\"\ndescription = \"d\"\n" +
		"[[tool]]\nname = \"weather\"\ndescription = \"d\"\ninput = '{\"type\":\"object\"}'\npermission = \"by-operation\"\n" + tables}
	maps.Copy(all, files)
	for name, content := range all {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := plugin.Pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// TestPluginFailures: why a version does not come to serve is one sentence, the same at
// the terminal, over HTTP and in the host's live events. What served goes on.
func TestPluginFailures(t *testing.T) {
	r := newRig(t)
	says := func() *bridgetest.Guest { return bridgetest.New().Answers(abi.ExportTool, `{"ok":{"content":[]}}`) }
	uncompilable := new(wasmtest.Module)
	uncompilable.Memory(64, 0)
	uncompilable.Func(abi.ExportMarker, nil, nil, nil, wasmtest.Const(1)) // a value is left over
	uncompilable.Func(abi.ExportAlloc, wasmtest.Types(wasmtest.I32), wasmtest.Types(wasmtest.I32), nil, wasmtest.Const(0))
	uncompilable.Func(abi.ExportTool, wasmtest.Types(wasmtest.I32, wasmtest.I32), wasmtest.Types(0x7e), nil, wasmtest.Const64(0))
	r.pluginSays(exitOK, nil, "add", r.file("good.wasm", weather("1.0.0", "")))
	for name, test := range map[string]struct {
		wasm  []byte
		stage string
		text  string
	}{
		"does not compile":   {faulty(t, uncompilable.Bytes(), "", nil), "load", "module acme/weather"},
		"traps at the start": {faulty(t, says().Traps(abi.ExportInit).Bytes(), "", nil), "load", "an instance does not start"},
		"fails a golden": {faulty(t, says().Bytes(), "[[golden]]\nexport = \"tool\"\ninput = \"in.json\"\noutput = \"out.json\"\n",
			map[string]string{"in.json": `{"body":{}}`, "out.json": `{"ok":{"content":[{"type":"text","text":"sun"}]}}`}), "golden", "out.json"},
		"no export": {bridgetest.New().Packed("schema = 1\nid = \"acme/none\"\nversion = \"1.0.0\"\ndescription = \"d\"\n" +
			"[[tool]]\nname = \"other\"\ndescription = \"d\"\ninput = '{\"type\":\"object\"}'\npermission = \"by-operation\"\n"), "load", "tool"},
		"a name in use": {bridgetest.New().Answers(abi.ExportTool, `{"ok":{"content":[]}}`).Packed("schema = 1\nid = \"acme/twin\"\nversion = \"1.0.0\"\ndescription = \"d\"\n" +
			"[[tool]]\nname = \"weather\"\ndescription = \"d\"\ninput = '{\"type\":\"object\"}'\npermission = \"by-operation\"\n"), "contribute", "acme/weather"},
	} {
		path := r.file("bad.wasm", test.wasm)
		head, err := r.backend.head(t.Context(), session.Host)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.client().UploadPlugin(r.within(), test.wasm, path, "", nil)
		wire, ok := err.(*protocol.Error)
		if !ok || wire.Code != protocol.BadRequest || wire.Details["stage"] != test.stage || !strings.Contains(wire.Message, test.text) || strings.Contains(wire.Message, "\n") {
			t.Errorf("%s: %v %+v", name, err, wire)
			continue
		}
		var failed session.PluginFailed
		for update, err := range r.client().FollowHost(r.within(), client.FollowOptions{After: head, Types: []string{failed.EventType()}}) {
			if err != nil {
				t.Fatal(err)
			}
			if update.Event != nil {
				if err := json.Unmarshal(update.Event.Data, &failed); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if failed.Message != wire.Message || failed.Stage != test.stage {
			t.Errorf("%s: the event says %q, the answer %q", name, failed.Message, wire.Message)
		}
		if out := r.pluginSays(exitUsage, []string{"plinth: bad_request: " + wire.Message}, "add", path); strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %s", name, out)
		}
	}
	r.pluginSays(exitUsage, []string{"bad.txt: "}, "add", r.file("bad.txt", []byte("no plugin")))
	r.pluginSays(exitUsage, []string{"not the one of --sha256"}, "add", r.file("good.wasm", weather("1.0.0", "")), "--sha256", strings.Repeat("0", 64))
	if p := r.plugin("acme/weather", ""); !p.Serving {
		t.Errorf("%+v", p)
	}
}

// TestPluginDownload: the host downloads, and holds the file to its sum.
func TestPluginDownload(t *testing.T) {
	r := newRig(t)
	packed := weather("1.0.0", "")
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(packed) }))
	t.Cleanup(files.Close)
	r.pluginSays(exitUsage, []string{"sha256 must be 64 hexadecimal digits"}, "add", files.URL+"/weather.wasm", "--sha256", "abc")
	r.pluginSays(exitUsage, []string{"bad_request: " + files.URL + "/weather.wasm: "}, "add", files.URL+"/weather.wasm", "--sha256", strings.Repeat("0", 64))
	r.pluginSays(exitOK, []string{"1.0.0  active"}, "add", files.URL+"/weather.wasm")
	if p := r.plugin("acme/weather", ""); p.Source != "url" || p.Origin != files.URL+"/weather.wasm" {
		t.Errorf("%+v", p)
	}
}

// TestProjectPlugins: a project's plugins are known when it is trusted, each version is
// approved by itself, and they go with the trust.
func TestProjectPlugins(t *testing.T) {
	r := newRig(t)
	r.file(".plinth/plugins/weather.wasm", weather("1.0.0", ""))
	r.pluginSays(exitOK, []string{"is trusted", "acme/weather 1.0.0 waits: plinth plugin approve acme/weather --project"}, "trust", r.project)
	r.pluginSays(exitDenied, []string{"asks for nothing", "waits for approval"}, "approve", "acme/weather", "--project", r.project)
	r.pluginSays(exitOK, []string{"1.0.0  active"}, "approve", "acme/weather", "--project", r.project, "--yes")
	r.pluginSays(exitOK, []string{"project", "tool", "weather"}, "show", "acme/weather", "--project", r.project)
	r.pluginSays(exitFailed, []string{"not_found"}, "show", "acme/weather")
	r.pluginSays(exitOK, []string{"trusted: "}, "list")
	r.pluginSays(exitFailed, []string{"conflict: the plugin acme/weather would come back from"}, "remove", "acme/weather", "--project", r.project)
	r.pluginSays(exitOK, []string{"trusted no more"}, "distrust", r.project)
	r.pluginSays(exitFailed, []string{"not_found"}, "show", "acme/weather", "--project", r.project)
	r.pluginSays(exitFailed, []string{"not_found: the project", "is not trusted"}, "distrust", r.project)
	r.pluginSays(exitUsage, []string{"root", "absolute path of a folder"}, "trust", filepath.Join(r.project, "none"))
	r.pluginSays(exitUsage, []string{"the root of the file system, which is no project"}, "trust", "/")
}

// TestReconfigure: the configuration is read again; a wrong one changes nothing.
func TestReconfigure(t *testing.T) {
	r := newRig(t)
	r.reload = func() (config.Config, error) {
		return config.Load(config.Sources{Environ: []string{"HOME=" + filepath.Dir(r.data)}, Flags: config.Overrides{Data: r.data}})
	}
	r.pluginSays(exitOK, nil, "add", r.file("weather.wasm", weather("1.0.0", "")))
	before := r.plugin("acme/weather", "").Revision
	r.configure("[plugins.\"acme/weather\".limits]\nmemory_mib = 48\n[plugins.\"core/files\"]\nenabled = false\n")
	r.pluginSays(exitOK, []string{"plugins under the configuration of now"}, "reload")
	after := r.plugin("acme/weather", "")
	if after.Revision == before || after.Limits["memory_mib"] != 48 || after.Engine.MemoryMiB != 48 {
		t.Errorf("%+v", after)
	}
	if files := r.plugin("core/files", ""); files.State != protocol.PluginDisabled || !files.Configured {
		t.Errorf("%+v", files)
	}
	r.configure("[plugins.\"acme/weather\"]\nenabeld = false\n")
	r.pluginSays(exitUsage, []string{"the configuration is as it was: ", "enabeld"}, "reload")
	r.configure("[plugins.\"acme/weather\"]\nconfig = { a = 1 }\n")
	r.pluginSays(exitUsage, []string{"acme/weather"}, "reload")
	if p := r.plugin("acme/weather", ""); p.Revision != after.Revision || !p.Serving || p.Error == "" {
		t.Errorf("%+v", p)
	}
	if files := r.plugin("core/files", ""); files.State != protocol.PluginActive {
		t.Errorf("%+v", files)
	}
	r.configure("[plugins.\"core/redct\"]\nenabled = true\n")
	r.pluginSays(exitUsage, []string{"the configuration is as it was: ", `plugins."core/redct": there is no such builtin`, "core/redact"}, "reload")
	r.configure("[plugins.\"core/redct\"]\nenabled = false\n") // one that is gone
	r.pluginSays(exitOK, nil, "reload")
	r.configure("[plugins.\"core/redact\"]\nenabled = true\nconfig = { paterns = [] }\n[plugins.\"core/files\"]\nconfig = { a = 1 }\n")
	said := r.pluginSays(exitUsage, []string{"paterns"}, "reload")
	for _, id := range []string{"core/redact", "core/files"} {
		if strings.Count(said, "plugin "+id+" from") != 1 {
			t.Errorf("what is wrong with %s is not told once: %s", id, said)
		}
	}
	r.reload = nil
	r.pluginSays(exitFailed, []string{"conflict: this host cannot read its configuration again"}, "reload")
}

// TestPluginKeys: a repeated command has one effect.
func TestPluginKeys(t *testing.T) {
	r := newRig(t)
	for _, version := range []string{"1.0.0", "2.0.0", "3.0.0"} {
		r.pluginSays(exitOK, nil, "add", r.file("weather.wasm", weather(version, "")))
	}
	service := pluginService{r.backend, r.network, r.servers, r.reconfigure}
	named := protocol.PluginParams{ID: "acme/weather"}
	caller := server.Caller{Actor: "token:ann", Key: "key"}
	for range 2 {
		p, err := service.Change(r.within(), caller, named, protocol.ChangePlugin{Action: protocol.ActionRollback})
		if err != nil || p.Version != "2.0.0" {
			t.Fatalf("%+v %v", p, err)
		}
	}
	for range 2 {
		if err := service.Remove(r.within(), caller, named, protocol.RemovePlugin{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := service.Remove(r.within(), caller, named, protocol.RemovePlugin{Purge: true}); err == nil || !strings.Contains(err.Error(), "the key was used") {
		t.Error(err)
	}
}

// TestEventsOfTheHost: a terminal and a client follow what becomes of plugins.
func TestEventsOfTheHost(t *testing.T) {
	r := newRig(t)
	head, err := r.backend.head(t.Context(), session.Host)
	if err != nil {
		t.Fatal(err)
	}
	r.pluginSays(exitOK, nil, "add", r.file("weather.wasm", weather("1.0.0", "")))
	var types []string
	for update, err := range r.client().FollowHost(r.within(), client.FollowOptions{After: head, Types: []string{"host.plugin.*"}}) {
		if err != nil {
			t.Fatal(err)
		}
		if update.Event != nil {
			types = append(types, update.Event.Type)
			if strings.HasSuffix(update.Event.Type, "activated") {
				break
			}
		}
	}
	if diff := cmp.Diff([]string{"host.plugin.staged", "host.plugin.activated"}, types); diff != "" {
		t.Error(diff)
	}
	out, _, code := r.terminal("events", "--host", "--json", "--after", head)
	var event struct{ Type, Session string }
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&event); code != exitOK || err != nil || event.Type != "host.plugin.staged" || event.Session != session.Host {
		t.Errorf("exit %d, %v\n%s", code, err, out)
	}
	if out, _, code := r.terminal("events", "--host"); code != exitOK || !strings.Contains(out, "host.plugin.activated") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if _, _, code := r.terminal("events", "--host", "ses_x"); code != exitUsage {
		t.Errorf("with a session: exit %d", code)
	}
	if p := r.problem(request{method: http.MethodGet, path: "/v1/sessions/host/events"}); p.Code != protocol.NotFound {
		t.Errorf("%+v", p)
	}
	if _, _, code := r.terminal("events", "host"); code != exitFailed {
		t.Errorf("the host as a session: exit %d", code)
	}
}

// TestAskGrants: a person says yes, no, or which.
func TestAskGrants(t *testing.T) {
	t.Parallel()
	kv, http := protocol.PluginRequest{Key: "kv"}, protocol.PluginRequest{Key: "http:https://x"}
	both := []protocol.PluginRequest{kv, http}
	for _, test := range []struct {
		said     string
		requests []protocol.PluginRequest
		want     []string
		ok       bool
	}{
		{"y\n", both, []string{"kv", "http:https://x"}, true},
		{"YES\n", both[:1], []string{"kv"}, true},
		{"s\nn\ny\n", both, []string{"http:https://x"}, true},
		{"some\nno\n", both, []string{}, true}, // input ends: a no
		{"s\n", both[:1], nil, false},
		{"n\n", both, nil, false}, {"\n", both, nil, false}, {"", both, nil, false}, {"what\n", both, nil, false},
		{"y\n", nil, []string{}, true}, {"", nil, nil, false},
	} {
		var notes bytes.Buffer
		keys, ok := askGrants(bufio.NewReader(strings.NewReader(test.said)), &notes, test.requests)
		if diff := cmp.Diff(test.want, keys); diff != "" || ok != test.ok {
			t.Errorf("%q of %d: %v %s", test.said, len(test.requests), ok, diff)
		}
		if !strings.HasPrefix(notes.String(), "? ") {
			t.Errorf("%q", notes.String())
		}
	}
}

// Each command that changes a plugin says as JSON how it is then.
func TestPluginCommandsAsJSON(t *testing.T) {
	r := newRig(t)
	says := func(exit int, into any, args ...string) {
		t.Helper()
		out, notes, code := r.terminal(append(append([]string{"plugin"}, args...), "--json")...)
		if code != exit {
			t.Fatalf("%v: exit %d\n%s%s", args, code, out, notes)
		}
		if err := json.Unmarshal([]byte(out), into); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	state := func(exit int, want protocol.PluginState, args ...string) {
		t.Helper()
		var told protocol.Plugin
		says(exit, &told, args...)
		if told.ID != "acme/weather" || told.State != want {
			t.Errorf("%v: %+v", args, told)
		}
	}
	first := r.file("weather-1.wasm", weather("1.0.0", requestKV))
	state(exitDenied, protocol.PluginHeld, "add", first)
	state(exitOK, protocol.PluginActive, "approve", "acme/weather", "--grant", "kv")
	state(exitOK, protocol.PluginActive, "add", r.file("weather-2.wasm", weather("2.0.0", requestKV)))
	state(exitOK, protocol.PluginActive, "rollback", "acme/weather")
	state(exitOK, protocol.PluginDisabled, "disable", "acme/weather")
	state(exitOK, protocol.PluginActive, "enable", "acme/weather")
	state(exitOK, protocol.PluginActive, "reload", "acme/weather")
	var removed removedPlugin
	says(exitOK, &removed, "remove", "acme/weather")
	if removed != (removedPlugin{ID: "acme/weather", Removed: true}) {
		t.Errorf("%+v", removed)
	}
	var trusted protocol.TrustedFolder
	says(exitOK, &trusted, "trust", r.project)
	if trusted.Root == "" {
		t.Errorf("%+v", trusted)
	}
	var distrusted distrustedFolder
	says(exitOK, &distrusted, "distrust", r.project)
	if distrusted.Root == "" || distrusted.Trusted {
		t.Errorf("%+v", distrusted)
	}
}

// Flags that say different things are a wrong command line, before anything is done.
func TestGrantFlagsExcludeEachOther(t *testing.T) {
	r := newRig(t)
	file := r.file("weather.wasm", weather("1.0.0", requestKV))
	for _, all := range []string{"--grant-all", "--yes"} {
		r.pluginSays(exitUsage, []string{"--grant names what is granted", "give one"}, "add", file, "--grant", "kv", all)
		r.pluginSays(exitUsage, []string{"give one"}, "approve", "acme/weather", "--grant", "kv", all)
	}
	r.pluginSays(exitFailed, []string{"there is no plugin acme/weather"}, "show", "acme/weather")
}
