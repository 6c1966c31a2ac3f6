package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/host/secret"
	"github.com/plinthhost/plinth/registry"
	"github.com/plinthhost/plinth/session"
)

// rig is a hub over registries of its own.
type rig struct {
	t *testing.T
	*Hub
	kind       *registry.Kind[session.Tool]
	registries *registry.Registries
	blobs      *blobs
	log        *journal

	mu       sync.Mutex
	cond     *sync.Cond
	served   []string
	left     []string
	failures map[string]error
	disabled map[string]bool
}

func (r *rig) Serve(_ context.Context, offer Offer) error {
	_, err := r.registries.Replace(registry.Scope{ID: "mcp/" + offer.Name, Contributions: offer.Contributions})
	r.change(func() { r.served = append(r.served, offer.Name) })
	return err
}

func (r *rig) Leave(_ context.Context, name string) error {
	r.registries.Remove("mcp/"+name, "")
	r.change(func() { r.left = append(r.left, name) })
	return nil
}

func (r *rig) Failed(name string, err error) {
	r.change(func() {
		if r.failures[name] = err; err == nil {
			delete(r.failures, name)
		}
	})
}

func (r *rig) Wanted(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.disabled[name]
}

func (r *rig) change(how func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	how()
	r.cond.Broadcast()
}

// until waits for a state of the rig.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	over := time.AfterFunc(20*time.Second, func() { r.change(func() {}) })
	defer over.Stop()
	end := time.Now().Add(20 * time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	for !ok() {
		if time.Now().After(end) {
			r.t.Fatalf("waited in vain: %s\n%s", what, r.log.String())
		}
		r.cond.Wait()
	}
}

func (r *rig) failure(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprint(r.failures[name])
}

// times counts how often a server's tools were served.
func times(names []string, name string) (n int) {
	for _, one := range names {
		if one == name {
			n++
		}
	}
	return n
}

type blobs struct {
	mu   sync.Mutex
	kept map[string]string
}

func (b *blobs) Put(_ context.Context, value []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := fmt.Sprintf("blob%d", len(b.kept)+1)
	b.kept[digest] = string(value)
	return digest, nil
}

type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// newRig starts a hub over the servers and waits until each was tried.
func newRig(t *testing.T, servers ...Server) *rig {
	t.Helper()
	r := unstarted(t, servers...)
	r.Ready(t.Context())
	return r
}

func unstarted(t *testing.T, servers ...Server) *rig {
	t.Helper()
	kind := registry.NewKind[session.Tool]("tool")
	r := &rig{t: t, kind: kind, registries: registry.New(kind), blobs: &blobs{kept: map[string]string{}}, log: &journal{},
		failures: map[string]error{}, disabled: map[string]bool{}}
	r.cond = sync.NewCond(&r.mu)
	processes, err := process.New(process.Options{Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { processes.Close() })
	scrubber := &secret.Scrubber{}
	r.Hub = New(Options{Publisher: r, Tools: kind, Processes: processes, Scrubber: scrubber, Blobs: r.blobs, Directory: t.TempDir(), Version: "test",
		Logger:   hclog.New(&hclog.LoggerOptions{Output: r.log, Level: hclog.Debug}),
		Patience: 5 * time.Second, Pause: 10 * time.Millisecond,
		Secret: func(_ context.Context, reference string) (secret.Value, error) {
			if name, ok := strings.CutPrefix(reference, "env:"); ok {
				value := secret.NewValue(name + "-the-secret")
				scrubber.Add(value)
				return value, nil
			}
			return secret.Value{}, errors.New("there is no such secret")
		}}, servers)
	t.Cleanup(func() { r.Hub.Close() })
	return r
}

// stdio is a server of a kind in a process of its own.
func stdio(t *testing.T, name, kind string) Server {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Command: []string{program}, Environment: map[string]string{serverVariable: kind, "TOKEN": "env:TOKEN"}}
}

// names are the tools that there are.
func (r *rig) names() []string {
	pin := r.registries.Pin("")
	defer pin.Release()
	var all []string
	for _, entry := range registry.All(pin, r.kind) {
		all = append(all, entry.Name)
	}
	return all
}

func (r *rig) tool(name string) session.Tool {
	r.t.Helper()
	pin := r.registries.Pin("")
	defer pin.Release()
	entry, ok := registry.Lookup(pin, r.kind, name)
	if !ok {
		r.t.Fatalf("there is no tool %s but %q\n%s", name, r.names(), r.log.String())
	}
	return entry.Value
}

// host is a session as a call sees it.
type host struct {
	mu       sync.Mutex
	asked    []string
	progress []string
	deny     map[string]bool
	shown    func()
}

func (h *host) Authorise(_ context.Context, request session.PermissionRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, request.Action)
	if h.deny[request.Action] {
		return &session.DeniedError{Action: request.Action, Resource: "*"}
	}
	return nil
}

func (h *host) Effects(_ context.Context, action string, resources []string) ([]session.Effect, error) {
	if h.deny[action] {
		return []session.Effect{session.Deny}, nil
	}
	return slices.Repeat([]session.Effect{session.Ask}, len(resources)), nil
}

func (h *host) Progress(text string) {
	h.mu.Lock()
	h.progress = append(h.progress, text)
	h.mu.Unlock()
	if h.shown != nil {
		h.shown()
	}
}

// call calls a tool and answers its text, or its failure.
func (r *rig) call(name, input string) string {
	return r.callAs(r.t.Context(), &host{}, name, input)
}

func (r *rig) callAs(ctx context.Context, h *host, name, input string) string {
	r.t.Helper()
	output, err := r.tool(name).Execute(ctx, session.ToolCall{Input: json.RawMessage(input), Host: h})
	if told, ok := errors.AsType[*session.ToolError](err); ok {
		return told.Kind + ": " + told.Message
	}
	if err != nil {
		return "error: " + err.Error()
	}
	var text []string
	for _, content := range output.Content {
		if content.Type == "file" {
			text = append(text, fmt.Sprintf("[%s %s %s]", content.Mime, content.Name, content.Blob))
		} else {
			text = append(text, content.Text)
		}
	}
	if output.Structured != nil {
		text = append(text, string(output.Structured))
	}
	return strings.Join(text, "\n")
}

// size is what the tools take of a request, in bytes.
func (r *rig) size() (bytes int) {
	pin := r.registries.Pin("")
	defer pin.Release()
	for _, entry := range registry.All(pin, r.kind) {
		d := entry.Value.Definition()
		bytes += len(d.Name) + len(d.Description) + len(d.Input)
	}
	return bytes
}
