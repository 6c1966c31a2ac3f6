package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

// TestPluginCases are the cases of what plugins contribute, and of how they come and go.
func TestPluginCases(t *testing.T) {
	t.Parallel()
	sessiontest.Cases(t, "K", []sessiontest.Case{
		{Number: 275, Text: "Of two transforms the second sees what the first wrote; without the first the request is what the second alone makes of it; " +
			"taking the first out twice is once.",
			Ours: "A transform is run for each request, and nothing is replayed. What it wrote into the system text stays until the session's next context epoch. " +
				"Who takes out what is not there is told so, and nothing is recorded.",
			Run: transformsInTurn},
		{Number: 277, Text: "Five contributions to two registries made together change each of them once.",
			Ours: "They change all registries at once: no turn sees some of what a plugin contributes without the rest.", Run: contributionsTogether},
		{Number: 278, Text: "Who gives up in the middle of adding a plugin leaves all of it or nothing.",
			Ours: "The adding goes on without who waited for it, and ends with all of it, or with the reason in the log.", Run: addingGoesOn},
		{Number: 280, Text: "A plugin that is added twice at once is added one after the other, and one of the two is left.",
			Ours: "The old one serves until the new one has proved itself, not only until its setup begins: there is no moment without either, " +
				"and one that fails leaves the old one. Of several that wait the newest is taken.",
			Run: addedTwice},
		{Number: 281, Text: "A shutdown closes all plugins together.",
			Ours: "The log still says that they serve, so that the next start brings them back without asking.", Run: shutDown},
		{Number: 283, Text: "Transforms are run in their order, later ones see what earlier ones changed, and one that was taken out is not run.",
			Ours: "The order is a number in the manifest, then the name; a plugin that was replaced keeps its place.", Run: transformOrder},
		{Number: 284, Text: "Whether a provider may be used follows from what is configured: one that is disabled may not.",
			Ours: "A provider that is configured and cannot be used is there all the same, and fails with the reason: a session that names it learns why. " +
				"There is no catalog of others.",
			Run: providersSayWhy},
		{Number: 289, Text: "A session whose model cannot be had fails with the reason, and nothing is sent.",
			Ours: "There is one code, model_unavailable, and the message says what is missing: the provider, its plugin, or the model.", Run: modelNotThere},
	})
}

// appends has a transform that adds a text to the system text.
func appends(t *testing.T, m *Manager, id, order, text string) {
	t.Helper()
	add(t, m, id, `writes = ["system"]`+"\norder = "+order+"\n", `{"part":"system","op":"append","id":"`+id+`","value":"`+text+`"}`)
}

func systemOf(request session.ModelRequest) string {
	var texts []string
	for _, part := range request.System {
		texts = append(texts, part.Text)
	}
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}

func transformsInTurn(t *testing.T) {
	w, m := kernel(t)
	appends(t, m, "acme/first", "1", "first")
	add(t, m, "acme/second", `writes = ["system"]`+"\norder = 2\non_error = \"skip\"\n", `{"part":"system","op":"replace","id":"acme/first","value":"seen"}`)
	if request, failure := ask(t, w, w.Create(), 1); failure != "" || systemOf(request) != "seen" {
		t.Errorf("%q %q", failure, systemOf(request))
	}
	if err := m.Remove(t.Context(), ann, Ref{ID: "acme/first"}, Removal{}); err != nil {
		t.Fatal(err)
	}
	head := func() int64 {
		page, err := w.Log.Read(t.Context(), session.Host, -1, 1)
		if err != nil {
			t.Fatal(err)
		}
		return page.Head.Seq
	}
	w.Await(session.Host, session.PluginRetired{}.EventType(), 1)
	before := head()
	if err := m.Remove(t.Context(), ann, Ref{ID: "acme/first"}, Removal{}); !errors.Is(err, ErrUnknown) || head() != before {
		t.Errorf("%v, %d events more", err, head()-before)
	}
	if request, failure := ask(t, w, w.Create(), 1); failure != "" || systemOf(request) != "" {
		t.Errorf("%q %q", failure, systemOf(request))
	}
}

// five is a plugin with three tools and two transforms, all named with its version.
func five(t *testing.T, version string) Candidate {
	t.Helper()
	tables := ""
	for i := range 3 {
		tables += toolTable(fmt.Sprintf("tool%d_%s", i, version))
	}
	for i := range 2 {
		tables += fmt.Sprintf("[[transform]]\nname = \"rule%d-%s\"\nwrites = [\"system\"]\n", i, version)
	}
	guest := saying(version).Answers(abi.ExportTransform, `{"ok":{"edits":[]}}`)
	return versioned(t, guest, "acme/five", "1.0."+version, tables)
}

// watchNames looks at the registries until it is told to end, and answers each state that
// it saw that should not be.
func (w *world) watchNames(good func(names []string) bool) (end func() [][]string) {
	stop, done := make(chan struct{}), make(chan [][]string)
	go func() {
		var bad [][]string
		for {
			if names := w.names(); !good(names) {
				bad = append(bad, names)
			}
			select {
			case <-stop:
				done <- bad
				return
			default:
			}
		}
	}()
	return func() [][]string { close(stop); return <-done }
}

func contributionsTogether(t *testing.T) {
	w := newWorld(t, Options{})
	end := w.watchNames(func(names []string) bool {
		versions := map[string]bool{}
		for _, name := range names {
			name, _, _ = strings.Cut(name, " of ")
			versions[name[len(name)-1:]] = true
		}
		return len(names) == 0 || len(names) == 5 && len(versions) == 1
	})
	for _, version := range []string{"1", "2", "3", "4"} {
		w.must(five(t, version))
	}
	if bad := end(); len(bad) > 0 {
		t.Errorf("%q", bad)
	}
}

func addingGoesOn(t *testing.T) {
	w := newWorld(t, Options{})
	s := w.slot("acme/five", "")
	if err := s.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Offer(ctx, Offer{Candidate: five(t, "1"), Source: SourceUpload, By: ann}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if names := w.names(); names != nil {
		t.Errorf("%q", names)
	}
	s.yield()
	w.await("activated acme/five", 1)
	if names := w.names(); len(names) != 5 {
		t.Errorf("%q", names)
	}
}

func addedTwice(t *testing.T) {
	w := newWorld(t, Options{})
	w.must(greeter(t, "acme/a", "0.0.1", "before"))
	end := w.watchNames(func(names []string) bool { return slices.Equal(names, []string{"tool greet of acme/a"}) })
	var both sync.WaitGroup
	for i := range 2 {
		candidate := greeter(t, "acme/a", fmt.Sprintf("1.0.%d", i), fmt.Sprint(i))
		candidate.Origin = fmt.Sprintf("%d.wasm", i) // so that neither takes the other's place in line
		both.Go(func() {
			if err := w.add(candidate); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if err := w.add(versioned(t, saying("x").Traps(abi.ExportInit), "acme/a", "2.0.0", toolTable("greet"))); err == nil {
		t.Error("it serves")
	}
	if bad := end(); len(bad) > 0 {
		t.Errorf("%q", bad)
	}
	status := w.show("acme/a")
	w.says("greet", strings.TrimPrefix(status.Current().Version, "1.0."))
	active := 0
	for _, revision := range status.Revisions {
		if revision.State == session.RevisionActive {
			active++
		}
	}
	if n := w.count("activated acme/a"); n != 3 || active != 1 {
		t.Errorf("%d activations, %d active", n, active)
	}
}

func shutDown(t *testing.T) {
	w := newWorld(t, Options{})
	for i := range 3 {
		w.must(packed(t, saying(fmt.Sprint(i)), manifest(fmt.Sprintf("acme/p%d", i), toolTable(fmt.Sprintf("tool%d", i)))))
	}
	served, names, old := w.served(), w.names(), w.turn()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if left := w.names(); left != nil {
		t.Errorf("%q", left)
	}
	for i := range 3 {
		var told *session.ToolError
		if _, err := old.call(fmt.Sprintf("tool%d", i), ""); !errors.As(err, &told) || told.Kind != "unavailable" {
			t.Errorf("%v", err)
		}
	}
	if err := w.add(greeter(t, "acme/late", "1.0.0", "x")); !errors.Is(err, wasm.ErrClosed) {
		t.Errorf("%v", err)
	}
	w.restart(nil)
	if diff := cmp.Diff(served, w.served()) + cmp.Diff(names, w.names()); diff != "" {
		t.Error(diff)
	}
}

func transformOrder(t *testing.T) {
	w, m := kernel(t)
	appends(t, m, "acme/c", "5", "c")
	appends(t, m, "acme/z", "1", "z")
	appends(t, m, "acme/b", "5", "b")
	if request, failure := ask(t, w, w.Create(), 1); failure != "" || systemOf(request) != "z b c" {
		t.Errorf("%q %q", failure, systemOf(request))
	}
	appends(t, m, "acme/b", "5", "better")
	if request, failure := ask(t, w, w.Create(), 1); failure != "" || systemOf(request) != "z better c" {
		t.Errorf("%q %q", failure, systemOf(request))
	}
	if _, err := m.Disable(t.Context(), ann, Ref{ID: "acme/z"}); err != nil {
		t.Fatal(err)
	}
	if request, failure := ask(t, w, w.Create(), 1); failure != "" || systemOf(request) != "better c" {
		t.Errorf("%q %q", failure, systemOf(request))
	}
}

// codecPlugin is a plugin with a codec.
func codecPlugin(t *testing.T) Candidate {
	t.Helper()
	guest := bridgetest.New().Traps(abi.ExportProviderEncode).Traps(abi.ExportProviderDecode).Traps(abi.ExportProviderClassify)
	return packed(t, guest, manifest("acme/codec", "[[provider]]\nid = \"codec\"\nframing = \"sse\"\n"))
}

func providersSayWhy(t *testing.T) {
	w := newWorld(t, Options{Providers: map[string]Connection{"cloud": connection(t, "acme/codec", "")}})
	w.start(nil)
	says := func(want string) {
		t.Helper()
		if reason := w.asked("cloud"); !strings.HasPrefix(reason, "the provider cloud needs the plugin acme/codec, which "+want) {
			t.Error(reason)
		}
	}
	says("is not there; ")
	w.must(codecPlugin(t))
	if diff := cmp.Diff([]string{"provider cloud of acme/codec"}, w.names()); diff != "" {
		t.Error(diff)
	}
	if _, err := w.Disable(t.Context(), ann, Ref{ID: "acme/codec"}); err != nil {
		t.Fatal(err)
	}
	says("is disabled; enable it with plinth plugin enable acme/codec")
	if _, err := w.Enable(t.Context(), ann, Ref{ID: "acme/codec"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Remove(t.Context(), ann, Ref{ID: "acme/codec"}, Removal{Patience: time.Second}); err != nil {
		t.Fatal(err)
	}
	says("is not there; ")
}

func modelNotThere(t *testing.T) {
	w, m := kernel(t)
	w.Contribute("core/unavailable-test", w.Kinds.Providers.Contribute("cloud", 0, session.Provider(unavailable{"the provider cloud needs the plugin acme/codec, which is not there"})))
	pin := w.Registries.Pin("")
	if _, ok := registry.Lookup(pin, w.Kinds.Providers, "nowhere"); ok {
		t.Error("there is a provider nowhere")
	}
	pin.Release()
	for provider, want := range map[string]string{"cloud": "the provider cloud needs the plugin acme/codec, which is not there", "nowhere": "nowhere"} {
		id := w.Create()
		if _, err := w.Sessions.Admit(t.Context(), session.System(), session.PromptRequest{Session: id,
			Prompt: session.Prompt{Text: "Hi", Model: &session.ModelRef{Provider: provider, Model: "m"}}, Delivery: session.Steer}); err != nil {
			t.Fatal(err)
		}
		events := sessiontest.Text(w.Settled(id, 1))
		if !strings.Contains(events, "model_unavailable") || !strings.Contains(events, want) {
			t.Errorf("%s: %s", provider, events)
		}
	}
	if requests := w.Provider.Requests(); len(requests) != 0 || len(m.List()) != 0 {
		t.Errorf("%+v", requests)
	}
}
