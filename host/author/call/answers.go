package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/session"
)

// answers is the host of one call.
type answers struct {
	files    bridge.Operations
	readable bool // there is a folder

	mu       sync.Mutex
	recorded []plugin.GoldenOperation // that were not asked for yet
	made     []Operation
}

func newAnswers(manifest abi.Manifest, call Call) *answers {
	a := &answers{readable: call.Folder != "", recorded: slices.Clone(call.Operations)}
	reach := &bridge.Reach{Services: &bridge.Services{Clock: clock{}}, Grants: bridge.Grants{Roots: map[string]bridge.Access{}}}
	if a.readable {
		for _, asked := range manifest.Request.FS {
			if asked.Root != bridge.RootConfig {
				reach.Roots[asked.Root] = bridge.AccessRead
			}
		}
	}
	guest := &bridge.Plugin{ID: manifest.ID, Log: call.Log}
	a.files = bridge.Local(guest, reach, session.Location{Directory: call.Folder, Root: call.Folder}, host{call.Progress})
	return a
}

// Call answers an operation: from what is recorded, from the files, or with a refusal that
// says where it would work.
func (a *answers) Call(ctx context.Context, operation string, request []byte) []byte {
	if operation == abi.OpLog || operation == abi.OpProgress {
		return a.files.Call(ctx, operation, request)
	}
	body, _, err := abi.DecodeMessage(request)
	if err != nil {
		return refusal(abi.KindInvalidInput, "the request is no message: %v", err)
	}
	answer, recorded := a.take(operation, body)
	switch {
	case recorded:
	case !slices.Contains([]string{abi.OpBatch, abi.OpFSGlob, abi.OpFSGrep, abi.OpFSList, abi.OpFSRead, abi.OpFSStat, abi.OpPermissionCheck}, operation):
		answer = refusal(abi.KindDenied, "%s is not carried out by plinth plugin call; record an answer in the operations of a golden, or call it in a session", operation)
	case !a.readable:
		answer = refusal(abi.KindDenied, "this call has no files; give it some to read with --root FOLDER")
	default:
		answer = a.files.Call(ctx, operation, request)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made = append(a.made, Operation{Name: operation, Request: bytes.Clone(body), Answer: answer})
	return answer
}

// take answers the first recorded operation that is this one.
func (a *answers) take(operation string, request []byte) ([]byte, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, recorded := range a.recorded {
		if recorded.Name == operation && sameJSON(recorded.Request, request) {
			a.recorded = slices.Delete(a.recorded, i, i+1)
			return recorded.Answer, true
		}
	}
	return nil, false
}

func sameJSON(a, b []byte) bool {
	var left, right any
	if json.Unmarshal(a, &left) != nil || json.Unmarshal(b, &right) != nil {
		return false
	}
	one, err := json.Marshal(left)
	other, failed := json.Marshal(right)
	return err == nil && failed == nil && bytes.Equal(one, other)
}

func refusal(kind abi.Kind, format string, args ...any) []byte {
	encoded, err := json.Marshal(abi.Answer[abi.None]{Error: &abi.Error{Kind: kind, Message: fmt.Sprintf(format, args...)}})
	if err != nil {
		encoded = []byte(`{"error":{"kind":"failed","message":"the refusal cannot be encoded"}}`)
	}
	return abi.EncodeMessage(encoded, nil)
}

// host allows what is read: whose command this is has named the folder.
type host struct{ progress func(text string) }

func (h host) Progress(text string) { h.progress(text) }

func (h host) Authorise(ctx context.Context, request session.PermissionRequest) error {
	effects, err := h.Effects(ctx, request.Action, request.Resources)
	if err != nil {
		return err
	}
	if i := slices.Index(effects, session.Deny); i >= 0 {
		return &session.DeniedError{Action: request.Action, Resource: request.Resources[i]}
	}
	return nil
}

func (host) Effects(_ context.Context, action string, resources []string) ([]session.Effect, error) {
	effect := session.Deny
	if action == "read" {
		effect = session.Allow
	}
	return slices.Repeat([]session.Effect{effect}, len(resources)), nil
}

type clock struct{}

func (clock) Now() time.Time { return time.Now() }

// platform is where the session would run.
func platform() string { return runtime.GOOS }
