package bridge

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// asSource has a context source ask for an operation.
func (r *rig) asSource(t *testing.T, operation, request string) string {
	t.Helper()
	source := &operations{plugin: r.plugin, reach: r.reach, location: r.location,
		asked: silentAuthority{rules: r.reach.Rules, asker: session.Asker{Location: r.location}}}
	body, raw, err := abi.DecodeMessage(source.Call(t.Context(), operation, abi.EncodeMessage([]byte(request), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return string(body) + string(raw)
}

// What the operator's configuration names is lent, wherever links lead, and nothing
// beside it; the permission rules hold.
func TestTheOperatorsFiles(t *testing.T) {
	r := newRig(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"notes/a.md": "A", "notes/b.md": "B", "notes/c.txt": "C", "style.md": "S", "dot/linked.md": "L", "secret.md": "X", "own/o.md": "O"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../dot/linked.md", filepath.Join(base, "notes/linked.md")); err != nil {
		t.Fatal(err)
	}
	r.reach.Rules = &ruled{rules: append(allows("*"), rule("read", base+"/notes/b.md", session.Deny))}
	r.reach.Private = append(r.reach.Private, filepath.Join(base, "own"))
	at := func(name string) string { return `"root":"operator","path":` + encoded(t, name) }
	if refused := failure(t, r.asSource(t, abi.OpFSRead, "{"+at(base+"/style.md")+"}")); refused.Kind != abi.KindDenied || !strings.Contains(refused.Message, "[[request.fs]]") {
		t.Errorf("without a grant: %+v", refused)
	}
	r.reach.Roots[RootOperator] = AccessRead
	r.reach.Files = []string{base + "/notes/*.md", base + "/style.md", base + "/missing.md", base + "/own/*.md"}
	for name, want := range map[string]string{
		base + "/style.md": "S", base + "/notes/a.md": "A", base + "/notes/../style.md": "S", base + "/notes/linked.md": "L",
		base + "/notes/b.md": "denied", base + "/notes/c.txt": "denied", base + "/secret.md": "denied", base + "/notes/../secret.md": "denied", "style.md": "denied", "": "denied", "/": "denied",
		base + "/missing.md": "not_found", base + "/own/o.md": "denied",
	} {
		got := r.asSource(t, abi.OpFSRead, "{"+at(name)+"}")
		if !strings.HasSuffix(got, want) && string(failure(t, strings.TrimSuffix(got, want)).Kind) != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	found := read[abi.FSFound](t, r.asSource(t, abi.OpFSGlob, "{"+at(base+"/notes")+`,"pattern":"*.md"}`))
	var names []string
	for _, file := range found.Files {
		names = append(names, file.Path)
	}
	if diff := cmp.Diff([]string{base + "/notes/a.md", base + "/notes/linked.md"}, names); diff != "" || found.Denied != 1 {
		t.Errorf("%s, %d denied", diff, found.Denied)
	}
	if info := read[abi.FileInfo](t, r.asSource(t, abi.OpFSStat, "{"+at(base+"/notes/linked.md")+"}")); info.Path != base+"/dot/linked.md" {
		t.Errorf("what a link leads to is named %q", info.Path)
	}
}

// A context source fetches what is granted, and nobody is asked for more.
func TestASourceFetches(t *testing.T) {
	r := newRig(t).stored(t)
	url := reaching(t, r, func(w http.ResponseWriter, request *http.Request) {
		fmt.Fprintf(w, "%s %s", request.Method, request.URL.Path)
	})
	r.reach.AnyURL = true
	if got := r.asSource(t, abi.OpHTTPFetch, `{"url":"`+url+`/api/a"}`); !strings.HasSuffix(got, "GET /api/a") {
		t.Errorf("granted: %s", got)
	}
	for name, c := range map[string]struct {
		request string
		kind    abi.Kind
	}{
		"not granted":  {`{"url":"` + url + `/elsewhere"}`, abi.KindDenied},
		"any address":  {`{"url":"https://example.com/"}`, abi.KindDenied},
		"a POST":       {`{"url":"` + url + `/api/a","method":"POST"}`, abi.KindUnavailable},
		"a blob":       {`{"url":"` + url + `/api/a","blob":true}`, abi.KindUnavailable},
		"GET, granted": {`{"url":"` + url + `/api/a","method":"GET"}`, ""},
	} {
		if got := r.asSource(t, abi.OpHTTPFetch, c.request); c.kind == "" && strings.Contains(got, `"error"`) || c.kind != "" && failure(t, got).Kind != c.kind {
			t.Errorf("%s: %s", name, got)
		}
	}
	if len(r.host.asked) > 0 {
		t.Errorf("somebody was asked: %v", r.host.asked)
	}
}

// observing keeps what it is told of reads.
type observing struct {
	*wholeHost
	mu    sync.Mutex
	paths []string
}

func (o *observing) Read(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paths = append(o.paths, path)
}

// The session hears of each file whose content a tool got, by its canonical path, and
// of nothing else.
func TestReadsAreTold(t *testing.T) {
	r := newRig(t).stored(t)
	host := &observing{wholeHost: r.host}
	r.host.rules = append(allows("*"), rule("read", "*.env", session.Deny))
	tool := &operations{plugin: r.plugin, reach: r.reach, location: r.location, asked: &toolAuthority{host: host}, progress: host.Progress, host: host}
	for _, c := range []struct{ operation, request string }{
		{abi.OpFSRead, `{"path":"sub/b.txt"}`}, {abi.OpFSRead, `{"path":` + encoded(t, r.location.Root+"/AGENTS.md") + `}`}, {abi.OpFSRead, `{"root":"project","path":"work/a.txt"}`},
		{abi.OpFSRead, `{"path":` + encoded(t, r.location.Directory+"/a.txt") + `}`}, {abi.OpFSAttach, `{"path":"a.txt"}`},
		{abi.OpFSRead, `{"path":"missing.txt"}`}, {abi.OpFSRead, `{"path":".env"}`}, {abi.OpFSRead, `{"path":"sub"}`}, {abi.OpFSStat, `{"path":"a.txt"}`},
		{abi.OpFSList, `{"path":"sub"}`}, {abi.OpFSGlob, `{"pattern":"**"}`}, {abi.OpFSGrep, `{"pattern":"beta"}`},
	} {
		tool.Call(t.Context(), c.operation, abi.EncodeMessage([]byte(c.request), nil))
	}
	work := r.location.Directory
	want := []string{work + "/sub/b.txt", r.location.Root + "/AGENTS.md", work + "/a.txt", work + "/a.txt", work + "/a.txt"}
	if diff := cmp.Diff(want, host.paths); diff != "" {
		t.Error(diff)
	}
	if again := r.asSource(t, abi.OpFSRead, `{"path":"a.txt"}`); !strings.HasSuffix(again, "alpha") || len(host.paths) != len(want) {
		t.Errorf("a source reads: %s, %v", again, slices.Clone(host.paths))
	}
}
