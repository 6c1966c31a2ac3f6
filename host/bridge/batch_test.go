package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

func batchOf(t *testing.T, operations ...string) string {
	t.Helper()
	batch := abi.Batch{}
	for i := 0; i < len(operations); i += 2 {
		batch.Operations = append(batch.Operations, abi.BatchOperation{Operation: operations[i], Request: []byte(operations[i+1])})
	}
	return encoded(t, batch)
}

// Answers come in the order of the requests, each with its own bytes.
func TestABatchAnswersInOrder(t *testing.T) {
	r := newRig(t)
	answer := r.ask(t, abi.OpBatch, batchOf(t,
		"fs.read", `{"path":"a.txt"}`,
		"fs.read", `{"path":"none"}`,
		"fs.commit", `{"changes":[{"op":"write","path":"one","data":{"$bytes":[0,2]}}]}`,
		"fs.read", `{"path":".env","offset":1,"length":3}`,
		"fs.commit", `{"changes":[{"op":"write","path":"two","data":{"$bytes":[2,3]}}]}`,
		"batch", `{"operations":[]}`,
		"no.such", `{}`,
		"fs.stat", `{"path":"a.txt","more":1}`,
		"fs.stat", `{"path":"sub"}`,
		"fs.read", `{"path":"sub/b.txt"}`,
	), []byte("abcde")...)
	batch := read[abi.BatchOK](t, answer)
	raw := r.bytes(t)
	var got []string
	for _, one := range batch.Answers {
		text := withoutTime(t, encoded(t, one.OK))
		if one.Error != nil {
			text = string(one.Error.Kind) + ": " + one.Error.Message
		}
		if one.Bytes != nil {
			content, err := one.Bytes.Of([]byte(raw))
			text += fmt.Sprintf(" %s %v", content, err)
		}
		got = append(got, text)
	}
	want := []string{
		`{"data":{"$bytes":[0,5]},"eof":true,"info":{"kind":"file","name":"a.txt","path":"a.txt","size":5}} alpha <nil>`,
		`not_found: "none": no such file or directory`,
		`{"changes":[{"outcome":"done","path":"one"}]}`,
		`{"data":{"$bytes":[0,3]},"eof":false,"info":{"kind":"file","name":".env","path":".env","size":8}} ECR <nil>`,
		`{"changes":[{"outcome":"done","path":"two"}]}`,
		`invalid_input: a batch holds no batch`,
		`unavailable: this host has no operation "no.such"`,
		`invalid_input: the request cannot be read: json: unknown field "more"`,
		`{"kind":"directory","name":"sub","path":"sub","size":0}`,
		`{"data":{"$bytes":[0,4]},"eof":true,"info":{"kind":"file","name":"b.txt","path":"sub/b.txt","size":4}} beta <nil>`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	mustFind(t, r.location.Directory, map[string]string{"one": "ab", "two": "cde"})
}

// The answers together are bounded; those beyond say so, and the others are whole.
func TestTheAnswersOfABatchAreBounded(t *testing.T) {
	r := newRig(t)
	if err := os.WriteFile(filepath.Join(r.location.Directory, "mib"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for range 17 {
		asked = append(asked, "fs.read", `{"path":"mib"}`)
	}
	host := &operations{plugin: r.plugin, reach: r.reach, location: r.location, asked: &toolAuthority{host: r.host}, host: r.host}
	message := host.Call(t.Context(), abi.OpBatch, abi.EncodeMessage([]byte(batchOf(t, asked...)), nil))
	if len(message) > 16<<20 {
		t.Errorf("the answer has %d bytes, more than the engine lets through", len(message))
	}
	body, raw, err := abi.DecodeMessage(message)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, answer := range read[abi.BatchOK](t, string(body)).Answers {
		switch {
		case answer.OK != nil:
			whole++
			if content, err := answer.Bytes.Of(raw); err != nil || len(content) != 1<<20 {
				t.Errorf("%d bytes, %v", len(content), err)
			}
		case answer.Error.Kind != abi.KindLimit:
			t.Errorf("%+v", answer.Error)
		}
	}
	if whole != 14 {
		t.Errorf("%d answers are whole", whole)
	}
}

// Errors count too: long ones cannot make the answer larger than the engine takes.
func TestTheErrorsOfABatchAreBounded(t *testing.T) {
	answers := gathered{answers: make([]abi.BatchAnswer, MaxBatch), raws: make([][]byte, MaxBatch)}
	for i := range MaxBatch {
		answers.put(i, nil, nil, &session.DeniedError{Action: "bash", Resource: strings.Repeat("\x01", MaxCommandBytes)})
	}
	body, _, err := answers.message()
	if size := len(encoded(t, body)); err != nil || size > 16<<20 {
		t.Errorf("%d bytes, %v", size, err)
	}
}

// gateHost decides by functions.
type gateHost struct {
	*wholeHost
	authorise func(ctx context.Context, request session.PermissionRequest) error
}

func (h *gateHost) Authorise(ctx context.Context, request session.PermissionRequest) error {
	return h.authorise(ctx, request)
}

// gated executes a call of the rig's tool with the host's decisions.
func (r *rig) gated(ctx context.Context, t *testing.T, authorise func(ctx context.Context, request session.PermissionRequest) error, operation, request string) (string, error) {
	t.Helper()
	r.relay.operation, r.relay.request = operation, abi.EncodeMessage([]byte(request), nil)
	tool := newTool(t, r.plugin, session.ToolDefinition{}, r.reach)
	output, err := tool.Execute(ctx, session.ToolCall{Session: "ses_1", Input: []byte("{}"), Location: r.location, Host: &gateHost{r.host, authorise}})
	return string(output.Structured), err
}

func asksFor(n int) []string {
	var asked []string
	for i := range n {
		asked = append(asked, "permission.ask", fmt.Sprintf(`{"action":"deploy","resources":["%d"]}`, i))
	}
	return asked
}

// All of a batch wait at once, more than work at once: the first is answered when the
// last has been asked.
func TestABatchWaitsSideBySide(t *testing.T) {
	r := newRig(t)
	r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
	var together sync.WaitGroup
	together.Add(MaxBatch)
	answer, err := r.gated(t.Context(), t, func(context.Context, session.PermissionRequest) error {
		together.Done()
		together.Wait()
		return nil
	}, abi.OpBatch, batchOf(t, asksFor(MaxBatch)...))
	if err != nil || strings.Count(answer, `{"ok":{}}`) != MaxBatch {
		t.Errorf("%.200s, %v", answer, err)
	}
}

// A panic of one operation is a fault of the host: the others end, the call fails, the
// model learns nothing of it, and the next call works.
func TestAPanicInABatch(t *testing.T) {
	for name, when := range map[string]string{"while it waits": "permission.ask", "while it works": "progress"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
			r.host.shown = func(text string) {
				if text == "boom" && when == "progress" {
					panic("our own bug")
				}
			}
			authorise := func(context.Context, session.PermissionRequest) error {
				if when == "permission.ask" {
					panic("our own bug")
				}
				return nil
			}
			request := batchOf(t, "progress", `{"text":"x"}`, "permission.ask", `{"action":"deploy","resources":["x"]}`, "progress", `{"text":"boom"}`)
			_, err := r.gated(t.Context(), t, authorise, abi.OpBatch, request)
			wantTold(t, err, abi.KindFailed, "The tool probe broke and gave no answer (failed); the host's log has the reason")
			if log := strings.Join(r.log.all(), "\n"); !strings.Contains(log, "our own bug") {
				t.Errorf("logged %s", log)
			}
			when = ""
			if answer, err := r.gated(t.Context(), t, authorise, abi.OpBatch, request); err != nil || strings.Count(answer, `{"ok":{}}`) != 3 {
				t.Errorf("%s, %v", answer, err)
			}
		})
	}
}

// A cancelled call ends everything of its batch.
func TestACancelledBatch(t *testing.T) {
	r := newRig(t)
	r.host.rules = []session.Rule{rule("*", "*", session.Ask)}
	ctx, cancel := context.WithCancelCause(t.Context())
	var mu sync.Mutex
	ended := 0
	answer, err := r.gated(ctx, t, func(ctx context.Context, request session.PermissionRequest) error {
		if request.Resources[0] == "0" {
			cancel(session.ErrInterrupted)
		}
		<-ctx.Done()
		mu.Lock()
		defer mu.Unlock()
		ended++
		return context.Cause(ctx)
	}, abi.OpBatch, batchOf(t, asksFor(20)...))
	wantCancelled(t, answer, err)
	if ended == 0 || ended > 20 {
		t.Errorf("%d ended", ended)
	}
}

// wantCancelled demands a call that ended by its cancel: the guest was told so and
// answered in the little time it has then, or it was not entered again.
func wantCancelled(t *testing.T, answer string, err error) {
	t.Helper()
	fault, ok := errors.AsType[*CallError](err)
	if err == nil && failure(t, answer).Kind != abi.KindCancelled || err != nil && (!ok || fault.Kind != abi.KindCancelled) {
		t.Errorf("got %s, %v", answer, err)
	}
}
