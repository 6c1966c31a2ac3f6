package client_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

// golden is one step of a file of events.
type golden struct {
	protocol.Event
	Part *struct {
		Message string            `json:"message"`
		Part    string            `json:"part"`
		Kind    protocol.PartKind `json:"kind"`
		Text    string            `json:"text"`
	} `json:"part"`
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	var transcript client.Transcript
	file, err := os.ReadFile("testdata/turn.events")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var step golden
		if err := json.Unmarshal([]byte(line), &step); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if part := step.Part; part != nil {
			transcript.Part(client.PartUpdate{Message: part.Message, Part: part.Part, Kind: part.Kind, Text: part.Text})
		} else if err := transcript.Event(step.Event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	got, err := json.MarshalIndent(map[string]any{
		"messages": transcript.Messages, "permissions": transcript.Permissions, "running": transcript.Running,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile("testdata/turn.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/turn.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("transcript (-want +got; -update writes it):\n%s", d)
	}
}

func TestTranscriptHasOpenQuestions(t *testing.T) {
	t.Parallel()
	var transcript client.Transcript
	for seq, event := range []struct{ eventType, data string }{
		{"session.question.asked", `{"request":"que_1","agent":"build","message":"msg_1","call":"c","questions":[{"text":"Which?","options":[{"label":"this"}],"custom":true}],"before":true}`},
		{"session.question.asked", `{"request":"que_2","agent":"build","questions":[{"text":"When?","custom":true}]}`},
		{"session.question.asked", `{"request":"que_3","agent":"build","questions":[{"text":"Who?","custom":true}]}`},
		{"session.question.answered", `{"request":"que_2","answers":[["now"]]}`},
		{"session.question.dismissed", `{"request":"que_3"}`},
	} {
		if err := transcript.Event(protocol.Event{Session: "ses_1", Seq: int64(seq), Type: event.eventType, Data: json.RawMessage(event.data)}); err != nil {
			t.Fatal(err)
		}
	}
	want := []protocol.Question{{ID: "que_1", SessionID: "ses_1", Agent: "build", Message: "msg_1", CallID: "c",
		Questions: []protocol.QuestionItem{{Text: "Which?", Options: []protocol.QuestionOption{{Label: "this"}}, Custom: true}}}}
	if d := cmp.Diff(want, transcript.Questions); d != "" {
		t.Errorf("open (-want +got):\n%s", d)
	}
}

func TestTranscriptRefusesOtherData(t *testing.T) {
	t.Parallel()
	var transcript client.Transcript
	err := transcript.Event(protocol.Event{Seq: 3, Type: "session.text.ended", Data: json.RawMessage(`[]`)})
	if err == nil || !strings.Contains(err.Error(), "sequence 3") {
		t.Errorf("%v", err)
	}
}

func TestTranscriptTellsOfACompaction(t *testing.T) {
	t.Parallel()
	var transcript client.Transcript
	seq := int64(0)
	apply := func(eventType, data string) {
		t.Helper()
		if err := transcript.Event(protocol.Event{Session: "ses_1", Seq: seq, Type: eventType, Data: json.RawMessage(data)}); err != nil {
			t.Fatal(err)
		}
		seq++
	}
	streams := func(message, text string) {
		transcript.Part(client.PartUpdate{Message: message, Part: "summary", Kind: protocol.KindSummary, Text: text})
	}
	apply("session.compaction.started", `{"message":"msg_1","reason":"auto"}`)
	streams("msg_1", "So fa")
	streams("msg_0", "another")
	if d := cmp.Diff(&client.Compaction{Message: "msg_1", Reason: "auto", Text: "So fa"}, transcript.Compaction); d != "" {
		t.Errorf("while it streams (-want +got):\n%s", d)
	}
	apply("session.compaction.failed", `{"message":"msg_1","reason":"auto","error":{"code":"compaction","message":"no"}}`)
	streams("msg_1", "So far")
	if transcript.Compaction != nil || len(transcript.Messages) != 0 {
		t.Errorf("after it failed: %+v, %+v", transcript.Compaction, transcript.Messages)
	}
	apply("session.compaction.started", `{"message":"msg_2","reason":"manual"}`)
	apply("session.compaction.ended", `{"message":"msg_2","reason":"manual","summary":"So far so good","boundary":1,"usage":{"input":5,"output":2},"cost":7}`)
	streams("msg_2", "late")
	if len(transcript.Messages) != 1 || transcript.Compaction != nil {
		t.Fatalf("after it ended: %+v, %+v", transcript.Compaction, transcript.Messages)
	}
	if got := transcript.Messages[0]; got.Type != protocol.MessageCompaction || got.Text != "So far so good" || got.Reason != "manual" ||
		got.Usage == nil || got.Usage.Input != 5 || got.CostNano == nil || *got.CostNano != 7 || len(got.Parts) != 0 {
		t.Errorf("message %+v", got)
	}
}
