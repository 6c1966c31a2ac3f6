package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

type greeting struct {
	Name string `json:"name"`
}

func register(t *testing.T, name string, run func(tool.Call, greeting) (tool.Output, error)) {
	t.Helper()
	tool.Register(name, run)
}

func execute(t *testing.T, name, input string) (abi.ToolOutput, error) {
	t.Helper()
	return plinthtest.Call[abi.ToolOutput](t, abi.ExportTool, abi.ToolExecute{
		Tool: name, Input: json.RawMessage(input), Call: abi.ToolCall{ID: "call_1", Message: "msg_1"},
		Session: abi.Session{ID: "ses_1", Agent: "build"}, Location: abi.Location{Directory: "/d"},
	})
}

func TestAToolSeesItsCall(t *testing.T) {
	var seen tool.Call
	register(t, "greet", func(call tool.Call, in greeting) (tool.Output, error) {
		seen = call
		return tool.Output{Text: "Hello " + in.Name, Title: "Greeting", Structured: in, Metadata: map[string]int{"n": 1}}, nil
	})
	got, err := execute(t, "greet", `{"name":"Ann"}`)
	if err != nil || len(got.Content) != 1 || got.Content[0].Text != "Hello Ann" || got.Title != "Greeting" || string(got.Structured) != `{"name":"Ann"}` || string(got.Metadata) != `{"n":1}` {
		t.Errorf("%+v, %v", got, err)
	}
	want := tool.Call{ID: "call_1", Message: "msg_1", Session: abi.Session{ID: "ses_1", Agent: "build"}, Location: abi.Location{Directory: "/d"}, Timeout: 10 * time.Second, Meta: abi.Meta{Plugin: "test/native"}}
	if seen != want {
		t.Errorf("call %+v", seen)
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	next := error(nil)
	register(t, "fails", func(tool.Call, greeting) (tool.Output, error) { return tool.Output{}, next })
	for _, c := range []struct {
		err  error
		want string
	}{
		{plinth.Errorf(abi.KindConflict, "changed %d times", 2), "conflict: changed 2 times"},
		{errors.Join(errors.New("first"), plinth.Errorf(abi.KindDenied, "no")), "denied: first\ndenied: no"},
		{errors.New("odd"), "failed: odd"},
	} {
		next = c.err
		if _, err := execute(t, "fails", `{}`); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for input, want := range map[string]string{
		`{"nmae":"x"}`: `invalid_input: the input of fails: json: unknown field "nmae"`,
		`{"name":1}`:   "invalid_input: the input of fails: json: cannot unmarshal",
	} {
		if _, err := execute(t, "fails", input); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
	if _, err := execute(t, "other", `{}`); err == nil || err.Error() != `not_found: this plugin has no tool "other"` {
		t.Errorf("an unknown tool: %v", err)
	}
}

func TestFilesTravelBehindTheMessage(t *testing.T) {
	register(t, "draw", func(tool.Call, greeting) (tool.Output, error) {
		return tool.Output{Files: []tool.File{{Name: "a", Mime: "image/png", Data: []byte("one")}, {Name: "b", Data: []byte("two!")}, {Name: "c", Blob: &abi.Blob{Digest: "c0"}}}}, nil
	})
	call, err := json.Marshal(abi.Call[abi.ToolExecute]{Body: abi.ToolExecute{Tool: "draw", Input: json.RawMessage(`{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	body, raw, err := abi.DecodeMessage(guest.Serve(abi.ExportTool, abi.EncodeMessage(call, nil)))
	if err != nil {
		t.Fatal(err)
	}
	var answer abi.Answer[abi.ToolOutput]
	if err := json.Unmarshal(body, &answer); err != nil || answer.OK == nil || len(answer.OK.Content) != 3 {
		t.Fatalf("%s, %v", body, err)
	}
	for i, want := range []string{"one", "two!"} {
		data, err := answer.OK.Content[i].Data.Of(raw)
		if err != nil || string(data) != want {
			t.Errorf("file %d: %q, %v", i, data, err)
		}
	}
	if kept := answer.OK.Content[2]; kept.Data != nil || kept.Blob == nil || kept.Blob.Digest != "c0" {
		t.Errorf("%+v, want the blob alone", kept)
	}
}

func TestANameIsTakenOnce(t *testing.T) {
	register(t, "twice", nil)
	defer func() {
		if recover() == nil {
			t.Error("registered twice")
		}
	}()
	register(t, "twice", nil)
}
