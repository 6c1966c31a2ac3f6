package compaction_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/compaction"
)

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		name           string
		change         func(*compaction.Settings)
		window, output int64
		want           compaction.Budget
	}{
		{"large", nil, 1_000_000, 64_000, compaction.Budget{Window: 1_000_000, Limit: 936_000, Keep: 8_000, Summary: 4_096, Recent: 40_000, Saving: 20_000}},
		{"small", nil, 32_000, 0, compaction.Budget{Window: 32_000, Limit: 25_600, Keep: 8_000, Summary: 4_096, Recent: 10_666, Saving: 3_200}},
		{"tiny", nil, 8_000, 1_000, compaction.Budget{Window: 8_000, Limit: 6_400, Keep: 2_000, Summary: 2_000, Recent: 2_666, Saving: 800}},
		{"a buffer of its own", func(s *compaction.Settings) { s.Buffer, s.Keep = 1_000, 500 }, 100_000, 500,
			compaction.Budget{Window: 100_000, Limit: 99_000, Keep: 500, Summary: 4_096, Recent: 33_333, Saving: 10_000}},
		{"answers that fill the window", nil, 8_000, 8_000, compaction.Budget{Window: 8_000, Limit: 4_000, Keep: 2_000, Summary: 2_000, Recent: 2_666, Saving: 800}},
		{"unknown", nil, 0, 8_000, compaction.Budget{Keep: 8_000, Summary: 4_096}},
	} {
		settings := compaction.DefaultSettings()
		if c.change != nil {
			c.change(&settings)
		}
		if diff := cmp.Diff(c.want, settings.Divide(c.window, c.output)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func said(id string, role session.Role, parts ...session.ModelPart) session.ModelMessage {
	return session.ModelMessage{ID: id, Role: role, Parts: parts}
}

func written(bytes int) session.ModelPart {
	return session.ModelPart{Type: session.PartText, Text: strings.Repeat("x", bytes)}
}

func TestEstimates(t *testing.T) {
	request := session.ModelRequest{System: []session.TextPart{{Text: "12345"}}, Tools: []session.ToolDefinition{{Name: "n", Description: "d", Input: json.RawMessage("{}")}},
		Messages: []session.ModelMessage{
			said("m1", session.RoleUser, written(10), session.ModelPart{Type: session.PartMedia, Mime: "image/png"}, session.ModelPart{Type: session.PartMedia, Mime: "application/pdf"}),
			said("m2", session.RoleAssistant, written(1)),
			said("m2/results", session.RoleTool, session.ModelPart{Type: session.PartToolResult, Call: "c", Name: "n", Text: "123"}),
			said("m3", session.RoleUser, written(4)),
		}}
	if got, want := compaction.Request(request), int64(29+3)/4+3_500; got != want {
		t.Errorf("the request has %d tokens, want %d", got, want)
	}
	if got := compaction.Fixed(request); got != 3 {
		t.Errorf("what is fixed has %d tokens, want 3", got)
	}
	answer := session.Message{ID: "m2", MessageBody: session.MessageBody{Usage: &session.Usage{Input: 100, Output: 20, CacheRead: 90}}}
	if got, ok := compaction.Since(request, answer); !ok || got != 123 {
		t.Errorf("since the answer %d, %v; want 123", got, ok)
	}
	for name, answer := range map[string]session.Message{
		"no usage":           {ID: "m2"},
		"no input":           {ID: "m2", MessageBody: session.MessageBody{Usage: &session.Usage{Output: 20}}},
		"not in the request": {ID: "m9", MessageBody: session.MessageBody{Usage: &session.Usage{Input: 100}}},
		"of somebody else":   {ID: "m3", MessageBody: session.MessageBody{Usage: &session.Usage{Input: 100}}},
	} {
		if got, ok := compaction.Since(request, answer); ok {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// asked and done are messages of one token for each letter of their text.
func asked(seq int64, text string) session.Message {
	return session.Message{ID: fmt.Sprint("u", seq), Seq: seq, Type: session.MessageUser, MessageBody: session.MessageBody{Prompt: &session.Prompt{Text: text}}}
}

func done(seq int64, text string) session.Message {
	return session.Message{ID: fmt.Sprint("a", seq), Seq: seq, Type: session.MessageAssistant, Parts: []session.MessagePart{{Type: session.MessagePartText, Text: text}}}
}

func summed(seq int64, text string) session.Message {
	return session.Message{ID: fmt.Sprint("c", seq), Seq: seq, Type: session.MessageCompaction, MessageBody: session.MessageBody{Text: text}}
}

func cost(m session.Message) int64 {
	switch {
	case m.Prompt != nil:
		return int64(len(m.Prompt.Text))
	case len(m.Parts) > 0:
		return int64(len(m.Parts[0].Text))
	}
	return int64(len(m.Text))
}

func ids(messages []session.Message) string {
	var all []string
	for _, message := range messages {
		all = append(all, message.ID)
	}
	return strings.Join(all, " ")
}

func TestChoose(t *testing.T) {
	five := "12345"
	held := asked(1, five)
	held.Prompt.Tools = map[string]bool{"bash": false}
	system := session.Message{ID: "s3", Seq: 3, Type: session.MessageSystem, MessageBody: session.MessageBody{Text: five}}
	for _, c := range []struct {
		name       string
		history    []session.Message
		answered   int64
		boundary   int64
		keep, room int64
		head, kept string
		at, folded int64
	}{
		{"nothing", nil, 9, -1, 5, 99, "", "", 0, 0},
		{"all fits", []session.Message{asked(1, five), done(2, five)}, 9, -1, 10, 99, "", "", 0, 0},
		{"the newest step stays", []session.Message{asked(1, five), done(2, five), asked(3, five), done(4, five)}, 9, -1, 0, 99, "u1 a2 u3", "", 3, 15},
		{"unless there is no room", []session.Message{asked(1, five), done(2, five)}, 9, -1, 0, 4, "u1 a2", "", 2, 10},
		{"as much as fits", []session.Message{asked(1, five), done(2, five), asked(3, five), done(4, five)}, 9, -1, 14, 99, "u1 a2", "", 2, 10},
		{"a prompt without an answer stays", []session.Message{asked(1, five), done(2, five), asked(3, five), done(4, five), done(5, five)}, 2, -1, 0, 99,
			"u1 a2 a4", "u3", 4, 15},
		{"and counts for the room", []session.Message{asked(1, five), done(2, five)}, 0, -1, 5, 9, "a2", "u1", 2, 5},
		{"a prompt at the end needs no keeping", []session.Message{done(2, five), done(3, five), asked(4, five)}, 3, -1, 5, 99, "a2", "", 2, 5},
		{"what holds for what follows stays", []session.Message{held, done(2, five), done(3, five)}, 9, -1, 5, 99, "a2", "u1", 2, 5},
		{"the summary is folded", []session.Message{summed(6, "sum"), asked(1, five), done(4, five), done(8, five)}, 0, 3, 5, 99, "a4", "u1", 4, 8},
		{"a prompt that has its answer now", []session.Message{summed(6, "sum"), asked(1, five), done(7, five)}, 8, 5, 5, 99, "u1", "", 5, 8},
		{"one that is older than the boundary and stays", []session.Message{summed(6, "sum"), asked(1, five), asked(2, five), done(7, five)}, 8, 5, 12, 99, "u1", "u2", 5, 8},
		{"the summary alone", []session.Message{summed(6, "sum"), done(7, five)}, 9, 5, 5, 99, "", "", 0, 0},
		{"updates of the context go", []session.Message{asked(1, five), system, done(4, five)}, 9, -1, 5, 99, "u1 s3", "", 3, 10},
		{"nothing but prompts", []session.Message{asked(1, five), asked(2, five)}, 0, -1, 0, 0, "", "", 0, 0},
	} {
		choice, ok := compaction.Choose(c.history, compaction.Options{Answered: c.answered, Boundary: c.boundary, Keep: c.keep, Room: c.room, Cost: cost})
		if ok != (c.head != "") {
			t.Errorf("%s: ok %v, head %s", c.name, ok, ids(choice.Head))
			continue
		}
		if !ok {
			continue
		}
		if ids(choice.Head) != c.head || ids(choice.Kept) != c.kept || choice.Boundary != c.at || choice.Folded != c.folded {
			t.Errorf("%s: head %q, kept %q, boundary %d, folded %d; want %q, %q, %d, %d",
				c.name, ids(choice.Head), ids(choice.Kept), choice.Boundary, choice.Folded, c.head, c.kept, c.at, c.folded)
		}
	}
}

// Whatever a history is made of, every message is folded, kept or newer than the
// boundary, and unanswered prompts are never folded.
func TestNothingIsLost(t *testing.T) {
	for n := range 4_096 {
		var history []session.Message
		boundary := int64(-1)
		if n&1 == 1 {
			boundary = 3
			history = append(history, summed(5, "sum"), asked(1, "12"))
		}
		for i := range 6 {
			seq := int64(6 + i)
			if n>>(i+1)&1 == 1 {
				history = append(history, asked(seq, "123"))
			} else {
				history = append(history, done(seq, "1234"))
			}
		}
		answered := int64(n >> 7 & 7 * 2)
		choice, ok := compaction.Choose(history, compaction.Options{Answered: answered, Boundary: boundary, Keep: int64(n >> 10 * 4), Room: math.MaxInt64, Cost: cost})
		if !ok {
			continue
		}
		head, kept := " "+ids(choice.Head)+" ", " "+ids(choice.Kept)+" "
		for _, message := range history {
			if message.Type == session.MessageCompaction {
				continue
			}
			folded, stays, newer := strings.Contains(head, " "+message.ID+" "), strings.Contains(kept, " "+message.ID+" "), message.Seq > choice.Boundary
			if folded == (stays || newer) || stays && newer {
				t.Fatalf("%d: %s is folded %v, kept %v, newer %v of %d", n, message.ID, folded, stays, newer, choice.Boundary)
			}
			if folded && message.Type == session.MessageUser && message.Seq > answered {
				t.Fatalf("%d: %s has no answer and is folded", n, message.ID)
			}
		}
		if choice.Boundary < boundary {
			t.Fatalf("%d: the boundary went from %d to %d", n, boundary, choice.Boundary)
		}
	}
}

func result(call string, bytes int, change func(*session.ToolPart)) session.MessagePart {
	tool := &session.ToolPart{Name: "read", State: session.ToolStateCompleted, Content: []session.ToolContent{{Type: "text", Text: strings.Repeat("x", bytes)}}}
	if change != nil {
		change(tool)
	}
	return session.MessagePart{Type: session.MessagePartTool, ID: call, Tool: tool}
}

func TestPrunable(t *testing.T) {
	step := func(id string, parts ...session.MessagePart) session.Message {
		return session.Message{ID: id, Type: session.MessageAssistant, Parts: parts}
	}
	budget := compaction.Budget{Recent: 1_000, Saving: 500}
	history := []session.Message{
		step("m1", result("c1", 4_000, nil), result("c2", 4_000, nil)),
		step("m2", result("c3", 4_000, func(p *session.ToolPart) { p.Pruned = 1 }), result("c4", 4_000, func(p *session.ToolPart) { p.State = session.ToolStateFailed }),
			result("c5", 4_000, func(p *session.ToolPart) { p.Hosted = true }), result("c6", 40, nil)),
		step("m3", result("c7", 3_960, nil)),
	}
	calls, saved := compaction.Prunable(history, budget)
	if diff := cmp.Diff([]session.CallRef{{Message: "m1", Call: "c1"}, {Message: "m1", Call: "c2"}}, calls); diff != "" || saved < 1_900 || saved > 2_000 {
		t.Errorf("saved %d: %s", saved, diff)
	}
	if calls, saved := compaction.Prunable(history, compaction.Budget{Recent: 1_000, Saving: 2_000}); len(calls) != 0 || saved != 0 {
		t.Errorf("too little was pruned: %v, %d", calls, saved)
	}
	if calls, _ := compaction.Prunable(history, compaction.Budget{Recent: 3_000, Saving: 0}); len(calls) != 0 {
		t.Errorf("recent results were pruned: %v", calls)
	}
	image := step("m1", result("c1", 0, func(p *session.ToolPart) {
		p.Content = []session.ToolContent{{Type: "file", Mime: "image/png", Blob: "b"}}
	}), result("c2", 4_000, nil))
	if calls, saved := compaction.Prunable([]session.Message{image}, budget); len(calls) != 1 || saved < 1_400 {
		t.Errorf("an image: %v, %d", calls, saved)
	}
}

func TestPrompt(t *testing.T) {
	kept := asked(1, "Keep this")
	step := session.Message{ID: "a2", Seq: 2, Type: session.MessageAssistant, Parts: []session.MessagePart{
		{Type: session.MessagePartReasoning, Text: "Hm"},
		{Type: session.MessagePartText, Text: "I look"},
		result("c1", 2_001, func(p *session.ToolPart) { p.Input = json.RawMessage(`{"path":"a"}`) }),
		result("c2", 9, func(p *session.ToolPart) { p.Pruned = 1 }),
		result("c3", 9, func(p *session.ToolPart) {
			p.State, p.Error = session.ToolStateFailed, &session.ToolError{Kind: "failed", Message: "no such file"}
		}),
		result("c4", 9, func(p *session.ToolPart) { p.State = session.ToolStateRunning }),
		result("c5", 9, func(p *session.ToolPart) { p.Raw = `{"pa` }),
		result("c6", 0, func(p *session.ToolPart) {
			p.Content = []session.ToolContent{{Type: "file", Mime: "image/png", Name: "shot.png", Blob: "b"}}
		}),
		result("c7", 0, func(p *session.ToolPart) { p.Content, p.Structured = nil, json.RawMessage(`{"n":1}`) }),
	}, MessageBody: session.MessageBody{Error: &session.Failure{Message: "it broke"}}}
	file := asked(3, "Look at it")
	file.Prompt.Files = []session.PromptFile{{Mime: "image/png", Name: "plan.png"}}
	choice := compaction.Choice{Previous: "What was", Kept: []session.Message{kept}, Head: []session.Message{step, file,
		{ID: "n4", Seq: 4, Type: session.MessageSynthetic, MessageBody: session.MessageBody{Text: "The host says"}},
		{ID: "n5", Seq: 5, Type: session.MessageSynthetic, MessageBody: session.MessageBody{Text: "Nobody reads", Ignored: true}},
		{ID: "n6", Seq: 6, Type: session.MessageShell, MessageBody: session.MessageBody{Command: "make", Output: "done"}},
		{ID: "n7", Seq: 7, Type: session.MessageSystem, MessageBody: session.MessageBody{Text: "The date is new"}},
		{ID: "n8", Seq: 8, Type: session.MessageAgent, MessageBody: session.MessageBody{Agent: "plan"}},
	}}
	prompt, ok := compaction.Prompt(choice, 0)
	_, got, _ := strings.Cut(prompt, "<previous-summary>\n")
	want := `What was
</previous-summary>

<conversation>
[User, stays]: Keep this

[Assistant, thinking]: Hm
[Assistant]: I look
[Call]: read {"path":"a"}
[Result]: ` + strings.Repeat("x", 2_000) + `
[cut: 2000 of 2001 bytes]
[Call]: read ` + `
[Result]: [result removed to save room: 9 bytes; call the tool again if it matters]
[Call]: read ` + `
[Failed]: no such file
[Call]: read ` + `
[Failed]: it was interrupted
[Call]: read ` + `
[Result]: [attached image/png: shot.png]
[Call]: read ` + `
[Result]: {"n":1}
[Broke off]: it broke

[User]: Look at it
[attached image/png: plan.png]

[Host]: The host says

[User ran]: make
done
</conversation>`
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Error(diff)
	}
	// Less room cuts more; at last it does not fit.
	tokens := int64(len(prompt)+3) / 4
	if shorter, ok := compaction.Prompt(choice, tokens-1); !ok || !strings.Contains(shorter, "[cut: 500 of 2001 bytes]") {
		t.Errorf("ok %v, %s", ok, shorter)
	}
	if _, ok := compaction.Prompt(choice, 100); ok {
		t.Error("it fits into 100 tokens")
	}
	if first, _ := compaction.Prompt(compaction.Choice{Head: choice.Head}, 0); strings.Contains(first, "previous-summary") {
		t.Errorf("there is no summary before the first: %s", first)
	}
}
