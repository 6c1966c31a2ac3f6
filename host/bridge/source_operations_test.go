package bridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/session"
)

// A context source with every grant gets none of what is for tools, alone or in a
// batch, and everything else without anybody being asked.
func TestASourceGetsNothingThatIsForTools(t *testing.T) {
	r := newRig(t).stored(t).running(t, process.Options{})
	r.askingFetcher(t)
	r.reach.Rules = &ruled{rules: []session.Rule{rule("*", "*", session.Ask)}}
	before := tree(t, r.location.Root)
	tries := requests()
	perform := func(operation, request string) string {
		source := &operations{plugin: r.plugin, reach: r.reach, location: r.location, asked: silentAuthority{rules: r.reach.Rules, asker: session.Asker{Location: r.location}, plugin: "acme/test"}}
		body, _, err := abi.DecodeMessage(source.Call(t.Context(), operation, abi.EncodeMessage([]byte(request), nil)))
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, operation := range Table() {
		refused := failure(t, perform(operation.Name, tries[operation.Name]))
		batched := read[abi.BatchOK](t, perform(abi.OpBatch, batchOf(t, operation.Name, tries[operation.Name]))).Answers[0]
		switch {
		case operation.Name == abi.OpBatch:
		case operation.Tools:
			if refused.Kind != abi.KindUnavailable || batched.Error == nil || *batched.Error != refused || refused.Message != operation.Name+" is for tools" {
				t.Errorf("%s: %+v, in a batch %+v", operation.Name, refused, batched.Error)
			}
		case operation.Action == actionRead && operation.Name != abi.OpFSStat:
			if refused.Kind != abi.KindDenied || batched.Error == nil || batched.Error.Kind != abi.KindDenied {
				t.Errorf("%s, which would ask: %+v, in a batch %+v", operation.Name, refused, batched.Error)
			}
		case operation.Name == abi.OpHTTPFetch:
			if refused.Kind != abi.KindDenied || batched.Error == nil || batched.Error.Kind != abi.KindDenied { // it is not granted
				t.Errorf("%s: %+v, in a batch %+v", operation.Name, refused, batched.Error)
			}
		case operation.Name == abi.OpKVGet: // nothing is stored yet
		case operation.Name == abi.OpFSStat:
			if refused.Kind != abi.KindDenied { // what would ask is denied
				t.Errorf("%s: %+v", operation.Name, refused)
			}
		case refused.Kind != "":
			t.Errorf("%s: %+v", operation.Name, refused)
		}
	}
	if after := tree(t, r.location.Root); strings.Join(before, "\n") != strings.Join(after, "\n") || len(r.host.asked) > 0 {
		t.Errorf("%v\n%v", after, r.host.asked)
	}
}

// Plinth's own folders are out of reach by an absolute path too, and by any link,
// whatever is allowed.
func TestPlinthsOwnFoldersFromOutside(t *testing.T) {
	r := newRig(t)
	own, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "plinth.db"), []byte("all"), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.Symlink(own, filepath.Join(elsewhere, "link")); err != nil {
		t.Fatal(err)
	}
	r.reach.Private = append(r.reach.Private, own)
	for _, path := range []string{own, own + "/plinth.db", own + "/new", elsewhere + "/link/plinth.db", elsewhere + "/link/new", "/../" + own + "/plinth.db"} {
		name := encoded(t, path)
		for operation, request := range map[string]string{
			abi.OpFSRead: `{"path":` + name + `}`, abi.OpFSStat: `{"path":` + name + `}`, abi.OpFSList: `{"path":` + name + `}`,
			abi.OpFSGlob: `{"pattern":"*","path":` + name + `}`, abi.OpFSGrep: `{"pattern":"a","path":` + name + `}`,
			abi.OpFSCommit: `{"changes":[{"op":"write","path":` + name + `,"text":"x"}]}`,
		} {
			refused := failure(t, r.ask(t, operation, request))
			isNew := strings.HasSuffix(path, "/new") && operation != abi.OpFSCommit
			if refused.Kind == "" || refused.Kind != abi.KindDenied && !isNew {
				t.Errorf("%s %s: %+v", operation, path, refused)
			}
		}
	}
	mustFind(t, own, map[string]string{"plinth.db": "all", "new": ""})
}

// A command ends with its call.
func TestACommandEndsWithItsCall(t *testing.T) {
	r := newRig(t).running(t, process.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	var once sync.Once
	r.host.shown = func(text string) {
		if strings.Contains(text, "started") {
			once.Do(func() { cancel(session.ErrInterrupted) })
		}
	}
	answer, err := r.gated(ctx, t, func(context.Context, session.PermissionRequest) error { return nil }, abi.OpProcessRun,
		`{"command":"echo started; sleep 600; touch made"}`)
	wantCancelled(t, answer, err)
	if ctx.Err() == nil {
		t.Error("it ended before it was cancelled")
	}
	mustFind(t, r.location.Directory, map[string]string{"made": ""})
}
