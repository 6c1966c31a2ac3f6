package host_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

// two makes one value of what a function answers beside its error.
func two[OK any](ok OK, err error) (any, error) { return ok, err }

// Every operation: what reaches the host, with the bytes behind it, and what comes back.
func TestEveryOperation(t *testing.T) {
	effects, answers := []string{"allow", "deny"}, [][]string{{"a"}, {"my own"}}
	todo := abi.Todo{ID: "1", Content: "c", Status: "pending", Priority: "low"}
	skill := abi.Skill{Name: "s", Description: "d"}
	for _, c := range []struct {
		operation string
		call      func() (any, error)
		request   string
		raw       string
		ok        any
		answered  string // the bytes behind ok
		want      any    // ok when nil
	}{
		{operation: abi.OpFSGlob, call: func() (any, error) {
			return two(host.Glob(abi.FSGlob{Path: abi.Path{Path: "src"}, Pattern: "**/*.go", Newest: true, Limit: 2}))
		}, request: `{"path":"src","pattern":"**/*.go","newest":true,"limit":2}`, ok: abi.FSFound{Files: []abi.FileInfo{{Path: "src/a.go"}}, Matched: 3, FSPassed: abi.FSPassed{Asks: 1}}},
		{operation: abi.OpFSGrep, call: func() (any, error) {
			return two(host.Grep(abi.FSGrep{Path: abi.Path{Root: "project"}, Pattern: "x+", Include: []string{"*.go"}, Context: 1}))
		}, request: `{"root":"project","path":"","pattern":"x+","include":["*.go"],"context":1}`,
			ok: abi.FSMatched{Files: []abi.FSMatchedFile{{Path: "a", Lines: []abi.FSLine{{Number: 2, Text: "xx", Match: true}}}}, Matches: 1}},
		{operation: abi.OpFSCommit, call: func() (any, error) {
			careful := host.Write("c", []byte("three"))
			careful.Expect, careful.Parents = "absent", true
			text := host.Change{FSChange: abi.FSChange{Op: "write", Path: "t", Text: "text"}}
			return two(host.Commit("project", host.Write("a", []byte("one")), host.Remove("b"), careful, host.Rename("d", "e"), text, host.Write("f", []byte{})))
		}, request: `{"root":"project","changes":[{"op":"write","path":"a","data":{"$bytes":[0,3]}},{"op":"remove","path":"b"},
			{"op":"write","path":"c","expect":"absent","data":{"$bytes":[3,5]},"parents":true},{"op":"rename","path":"d","to":"e"},
			{"op":"write","path":"t","text":"text"},{"op":"write","path":"f","data":{"$bytes":[8,0]}}]}`,
			raw: "onethree", ok: abi.FSCommitted{Changes: []abi.FSChanged{{Path: "a", Outcome: "failed", Error: &abi.Error{Kind: abi.KindConflict, Message: "m"}}}}},
		{operation: abi.OpProcessRun, call: func() (any, error) {
			return two(host.Run(abi.ProcessRun{Command: "make", Environment: map[string]string{"A": "1"}, TimeoutMS: 5, Apart: true}))
		}, request: `{"command":"make","environment":{"A":"1"},"timeout_ms":5,"apart":true}`,
			ok: abi.ProcessRan{ExitCode: -1, Signal: "SIGKILL", Output: abi.ProcessOutput{Head: "h", Blob: &abi.Blob{Digest: "d"}}, Errors: abi.ProcessOutput{Head: "e"}}},
		{operation: abi.OpHTTPFetch, call: func() (any, error) {
			return two(host.Fetch(abi.HTTPFetch{Method: "POST", URL: "https://x.example", Secrets: []string{"k"}}, []byte("sent")))
		}, request: `{"method":"POST","url":"https://x.example","body":{"$bytes":[0,4]},"secrets":["k"]}`, raw: "sent",
			ok: abi.HTTPFetched{Status: 404, Size: 3, Body: &abi.Bytes{Offset: 1, Length: 3}}, answered: "-got",
			want: host.Response{HTTPFetched: abi.HTTPFetched{Status: 404, Size: 3, Body: &abi.Bytes{Offset: 1, Length: 3}}, Content: []byte("got")}},
		{operation: abi.OpHTTPFetch, call: func() (any, error) {
			return two(host.Fetch(abi.HTTPFetch{URL: "https://x.example", Blob: true}, nil))
		}, request: `{"url":"https://x.example","blob":true}`, ok: abi.HTTPFetched{Status: 200, Blob: &abi.Blob{Digest: "d"}},
			want: host.Response{HTTPFetched: abi.HTTPFetched{Status: 200, Blob: &abi.Blob{Digest: "d"}}}},
		{operation: abi.OpPermissionAsk, call: func() (any, error) { return nil, host.Ask("deploy", "a", "b") },
			request: `{"action":"deploy","resources":["a","b"]}`, ok: abi.None{}},
		{operation: abi.OpPermissionCheck, call: func() (any, error) { return two(host.Check("deploy", "a", "b")) },
			request: `{"action":"deploy","resources":["a","b"]}`, ok: abi.PermissionChecked{Effects: effects}, want: effects},
		{operation: abi.OpQuestionAsk, call: func() (any, error) {
			return two(host.Question(abi.Question{Header: "h", Text: "Which?", Options: []abi.QuestionOption{{Label: "a"}}}, abi.Question{Text: "Why?", Custom: true}))
		}, request: `{"questions":[{"header":"h","text":"Which?","options":[{"label":"a"}]},{"header":"","text":"Why?","custom":true}]}`,
			ok: abi.QuestionAnswered{Answers: answers}, want: answers},
		{operation: abi.OpTaskRun, call: func() (any, error) {
			return two(host.Task(abi.TaskRun{Description: "d", Prompt: "p", Agent: "explore", Background: true}))
		}, request: `{"description":"d","prompt":"p","agent":"explore","background":true}`, ok: abi.TaskRan{Session: "ses_2", Text: "done"}},
		{operation: abi.OpTodoGet, call: func() (any, error) { return two(host.Todos()) }, request: `{}`, ok: abi.TodoList{Todos: []abi.Todo{todo}}, want: []abi.Todo{todo}},
		{operation: abi.OpTodoSet, call: func() (any, error) { return nil, host.SetTodos(todo) },
			request: `{"todos":[{"id":"1","content":"c","status":"pending","priority":"low"}]}`, ok: abi.TodoList{}},
		{operation: abi.OpTodoSet, call: func() (any, error) { return nil, host.SetTodos() }, request: `{"todos":[]}`, ok: abi.TodoList{}},
		{operation: abi.OpSkillList, call: func() (any, error) { return two(host.Skills()) }, request: `{}`, ok: abi.SkillListed{Skills: []abi.Skill{skill}}, want: []abi.Skill{skill}},
		{operation: abi.OpSkillGet, call: func() (any, error) { return two(host.Skill("s")) }, request: `{"name":"s"}`, ok: abi.SkillText{Skill: skill, Text: "how", Directory: "/d"}},
		{operation: abi.OpSessionInfo, call: func() (any, error) { return two(host.Info()) }, request: `{}`, ok: abi.SessionInfo{Title: "t", Model: "p/m"}},
	} {
		t.Run(c.operation, func(t *testing.T) {
			var request, raw string
			refuse := false
			h := &plinthtest.Host{Operations: map[string]plinthtest.Operation{c.operation: func(asked json.RawMessage, behind []byte) (any, []byte, error) {
				request, raw = string(asked), string(behind)
				if refuse {
					return nil, nil, &abi.Error{Kind: abi.KindDenied, Message: "no"}
				}
				return c.ok, []byte(c.answered), nil
			}}}
			h.Serve(t)
			got, err := c.call()
			want := c.want
			if want == nil && got != nil {
				want = c.ok
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
			}
			if !same(t, request, c.request) || raw != c.raw {
				t.Errorf("asked %s with %q\nwant  %s with %q", request, raw, c.request, c.raw)
			}
			refuse = true
			if _, err := c.call(); plinth.KindOf(err) != abi.KindDenied || err.Error() != "denied: no" {
				t.Errorf("a refusal: %v", err)
			}
		})
	}
}

func same(t *testing.T, got, want string) bool {
	t.Helper()
	var left, right any
	if err := json.Unmarshal([]byte(want), &right); err != nil {
		t.Fatal(err)
	}
	return json.Unmarshal([]byte(got), &left) == nil && reflect.DeepEqual(left, right)
}

func TestAttachKeepsAFile(t *testing.T) {
	png := "\x89PNG\r\n\x1a\nrest"
	h := &plinthtest.Host{Roots: map[string]fs.FS{"location": fstest.MapFS{"a.png": {Data: []byte(png)}}}}
	h.Serve(t)
	attached, err := host.Attach(abi.Path{Path: "a.png"})
	if err != nil || attached.Mime != "image/png" || attached.Info.Size != int64(len(png)) || string(h.Blobs[attached.Blob.Digest]) != png {
		t.Errorf("%+v, %v", attached, err)
	}
	if _, err := host.Attach(abi.Path{Path: "none"}); plinth.KindOf(err) != abi.KindNotFound {
		t.Errorf("%v", err)
	}
}

func TestTheStore(t *testing.T) {
	(&plinthtest.Host{}).Serve(t)
	for i := range 3 {
		if err := host.KVSet(abi.KVSet{Key: fmt.Sprintf("a/%d", i), Value: json.RawMessage(`{"n":1}`), Version: 2}); err != nil {
			t.Fatal(err)
		}
	}
	if err := host.KVSet(abi.KVSet{Scope: abi.KVSession, Key: "a/0", Value: json.RawMessage(`1`)}); err != nil {
		t.Fatal(err)
	}
	value, err := host.KVGet(abi.KVGet{Key: "a/1"})
	if err != nil || string(value.Value) != `{"n":1}` || value.Version != 2 {
		t.Errorf("%+v, %v", value, err)
	}
	listed, err := host.KVList(abi.KVList{Prefix: "a/", Limit: 2})
	if err != nil || !slices.Equal(listed.Keys, []string{"a/0", "a/1"}) || !listed.More {
		t.Errorf("%+v, %v", listed, err)
	}
	if err := host.KVDelete(abi.KVDelete{Key: "a/0"}); err != nil {
		t.Error(err)
	}
	listed, err = host.KVList(abi.KVList{After: "a/1"})
	if err != nil || !slices.Equal(listed.Keys, []string{"a/2"}) || listed.More {
		t.Errorf("%+v, %v", listed, err)
	}
	if _, err := host.KVGet(abi.KVGet{Key: "a/0"}); plinth.KindOf(err) != abi.KindNotFound {
		t.Errorf("%v", err)
	}
	if _, err := host.KVGet(abi.KVGet{Scope: abi.KVSession, Key: "a/0"}); err != nil {
		t.Error(err)
	}
}

func TestABatch(t *testing.T) {
	var written string
	h := &plinthtest.Host{Roots: map[string]fs.FS{"location": fstest.MapFS{"a": {Data: []byte("alpha")}, "b": {Data: []byte("beta")}}},
		Operations: map[string]plinthtest.Operation{abi.OpFSCommit: func(request json.RawMessage, raw []byte) (any, []byte, error) {
			var commit abi.FSCommit
			if err := json.Unmarshal(request, &commit); err != nil {
				return nil, nil, err
			}
			data, err := commit.Changes[0].Data.Of(raw)
			written = string(data)
			return abi.FSCommitted{}, nil, err
		}}}
	h.Serve(t)
	var batch host.Batch
	read := func(path string) host.Queued[abi.FSReadOK] {
		return host.Queue[abi.FSRead, abi.FSReadOK](&batch, abi.OpFSRead, abi.FSRead{Path: abi.Path{Path: path}})
	}
	first, none, second := read("a"), read("none"), read("b")
	batch.Bytes([]byte("not this"))
	commit := host.Queue[abi.FSCommit, abi.FSCommitted](&batch, abi.OpFSCommit, abi.FSCommit{Changes: []abi.FSChange{{Op: "write", Data: batch.Bytes([]byte("gamma"))}}})
	if _, _, err := first.Get(); err == nil || err.Error() != "the batch has not run, or it failed" {
		t.Errorf("before Run: %v", err)
	}
	if err := batch.Run(); err != nil {
		t.Fatal(err)
	}
	for want, queued := range map[string]host.Queued[abi.FSReadOK]{"alpha": first, "beta": second} {
		ok, raw, err := queued.Get()
		if err != nil {
			t.Fatal(err)
		}
		if data, err := ok.Data.Of(raw); err != nil || string(data) != want || !ok.EOF {
			t.Errorf("%q, %v, want %q", data, err, want)
		}
	}
	if _, _, err := none.Get(); plinth.KindOf(err) != abi.KindNotFound {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, _, err := commit.Get(); err != nil || written != "gamma" {
		t.Errorf("written %q, %v", written, err)
	}
	if err := batch.Run(); err == nil {
		t.Error("it ran twice")
	}
}

func TestABatchThatCannotRun(t *testing.T) {
	var unfit host.Batch
	host.Queue[chan int, abi.None](&unfit, abi.OpLog, nil)
	if err := unfit.Run(); err == nil {
		t.Error("a channel was encoded")
	}
	h := &plinthtest.Host{Operations: map[string]plinthtest.Operation{abi.OpBatch: func(json.RawMessage, []byte) (any, []byte, error) {
		return abi.BatchOK{Answers: []abi.BatchAnswer{}}, nil, nil
	}}}
	h.Serve(t)
	var short host.Batch
	host.Queue[abi.None, abi.None](&short, abi.OpTodoGet, abi.None{})
	if err := short.Run(); err == nil || err.Error() != "read the answer of batch: it has 0 answers to 1 operations" {
		t.Errorf("%v", err)
	}
}
