package bridge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

func TestTheSessionIsServed(t *testing.T) {
	r := newRig(t)
	tests := []struct{ operation, request, want string }{
		{"session.info", `{}`, `{"ok":{"session":{"id":"ses_1","agent":""},"location":{"directory":` + encoded(t, r.location.Directory) + `,"root":` + encoded(t, r.location.Root) +
			`,"git":false,"platform":"` + platform + `","utc_offset":60},"title":"Weather","model":"local/m/1"}}`},
		{"todo.get", `{}`, `{"ok":{"todos":[]}}`},
		{"todo.set", `{"todos":[{"id":"1","content":"c","status":"pending","priority":"low"}]}`, `{"ok":{"todos":[{"id":"1","content":"c","status":"pending","priority":"low"}]}}`},
		{"todo.get", `{}`, `{"ok":{"todos":[{"id":"1","content":"c","status":"pending","priority":"low"}]}}`},
		{"skill.list", `{}`, `{"ok":{"skills":[{"name":"go","description":"writes Go"}]}}`},
		{"skill.get", `{"name":"go"}`, `{"ok":{"name":"go","description":"writes Go","text":"gofmt","directory":"/skills/go"}}`},
		{"skill.get", `{"name":"c"}`, `{"error":{"kind":"not_found","message":"there is no skill \"c\""}}`},
		{"question.ask", `{"questions":[{"header":"h","text":"t","options":[{"label":"l","description":"d"}],"multiple":true,"custom":true}]}`, `{"ok":{"answers":[["yes"]]}}`},
		{"task.run", `{"description":"d","prompt":"p","agent":"build","session":"ses_0","background":true}`, `{"ok":{"session":"ses_child","text":"done"}}`},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, r.ask(t, test.operation, test.request)); diff != "" {
			t.Errorf("%s: %s", test.operation, diff)
		}
	}
	asked := []session.Question{{Header: "h", Text: "t", Options: []session.QuestionOption{{Label: "l", Description: "d"}}, Multiple: true, Custom: true}}
	if diff := cmp.Diff(asked, r.host.questions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]session.Task{{Description: "d", Prompt: "p", Agent: "build", Session: "ses_0", Background: true}}, r.host.tasks); diff != "" {
		t.Error(diff)
	}
}

// What the session answers with an error is told by its kind.
func TestASessionThatFails(t *testing.T) {
	tries := requests()
	for _, test := range []struct {
		fails error
		kind  abi.Kind
	}{
		{&session.DeniedError{Action: "task", Resource: "build"}, abi.KindDenied},
		{session.ErrInterrupted, abi.KindCancelled},
		{session.ErrShutdown, abi.KindCancelled},
		{fmt.Errorf("ask: %w", session.ErrInterrupted), abi.KindCancelled},
		{&abi.Error{Kind: abi.KindConflict, Message: "busy"}, abi.KindConflict},
		{errors.New("disk full"), abi.KindFailed},
	} {
		r := newRig(t)
		r.host.fails = test.fails
		for _, operation := range SessionOperations() {
			if refused := failure(t, r.ask(t, operation, tries[operation])); refused.Kind != test.kind {
				t.Errorf("%s: %v: %+v", operation, test.fails, refused)
			}
		}
	}
}

// A host that serves no more than it must says so.
func TestASessionThatServesLess(t *testing.T) {
	r := newRig(t)
	tries := requests()
	for _, operation := range SessionOperations() {
		host := &operations{plugin: r.plugin, reach: r.reach, host: &r.host.toolHost}
		body, _, err := abi.DecodeMessage(host.Call(t.Context(), operation, abi.EncodeMessage([]byte(tries[operation]), nil)))
		want := fmt.Sprintf(`{"error":{"kind":"unavailable","message":"this host does not serve %s"}}`, operation)
		if operation == abi.OpSessionInfo { // less is known, that is all
			want = `{"ok":{"session":{"id":"","agent":""},"location":{"directory":"","root":"","git":false,"platform":"` + platform + `","utc_offset":60}}}`
		}
		if err != nil || string(body) != want {
			t.Errorf("%s: %s, %v", operation, body, err)
		}
	}
}

func TestWhatTheSessionIsToldIsBounded(t *testing.T) {
	long := strings.Repeat("x", maxWords+1)
	todo := func(id, content, status, priority string) string {
		return encoded(t, abi.TodoList{Todos: []abi.Todo{{ID: id, Content: content, Status: status, Priority: priority}}})
	}
	many := abi.TodoList{}
	for i := range MaxTodos + 1 {
		many.Todos = append(many.Todos, abi.Todo{ID: fmt.Sprint(i), Content: "c", Status: "pending", Priority: "low"})
	}
	question := func(q abi.Question) string { return encoded(t, abi.QuestionAsk{Questions: []abi.Question{q}}) }
	options := make([]abi.QuestionOption, MaxOptions+1)
	for i := range options {
		options[i].Label = "l"
	}
	tests := []struct{ operation, request, want string }{
		{"todo.set", encoded(t, many), "limit: there are 201 todos; the most is 200"},
		{"todo.set", todo("", "c", "pending", "low"), `invalid_input: todo 0: id "" is empty or there already`},
		{"todo.set", todo("1", "", "pending", "low"), "invalid_input: todo 0: the content must have 1 to 4096 bytes"},
		{"todo.set", todo("1", long, "pending", "low"), "invalid_input: todo 0: the content must have 1 to 4096 bytes"},
		{"todo.set", todo(long, "c", "pending", "low"), "invalid_input: todo 0: the content must have 1 to 4096 bytes"},
		{"todo.set", todo("1", "c", "done", "low"), `invalid_input: todo 0: status is "done"; it must be pending, in_progress, completed or cancelled`},
		{"todo.set", todo("1", "c", "pending", "urgent"), `invalid_input: todo 0: priority is "urgent"; it must be high, medium or low`},
		{"todo.set", `{"todos":[{"id":"1","content":"c","status":"pending","priority":"low"},{"id":"1","content":"c","status":"pending","priority":"low"}]}`,
			`invalid_input: todo 1: id "1" is empty or there already`},
		{"question.ask", `{"questions":[]}`, "invalid_input: there are 0 questions; there must be 1 to 10"},
		{"question.ask", encoded(t, abi.QuestionAsk{Questions: make([]abi.Question, MaxQuestions+1)}), "invalid_input: there are 11 questions; there must be 1 to 10"},
		{"question.ask", question(abi.Question{Custom: true}), "invalid_input: question 0: the text must have 1 to 4096 bytes, and the header no more"},
		{"question.ask", question(abi.Question{Custom: true, Text: long}), "invalid_input: question 0: the text must have 1 to 4096 bytes, and the header no more"},
		{"question.ask", question(abi.Question{Custom: true, Text: "t", Header: long}), "invalid_input: question 0: the text must have 1 to 4096 bytes, and the header no more"},
		{"question.ask", question(abi.Question{Text: "t"}), "invalid_input: question 0 has no options and takes no text; nobody can answer it"},
		{"question.ask", question(abi.Question{Text: "t", Options: options}), "invalid_input: question 0 has 21 options; the most is 20"},
		{"question.ask", question(abi.Question{Text: "t", Options: []abi.QuestionOption{{}}}),
			"invalid_input: question 0, option 0: the label must have 1 to 4096 bytes, and the description no more"},
		{"question.ask", question(abi.Question{Text: "t", Options: []abi.QuestionOption{{Label: "l", Description: long}}}),
			"invalid_input: question 0, option 0: the label must have 1 to 4096 bytes, and the description no more"},
		{"task.run", `{"description":"d","prompt":"","agent":"build"}`, "invalid_input: prompt has 0 bytes; it must have 1 to 262144"},
		{"task.run", encoded(t, abi.TaskRun{Prompt: strings.Repeat("p", MaxPromptBytes+1), Agent: "build"}), "invalid_input: prompt has 262145 bytes; it must have 1 to 262144"},
		{"task.run", `{"description":"d","prompt":"p","agent":""}`, "invalid_input: agent is missing"},
		{"task.run", encoded(t, abi.TaskRun{Prompt: "p", Agent: long}), "invalid_input: description, agent and session may have 4096 bytes each"},
		{"task.run", encoded(t, abi.TaskRun{Prompt: "p", Agent: "build", Description: long}), "invalid_input: description, agent and session may have 4096 bytes each"},
		{"task.run", encoded(t, abi.TaskRun{Prompt: "p", Agent: "build", Session: long}), "invalid_input: description, agent and session may have 4096 bytes each"},
	}
	r := newRig(t)
	for _, test := range tests {
		refused := failure(t, r.ask(t, test.operation, test.request))
		if got := string(refused.Kind) + ": " + refused.Message; got != test.want {
			t.Errorf("%s %.80s: %s, want %s", test.operation, test.request, got, test.want)
		}
	}
	if len(r.host.todos)+len(r.host.questions)+len(r.host.tasks) > 0 {
		t.Errorf("%+v", r.host)
	}
	for operation, request := range map[string]string{
		"todo.set":     encoded(t, abi.TodoList{Todos: many.Todos[1:]}),
		"question.ask": question(abi.Question{Header: long[1:], Text: long[1:], Options: options[1:]}),
		"task.run":     encoded(t, abi.TaskRun{Prompt: strings.Repeat("p", MaxPromptBytes), Agent: "build"}),
	} {
		if refused := failure(t, r.ask(t, operation, request)); refused.Kind != "" {
			t.Errorf("%s at the limit: %+v", operation, refused)
		}
	}
}
