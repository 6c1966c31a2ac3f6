// Package mistakes makes the mistakes that authors of plugins make, and reads what they
// are told: table_test.go lists them, each with the texts that its message must have.
// docs/reference/mistakes.md is written from the same list.
package mistakes

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/depot"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../.."

// files are what an author has in her plugin's folder, by name.
type files map[string]string

// with has more files, or others in the place of some.
func (f files) with(more files) files {
	all := maps.Clone(f)
	maps.Copy(all, more)
	return all
}

// author works on plugins, and reads what she is told.
type author struct {
	*testing.T
	home string // the folder that her plugins lie in
}

func newAuthor(t *testing.T) *author { return &author{T: t, home: t.TempDir()} }

// folder writes a plugin's folder.
func (a *author) folder(name string, files files) string {
	a.Helper()
	folder := filepath.Join(a.home, name)
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			a.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			a.Fatal(err)
		}
	}
	return folder
}

// told is a message with paths as seen from where the author works.
func (a *author) told(err error) string {
	a.Helper()
	if err == nil {
		a.Fatal("nothing is wrong with it")
	}
	return strings.ReplaceAll(err.Error(), a.home+string(filepath.Separator), "")
}

// pack is plinth plugin pack.
func (a *author) pack(files files) string {
	a.Helper()
	folder := a.folder("weather", files)
	packed, err := plugin.Pack(folder)
	var candidate plugin.Candidate
	if err == nil {
		candidate, err = plugin.Packed(folder, packed, false)
	}
	if err == nil {
		_, err = plugin.Inspect(candidate)
	}
	return a.told(err)
}

// test is plinth plugin test.
func (a *author) test(files files) string {
	a.Helper()
	candidate, err := plugin.At(a.folder("weather", files))
	if err != nil {
		a.Fatal(err)
	}
	goldens, err := candidate.Goldens()
	if err != nil {
		a.Fatal(err)
	}
	engine, err := plugin.NewEngine(plugin.EngineOptions{}, hclog.NewNullLogger())
	if err != nil {
		a.Fatal(err)
	}
	defer engine.Close()
	proofs, err := plugin.Prove(a.Context(), engine, candidate, goldens)
	for _, proof := range proofs {
		err = errors.Join(err, proof.Err)
	}
	return a.told(err)
}

// add is plinth plugin add, with all granted, to a host that runs.
func (a *author) add(files files) string {
	a.Helper()
	h := a.host(nil)
	return a.told(h.offer("weather", files, true))
}

// call has a model call the tool weather of a plugin that was added, with all granted.
// It answers what the model is told and, below it, what the host's log has.
func (a *author) call(files files, input string) string {
	a.Helper()
	h := a.host(nil)
	h.serve("weather", files, true)
	return h.call("weather", input)
}

// host is a host that runs, with a session.
type host struct {
	*author
	world   *sessiontest.World
	manager *plugin.Manager
	log     *hostLog
	session string
}

// hostLog is what the host's log has.
type hostLog struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *hostLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(line)
}

func (l *hostLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// host starts one with the operator's settings of plugins, by their ids.
func (a *author) host(settings map[string]plugin.Settings) *host {
	a.Helper()
	h := &host{author: a, world: sessiontest.New(a.T, sessiontest.Options{}), log: new(hostLog)}
	private := a.TempDir()
	kept, err := depot.Open(filepath.Join(private, "plugins"))
	if err != nil {
		a.Fatal(err)
	}
	h.manager, err = plugin.NewManager(plugin.Options{
		Registries: h.world.Registries, Kinds: h.world.Kinds, Depot: kept, Settings: settings,
		Logger: hclog.New(&hclog.LoggerOptions{Output: h.log, Level: hclog.Info, DisableTime: true}),
		Ledger: session.NewPlugins(h.world.Log, h.world.Encoder),
		Services: &bridge.Services{Private: []string{private}, Writer: &fsys.Writer{}, Store: bridge.NewPluginStore(h.world.Log.KV()),
			Blobs: h.world.Log.Blobs(), Clock: sessiontest.Clock{}, Rules: h.world.Permissions},
	})
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() {
		h.world.Coordinator.Close(0)
		if err := h.manager.Close(); err != nil {
			a.Error(err)
		}
	})
	if err := h.manager.Start(a.Context(), nil, nil, nil); err != nil {
		a.Fatal(err)
	}
	h.manager.Ready(a.Context(), patience)
	work := filepath.Join(a.home, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		a.Fatal(err)
	}
	made, _, err := h.world.Sessions.Create(a.Context(), session.System(), session.CreateRequest{Directory: work})
	if err != nil {
		a.Fatal(err)
	}
	h.session = made.ID
	return h
}

// patience bounds the wait for what does not come.
const patience = 2 * time.Minute

// offer sends a plugin to the host, which answers why it does not serve.
func (h *host) offer(name string, files files, granted bool) error {
	h.Helper()
	candidate, err := plugin.At(h.folder(name, files))
	if err != nil {
		h.Fatal(err)
	}
	grants := []string{}
	if granted {
		report, err := plugin.Inspect(candidate)
		if err != nil {
			h.Fatal(err)
		}
		for _, request := range report.Requests {
			grants = append(grants, request.Key)
		}
	}
	_, err = h.manager.Offer(h.Context(), plugin.Offer{Candidate: candidate, Source: plugin.SourceUpload,
		By: session.Origin{Actor: "local:1000"}, Grants: grants})
	return err
}

// serve is offer of a plugin that comes to serve.
func (h *host) serve(name string, files files, granted bool) {
	h.Helper()
	if err := h.offer(name, files, granted); err != nil {
		h.Fatal(err)
	}
}

// call has the model call a tool. It answers what the model is told and, below it, what
// the host's log has.
func (h *host) call(tool, input string) string {
	h.Helper()
	h.world.Provider.Script(sessiontest.Calls(tool, input), sessiontest.Say("Done"))
	h.world.Prompt(h.session, "Go", session.Steer)
	h.world.Settled(h.session, 1)
	var told []string
	for _, message := range h.world.Messages(h.session) {
		for _, part := range message.Parts {
			if part.Tool == nil {
				continue
			}
			if part.Tool.Error != nil {
				told = append(told, part.Tool.Error.Message)
			}
			for _, content := range part.Tool.Content {
				told = append(told, content.Text)
			}
		}
	}
	if len(told) == 0 {
		h.Fatal("the call is not in the transcript")
	}
	return strings.ReplaceAll(strings.Join(told, "\n")+"\n"+h.log.text(), h.home+string(filepath.Separator), "")
}
