package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// all is a guest with every entry, and tables that declare all four kinds.
func all() (*bridgetest.Guest, string) {
	guest := saying("hello").Answers(abi.ExportContext, `{"ok":{"sources":[]}}`).Answers(abi.ExportTransform, `{"ok":{"edits":[]}}`).
		Traps(abi.ExportProviderEncode).Traps(abi.ExportProviderDecode).Traps(abi.ExportProviderClassify)
	return guest, toolTable("greet") + "timeout_ms = 1500\n[[context]]\nkey = \"acme/all/now\"\n[[provider]]\nid = \"codec\"\nframing = \"sse\"\n" +
		"[[transform]]\nname = \"rules\"\nwrites = [\"system\"]\norder = 7\n"
}

func connection(t *testing.T, plugin, codec string) Connection {
	return Connection{Plugin: plugin, Codec: codec, Open: func(auth egress.Auth) (*egress.Client, error) {
		if auth != (egress.Auth{}) {
			t.Errorf("auth %+v", auth)
		}
		return egress.New(egress.Options{BaseURL: "http://127.0.0.1:1/v1"})
	}}
}

func TestAnActivePluginIsInTheRegistries(t *testing.T) {
	w := newWorld(t, Options{Providers: map[string]Connection{"local": connection(t, "acme/all", ""), "other": connection(t, "acme/all", "codec")}})
	guest, tables := all()
	candidate := packed(t, guest, manifest("acme/all", tables))
	if err := w.add(candidate); err != nil {
		t.Fatal(err)
	}
	want := []string{"tool greet of acme/all", "context acme/all of acme/all", "provider local of acme/all", "provider other of acme/all", "transform acme/all/rules of acme/all"}
	if diff := cmp.Diff(want, w.names()); diff != "" {
		t.Error(diff)
	}
	if text, err := w.call(t, "greet"); text != "hello" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	status := w.show("acme/all")
	current := status.Current()
	if status.State != session.PluginStateActive || !status.Serving || current == nil || current.Digest != candidate.Digest || current.Source != SourceUpload ||
		current.Origin != "test.wasm" || current.Version != "1.0.0" || current.State != session.RevisionActive || status.Figures.Calls != 1 {
		t.Errorf("%+v", status)
	}
	pin := w.registries.Pin("")
	defer pin.Release()
	tool, _ := registry.Lookup(pin, w.kinds.Tools, "greet")
	if definition := tool.Value.Definition(); definition.Timeout.Milliseconds() != 1500 || !definition.Permission.ByOperation || tool.Revision != status.Revision || tool.Builtin {
		t.Errorf("%+v", tool)
	}
	transform, _ := registry.Lookup(pin, w.kinds.Transforms, "acme/all/rules")
	if spec := transform.Value.Spec(); spec.Order != 7 || transform.Order != 7 || spec.Name != "rules" {
		t.Errorf("%+v", transform)
	}
	source, _ := registry.Lookup(pin, w.kinds.Contexts, "acme/all")
	if diff := cmp.Diff([]string{"acme/all/now"}, source.Value.Keys()); diff != "" {
		t.Error(diff)
	}
}

// The settings are part of the revision: other settings are another behaviour.
func TestRevisionsNameModuleAndSettings(t *testing.T) {
	seen := map[string]bool{}
	for _, parts := range [][2]string{{"m", ""}, {"m", "{}"}, {"m{}", ""}, {"n", ""}} {
		revision := revisionOf(parts[0], []byte(parts[1]))
		if seen[revision] || len(revision) != 16 || revision != revisionOf(parts[0], []byte(parts[1])) {
			t.Errorf("%q: %s", parts, revision)
		}
		seen[revision] = true
	}
}

// importing is a guest with the tool and transform entries that can ask the host.
func importing() *bridgetest.Guest {
	const ok = `{"ok":{}}`
	guest := bridgetest.NewAsking().Answers(abi.ExportTool, ok).Answers(abi.ExportTransform, ok)
	for _, export := range []string{abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify} {
		guest.Answers(export, ok)
	}
	return guest
}

func TestPluginsThatAreNotAdmitted(t *testing.T) {
	const (
		provider  = "[[provider]]\nid = \"codec\"\nframing = \"sse\"\n"
		transform = "[[transform]]\nname = \"rules\"\nwrites = [\"system\"]\n"
		imports   = "(a host operation, which providers and transforms may not use); take the operations out: what such a plugin needs comes with its input"
	)
	foreign := new(wasmtest.Module)
	foreign.Import("env", "abort", nil, nil)
	foreign.Core()
	start := func(answer string) *bridgetest.Guest { return saying("x").Answers(abi.ExportInit, answer) }
	tests := []struct {
		name, tables, want string
		module             []byte
	}{
		{"no such entry", transform, "exports: it must export plinth_transform_apply, a function of type (i32,i32)->(i64); link its kind in, which exports it, or take the table that declares it out of the manifest", saying("x").Bytes()},
		{"no exports at all", toolTable("a"), "exports: it must export the marker function plinth_abi_1; build it with a current SDK", foreign.Bytes()},
		{"not a module", toolTable("a"), "parse at byte 0: this is not a WebAssembly module", []byte("text")},
		{"a provider with operations", provider, imports, importing().Bytes()},
		{"a transform with operations", transform, imports, importing().Bytes()},
		{"a tool with operations beside a transform", toolTable("a") + transform, imports, importing().Bytes()},
		{"more memory than allowed", toolTable("a") + "[limits]\nmemory_mib = 1\n", "limits: ", saying("x").Bytes()},
		{"a start that traps", toolTable("a"), "start: an instance does not start: plinth_init: trap in plinth_init: ", saying("x").Traps(abi.ExportInit).Bytes()},
		{"a start that refuses", toolTable("a"), "start: an instance does not start: plinth_init: invalid_input: no rules", start(`{"error":{"kind":"invalid_input","message":"no rules"}}`).Bytes()},
		{"a start without an answer", toolTable("a"), "start: an instance does not start: plinth_init: it has neither ok nor error", start(`{}`).Bytes()},
	}
	w := newWorld(t, Options{})
	for _, test := range tests {
		declared, err := DecodeManifest("plugin.toml", []byte(manifest("acme/bad", test.tables)), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(test.module)
		err = w.add(Candidate{Origin: "here", Manifest: declared, Wasm: test.module, Digest: hex.EncodeToString(sum[:])})
		var refusal *wasm.AdmissionError
		if !errors.As(err, &refusal) || !strings.HasPrefix(err.Error(), "plugin acme/bad from here: module acme/bad: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.name, err, test.want)
		}
		if status := w.show("acme/bad"); status.State != session.PluginStateFailed || status.Error != fmt.Sprint(err) || status.Serving {
			t.Errorf("%s: %+v", test.name, status)
		}
	}
	if names := w.names(); names != nil {
		t.Errorf("registered: %q", names)
	}
	// The same tool may ask when no codec or transform is beside it.
	if err := w.add(packed(t, importing(), manifest("acme/asking", toolTable("a")))); err != nil {
		t.Error(err)
	}
}

// One bad plugin takes nothing from the good ones, whatever the order.
func TestGoodPluginsBesideABadOne(t *testing.T) {
	w := newWorld(t, Options{Providers: map[string]Connection{"cloud": connection(t, "acme/bad", "")}})
	w.Refused(&ManifestError{File: "plugins/broken/plugin.toml", Line: 3, Key: "id", Text: "it must be a string"})
	w.Refused(&SourceError{Origin: "plugins/text.wasm", Err: errors.New("this is not a WebAssembly module")})
	for _, id := range []string{"first", "bad", "last"} {
		guest := saying(id)
		if id == "bad" {
			guest.Traps(abi.ExportInit)
		}
		if err := w.add(packed(t, guest, manifest("acme/"+id, toolTable(id)))); (err != nil) != (id == "bad") {
			t.Errorf("%s: %v", id, err)
		}
	}
	if diff := cmp.Diff([]string{"tool first of acme/first", "tool last of acme/last", "provider cloud of core/unavailable"}, w.names()); diff != "" {
		t.Error(diff)
	}
	if text, err := w.call(t, "last"); text != "last" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	var states []string
	for _, status := range w.List() {
		states = append(states, status.ID+" "+string(status.State))
	}
	if diff := cmp.Diff([]string{"acme/first active", "acme/bad failed", "acme/last active"}, states); diff != "" {
		t.Error(diff)
	}
	refused := []Refusal{{"plugins/broken/plugin.toml", "plugins/broken/plugin.toml:3: id: it must be a string"},
		{"plugins/text.wasm", "plugins/text.wasm: this is not a WebAssembly module"}}
	if diff := cmp.Diff(refused, w.Refusals()); diff != "" {
		t.Error(diff)
	}
	if reason := w.asked("cloud"); !strings.HasPrefix(reason, "the provider cloud needs the plugin acme/bad, which was refused: plugin acme/bad from test.wasm: ") {
		t.Error(reason)
	}
}

// A name that another plugin has refuses the whole plugin: of it there is only what stands
// in for its context sources.
func TestActivationIsAllOrNothing(t *testing.T) {
	w := newWorld(t, Options{Providers: map[string]Connection{"local": connection(t, "acme/second", "")}})
	if err := w.add(packed(t, saying("first"), manifest("acme/first", toolTable("greet")))); err != nil {
		t.Fatal(err)
	}
	before := w.names()
	guest, tables := all()
	second := packed(t, guest, strings.ReplaceAll(manifest("acme/second", toolTable("wave")+tables), "acme/all", "acme/second"))
	err := w.add(second)
	var duplicate *registry.DuplicateError
	if !errors.As(err, &duplicate) || duplicate.Name != "greet" || duplicate.Holder != "acme/first" ||
		!strings.HasPrefix(err.Error(), "plugin acme/second from test.wasm: ") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(slices.Insert(before, 1, "context acme/second of acme/second"), w.names()); diff != "" {
		t.Error(diff)
	}
	isUnavailable(t, w.contexts()["acme/second"], "acme/second/now")
	if text, err := w.call(t, "greet"); text != "first" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	builtin := packed(t, saying("builtin"), manifest("acme/builtin", toolTable("wave")))
	builtin.Builtin = true
	if err := w.add(builtin); err != nil {
		t.Errorf("the name that the refused plugin wanted is free: %v", err)
	}
	err = w.add(packed(t, saying("x"), manifest("acme/third", toolTable("wave"))))
	if _, ok := errors.AsType[*registry.ReservedError](err); !ok {
		t.Errorf("a builtin's name: %v", err)
	}
}

// Two plugins of one id: the second would take the place of the first, unseen.
func TestAnIDIsActiveOnce(t *testing.T) {
	w := newWorld(t, Options{Providers: map[string]Connection{"local": connection(t, "acme/twin", "")}})
	guest, tables := all()
	first := packed(t, guest, strings.ReplaceAll(manifest("acme/twin", tables), "acme/all", "acme/twin"))
	if err := w.add(first); err != nil {
		t.Fatal(err)
	}
	before := w.names()
	second := packed(t, saying("second"), manifest("acme/twin", toolTable("other")))
	_, err := w.Offer(t.Context(), Offer{Candidate: second, Source: SourceFolder, By: session.System()})
	want := "plugin acme/twin from test.wasm: the plugin from test.wasm has this id; remove one, or give it an id of its own"
	if fmt.Sprint(err) != want {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, w.names()); diff != "" {
		t.Error(diff)
	}
}

func TestAPluginThatFailedLeavesItsID(t *testing.T) {
	w := newWorld(t, Options{})
	bad := packed(t, saying("x").Traps(abi.ExportInit), manifest("acme/again", toolTable("a")))
	if err := w.add(bad); err == nil {
		t.Fatal("a plugin that cannot start is active")
	}
	if err := w.add(packed(t, saying("good"), manifest("acme/again", toolTable("a")))); err != nil {
		t.Error(err)
	}
}

func TestADisabledPluginIsNotRead(t *testing.T) {
	w := newWorld(t, Options{Settings: map[string]Settings{"acme/off": {Disabled: true}}})
	if err := w.add(Candidate{Origin: "here", Manifest: abi.Manifest{ID: "acme/off", Version: "1.0.0"}, Wasm: []byte("not looked at")}); err != nil {
		t.Error(err)
	}
	if all := w.List(); len(all) != 0 || len(w.history()) != 0 {
		t.Errorf("%+v, %q", all, w.history())
	}
}

func TestSettingsAreHeldToTheSchema(t *testing.T) {
	const config = "[config]\nschema = '{\"type\":\"object\",\"properties\":{\"rules\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"additionalProperties\":false}'\n"
	guest := bridgetest.New().Reflects(abi.ExportInit, `{"error":{"kind":"failed","message":"seen"},"call":`, `}`).Answers(abi.ExportTool, `{"ok":{}}`)
	tests := []struct {
		name     string
		tables   string
		settings map[string]any
		want     string
	}{
		{"none", config, nil, "failed: seen"}, // the guest was started with them
		{"good", config, map[string]any{"rules": []any{"a"}}, "failed: seen"},
		{"bad", config, map[string]any{"rules": []any{"a", int64(3)}}, `plugins."acme/set".config does not fit the plugin's schema: /rules/1: got number, want string`},
		{"misspelt", config, map[string]any{"rule": "a"}, `plugins."acme/set".config does not fit the plugin's schema: additional properties 'rule' not allowed`},
		{"not wanted", "", map[string]any{"rules": "a"}, `plugins."acme/set".config: the plugin has no settings; remove them`},
	}
	for _, test := range tests {
		w := newWorld(t, Options{Settings: map[string]Settings{"acme/set": {Config: test.settings}}})
		err := w.add(packed(t, guest, manifest("acme/set", test.tables+toolTable("a"))))
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.name, err, test.want)
		}
	}
}

// asked is what a provider fails with when it is asked.
func (w *world) asked(provider string) string {
	w.t.Helper()
	pin := w.registries.Pin("")
	defer pin.Release()
	entry, ok := registry.Lookup(pin, w.kinds.Providers, provider)
	if !ok {
		w.t.Fatalf("there is no provider %s", provider)
	}
	for _, err := range entry.Value.Stream(w.t.Context(), session.ModelRequest{}) {
		if failed, ok := errors.AsType[*session.Failure](err); ok {
			return failed.Message
		}
	}
	return ""
}

// A provider that cannot be used says why, and keeps nothing else of the plugin out.
func TestProvidersNeedTheirCodec(t *testing.T) {
	guest, tables := all()
	tests := []struct {
		name       string
		connection Connection
		want       string
	}{
		{"another codec", connection(t, "acme/all", "cohere"), `providers.cloud: the plugin acme/all has no provider codec "cohere"`},
		{"a connection that cannot be made", Connection{Plugin: "acme/all", Open: func(egress.Auth) (*egress.Client, error) {
			return nil, errors.New("the base URL is empty")
		}}, "providers.cloud: the base URL is empty"},
	}
	for _, test := range tests {
		w := newWorld(t, Options{Providers: map[string]Connection{"cloud": test.connection, "a": connection(t, "acme/all", "")}})
		w.must(packed(t, guest, manifest("acme/all", tables)))
		names := []string{"tool greet of acme/all", "context acme/all of acme/all", "provider a of acme/all", "provider cloud of core/unavailable", "transform acme/all/rules of acme/all"}
		if diff := cmp.Diff(names, w.names()); diff != "" {
			t.Errorf("%s: registered %s", test.name, diff)
		}
		if reason := w.asked("cloud"); reason != test.want {
			t.Errorf("%s: %s", test.name, reason)
		}
	}
}

func TestWhatAPluginPrintsIsLoggedUnderItsName(t *testing.T) {
	var text bytes.Buffer
	w := newWorld(t, Options{Logger: hclog.New(&hclog.LoggerOptions{Name: "plugin", Output: &text, Level: hclog.Debug, DisableTime: true})})
	guest := bridgetest.NewPrinting().Prints(abi.ExportTool, "sunny\n", `{"ok":{"content":[{"type":"text","text":""}]}}`)
	if err := w.add(packed(t, guest, manifest("acme/weather", toolTable("weather")))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.call(t, "weather"); err != nil {
		t.Error(err)
	}
	if want := "[INFO]  plugin.acme/weather: sunny\n"; !strings.HasSuffix(text.String(), want) {
		t.Errorf("logged %q", text.String())
	}
}

// waiting is a session whose progress waits.
type waiting struct {
	session.ToolHost
	reached, release chan struct{}
}

func (w waiting) Progress(string) {
	close(w.reached)
	<-w.release
}

// Closing takes the plugins out, lets a call that runs end, and then refuses.
func TestClosingReleasesEverything(t *testing.T) {
	w := newWorld(t, Options{Providers: map[string]Connection{"local": connection(t, "acme/all", "")}})
	guest, tables := all()
	if err := w.add(packed(t, guest, manifest("acme/all", tables))); err != nil {
		t.Fatal(err)
	}
	slow := bridgetest.NewAsking().Asks(abi.ExportTool, abi.OpProgress, `{"text":"x"}`, `{"ok":{"structured":`, `}}`)
	if err := w.add(packed(t, slow, manifest("acme/slow", toolTable("slow")))); err != nil {
		t.Fatal(err)
	}
	pin := w.registries.Pin("")
	defer pin.Release()
	entry, _ := registry.Lookup(pin, w.kinds.Tools, "slow")
	host := waiting{reached: make(chan struct{}), release: make(chan struct{})}
	result, closed := make(chan error, 1), make(chan error, 1)
	execute := func(host session.ToolHost) error {
		_, err := entry.Value.Execute(context.WithoutCancel(t.Context()), session.ToolCall{Input: []byte("{}"), Host: host})
		return err
	}
	go func() { result <- execute(host) }()
	<-host.reached
	go func() { closed <- w.Close() }()
	close(host.release)
	if err := <-result; err != nil {
		t.Errorf("the call that ran: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if names := w.names(); names != nil {
		t.Errorf("registered: %q", names)
	}
	var told *session.ToolError
	if err := execute(host); !errors.As(err, &told) || told.Kind != "unavailable" {
		t.Errorf("a call of a pinned tool afterwards: %v", err)
	}
	if err := w.add(packed(t, saying("late"), manifest("acme/late", toolTable("late")))); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("a plugin afterwards: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}
