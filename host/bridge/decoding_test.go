package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
)

// pieces is a body that arrives as cut, and ends with an error or well.
type pieces struct {
	parts []string
	err   error // io.EOF when nil
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.parts) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		return 0, io.EOF
	}
	n := copy(into, p.parts[0])
	if p.parts[0] = p.parts[0][n:]; p.parts[0] == "" {
		p.parts = p.parts[1:]
	}
	return n, nil
}

func (p *pieces) Close() error { return nil }

// decoded is what came out of a stream as text, and its error.
func decoded(t testing.TB, plugin *Plugin, body io.ReadCloser) (events []string, err error) {
	t.Helper()
	reader, err := egress.NewFrameReader(body, egress.FramingSSE)
	if err != nil {
		t.Fatal(err)
	}
	d := decoding{provider: NewProvider(plugin, "openai", egress.FramingSSE, nil, nil), yield: func(event session.ModelEvent, err error) bool {
		if err != nil {
			t.Errorf("an error among the events: %v", err)
		}
		events = append(events, eventText(event))
		return true
	}}
	return events, d.run(t.Context(), reader)
}

func eventText(event session.ModelEvent) string {
	text := string(event.Type)
	for _, field := range []string{event.ID, event.Name, string(event.Reason)} {
		if field != "" {
			text += " " + field
		}
	}
	if event.Text != "" {
		text += fmt.Sprintf(" %q", event.Text)
	}
	if event.Hosted {
		text += " hosted"
	}
	if event.Failed {
		text += " failed"
	}
	if event.Result != nil {
		text += fmt.Sprintf(" =%s", event.Result)
	}
	if event.Metadata != nil {
		text += fmt.Sprintf(" ~%s", event.Metadata)
	}
	if event.Usage != (session.Usage{}) {
		text += fmt.Sprintf(" %+v", event.Usage)
	}
	return text
}

func transcript(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func openai(t testing.TB) *Plugin {
	t.Helper()
	return loadBuiltin(t, "core/openai", abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
}

// transcripts are real answers with what they mean.
var transcripts = []struct {
	file    string
	events  []string
	failure string
}{
	{"text.sse", []string{
		`reasoning.delta reasoning-0 "Let me "`, `reasoning.delta reasoning-0 "see… "`,
		`text.delta text-0 "Grüße, "`, `text.delta text-0 "日本 "`, `text.delta text-0 "😀\n"`, `text.delta text-0 "\"quoted\" \\ done."`,
		`usage {Input:12 Output:9 Reasoning:2 CacheRead:8 CacheWrite:0}`, `finish stop`}, ""},
	{"tools.sse", []string{
		`text.delta text-0 "I look."`, `tool.start call_a read`, `tool.delta call_a "{\"pa"`, `tool.delta call_a "th\":\"gö"`, `tool.delta call_a ".mod\"}"`,
		`tool.start call_b read`, `tool.delta call_b "{}"`, `tool.end call_a`, `tool.end call_b`, `finish tool_calls`}, ""},
	{"failure.sse", []string{`text.delta text-0 "Half an ans"`}, "overloaded: The engine is overloaded"},
}

// Splitting a stream anywhere gives the same events, also when every byte comes
// alone. Time stands still while a guest runs, so a busy machine fails no deadline.
func TestSplitsGiveTheSameEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugin := openai(t)
		for _, want := range transcripts {
			text := transcript(t, want.file)
			splits := [][]string{{text}, nil}
			for at := range len(text) {
				splits[1] = append(splits[1], text[at:at+1])
				splits = append(splits, []string{text[:at+1], text[at+1:]})
			}
			for _, split := range splits {
				first := len(split[0])
				events, err := decoded(t, plugin, &pieces{parts: split})
				diff := cmp.Diff(want.events, events)
				if diff != "" || err != nil && err.Error() != want.failure || err == nil && want.failure != "" {
					t.Fatalf("%s in %d pieces, the first of %d bytes: %v %s", want.file, len(split), first, err, diff)
				}
			}
		}
	})
}

// However a stream is cut it ends once: with its finish, or with an error. What came
// before the cut is a beginning of the whole.
func TestCutsEndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plugin := openai(t)
		reset := &egress.Error{Kind: egress.KindReset, Text: "the connection was reset"}
		for _, whole := range transcripts {
			text := transcript(t, whole.file)
			for at := range len(text) {
				for _, ending := range []error{nil, reset} {
					events, err := decoded(t, plugin, &pieces{parts: []string{text[:at]}, err: ending})
					finishes := 0
					for i, event := range events {
						if strings.HasPrefix(event, "finish ") {
							finishes++
							continue
						}
						if !strings.HasPrefix(event, "usage ") && event != whole.events[i] {
							t.Fatalf("%s cut after %d bytes by %v: event %d is %s", whole.file, at, ending, i, event)
						}
					}
					failed, ok := errors.AsType[*session.ProviderError](providerError(err))
					if err != nil && !ok || finishes+map[bool]int{true: 1}[ok] != 1 {
						t.Fatalf("%s cut after %d bytes by %v: %v, then %v", whole.file, at, ending, events, err)
					}
					if ok && ending != nil && whole.failure != failed.Message && failed.Message != reset.Text {
						t.Fatalf("%s cut after %d bytes by %v: %v", whole.file, at, ending, failed)
					}
				}
			}
		}
	})
}

// A codec may say what it likes: the stream has one terminal event, at its end.
func TestTheGrammarIsKept(t *testing.T) {
	const (
		text   = `{"type":"text.delta","id":"t","text":"a"}`
		usage  = `{"type":"usage","usage":{"input":1,"output":2}}`
		finish = `{"type":"finish","reason":"stop"}`
		failed = `{"type":"error","error":{"classification":"overloaded","message":"Busy","retryable":true,"retry_after_ms":1500}}`
	)
	tests := []struct {
		name        string
		frames, end string // events
		want        []string
		class, says string
	}{
		{"a finish with the frames", text + "," + finish, "", []string{`text.delta t "a"`, "finish stop"}, "", ""},
		{"a finish at the end", text, finish, []string{`text.delta t "a"`, "finish stop"}, "", ""},
		{"a usage after the finish", text + "," + finish, usage,
			[]string{`text.delta t "a"`, "usage {Input:1 Output:2 Reasoning:0 CacheRead:0 CacheWrite:0}", "finish stop"}, "", ""},
		{"no finish", text, usage, []string{`text.delta t "a"`, "usage {Input:1 Output:2 Reasoning:0 CacheRead:0 CacheWrite:0}"},
			session.ProviderIncomplete, "The provider's answer ended without saying that it is complete"},
		{"nothing", "", "", nil, session.ProviderIncomplete, "The provider's answer ended without saying that it is complete"},
		{"two finishes", finish, finish, nil, session.ProviderProtocol, "The provider's plugin broke the event grammar: finish after the finish"},
		{"a text after the finish", finish + "," + text, "", nil, session.ProviderProtocol, "The provider's plugin broke the event grammar: text.delta after the finish"},
		{"an error", text + "," + failed + "," + text, finish, []string{`text.delta t "a"`}, "overloaded", "Busy"},
		{"an error after the finish", finish, failed, nil, "overloaded", "Busy"},
		{"an error without a word", `{"type":"error"}`, "", nil, session.ProviderUnknown, "The provider reported an error without saying which"},
		{"a hosted tool", `{"type":"tool.start","id":"h","name":"search","hosted":true},{"type":"tool.end","id":"h","metadata":{"a":1}},` +
			`{"type":"tool.result","id":"h","text":"Two","result":[{"b":2.50}],"metadata":{"c":3},"failed":false}`, finish,
			[]string{"tool.start h search hosted", `tool.end h ~{"a":1}`, `tool.result h "Two" =[{"b":2.50}] ~{"c":3}`, "finish stop"}, "", ""},
		{"a hosted tool that fails", `{"type":"tool.result","id":"h","text":"No","failed":true,"result":null,"metadata":null}`, finish,
			[]string{`tool.result h "No" failed`, "finish stop"}, "", ""},
		{"a result after the finish", finish, `{"type":"tool.result","id":"h"}`, nil, session.ProviderProtocol,
			"The provider's plugin broke the event grammar: tool.result after the finish"},
		{"hosted text", `{"type":"text.delta","id":"t","text":"a","hosted":true}`, finish, nil, session.ProviderProtocol,
			`The provider's plugin broke the event grammar: text.delta "t" says hosted, which only tool.start does`},
		{"a result of an end", `{"type":"tool.end","id":"h","result":[]}`, finish, nil, session.ProviderProtocol,
			`The provider's plugin broke the event grammar: tool.end "h" has a result or says failed, which only tool.result does`},
		{"a failed end", `{"type":"tool.end","id":"h","failed":true}`, finish, nil, session.ProviderProtocol,
			`The provider's plugin broke the event grammar: tool.end "h" has a result or says failed, which only tool.result does`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			guest := bridgetest.New().Decodes(`{"ok":{"events":[`+test.frames+`]}}`, `{"ok":{"events":[`+test.end+`]}}`)
			plugin, _ := loadGuest(t, guest, abi.ExportProviderDecode)
			events, err := decoded(t, plugin, &pieces{parts: []string{"data: x\n\n"}})
			if diff := cmp.Diff(test.want, events); diff != "" {
				t.Error(diff)
			}
			failed, _ := errors.AsType[*session.ProviderError](err)
			if test.class == "" && err != nil || test.class != "" && (failed == nil || failed.Class != test.class || failed.Message != test.says) {
				t.Errorf("%#v", err)
			}
		})
	}
}

func TestACodecThatBreaks(t *testing.T) {
	tests := []struct {
		name  string
		guest *bridgetest.Guest
		want  string
	}{
		{"trap", bridgetest.New().Traps(abi.ExportProviderDecode), "The provider's plugin broke: call plinth_provider_decode of module acme/test: trap in plinth_provider_decode: "},
		{"timeout", bridgetest.New().Loops(abi.ExportProviderDecode), "The provider's plugin broke: call plinth_provider_decode of module acme/test: deadline passed"},
		{"no answer", bridgetest.New().Decodes(`{"ok":{"events":1}}`, `{}`), "The provider's plugin broke: plugin acme/test: the answer of plinth_provider_decode cannot be read: "},
		{"an error", bridgetest.New().Decodes(`{"error":{"kind":"invalid_input","message":"that is no chunk"}}`, `{}`), "The provider's plugin cannot handle this: that is no chunk"},
	}
	for _, test := range tests {
		plugin, _ := loadGuest(t, test.guest, abi.ExportProviderDecode)
		_, err := decoded(t, plugin, &pieces{parts: []string{"data: x\n\n"}})
		failed, ok := errors.AsType[*session.ProviderError](providerError(err))
		if !ok || failed.Class != session.ProviderProtocol || failed.Retryable || !strings.HasPrefix(failed.Message, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Many frames at once go to the codec in bounded batches, and the state with them.
func TestFramesAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest := bridgetest.New().Reflects(abi.ExportProviderDecode, `{"ok":{"state":"kept","events":[{"type":"text.delta","id":"t","metadata":`, `}]}}`)
		plugin, _ := loadGuest(t, guest, abi.ExportProviderDecode)
		reader, err := egress.NewFrameReader(&pieces{parts: []string{strings.Repeat("event: e\ndata: x\n\n", maxFramesPerCall+1)}}, egress.FramingSSE)
		if err != nil {
			t.Fatal(err)
		}
		var calls []string
		d := decoding{provider: NewProvider(plugin, "codec", egress.FramingSSE, nil, nil), yield: func(event session.ModelEvent, _ error) bool {
			calls = append(calls, string(event.Metadata))
			return true
		}}
		if err := d.run(t.Context(), reader); err == nil {
			t.Error("the stream has no finish")
		}
		call := func(deadline int, state string, frames int, end bool) string {
			list := strings.TrimSuffix(strings.Repeat(`{"event":"e","data":"x"},`, frames), ",")
			return fmt.Sprintf(`{"deadline_ms":%d,"meta":{"plugin":"acme/test","revision":"r1"},"body":{"provider":"codec",%s"frames":[%s],"end":%v}}`, deadline, state, list, end)
		}
		want := []string{call(5140, "", 256, false), call(40, `"state":"kept",`, 1, false), call(20, `"state":"kept",`, 0, true)}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Error(diff)
		}
	})
}

// A server that leaves the connection open after its last frame does not hold the
// turn.
func TestAServerThatDoesNotEnd(t *testing.T) {
	text := transcript(t, "text.sse")
	synctest.Test(t, func(t *testing.T) {
		plugin := openai(t)
		body, server := io.Pipe()
		go func() {
			if _, err := io.WriteString(server, text); err != nil {
				t.Error(err)
			}
		}()
		events, err := decoded(t, plugin, body)
		if diff := cmp.Diff(transcripts[0].events, events); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}

// What a provider wants back is kept with every turn, so it has bounds.
func TestWhatAProviderWantsBackIsBounded(t *testing.T) {
	quoted := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	tests := []struct {
		event abi.ModelEvent
		says  string
	}{
		{abi.ModelEvent{Type: abi.EventToolResult, ID: "h", Result: quoted(MaxResultBytes), Metadata: quoted(MaxMetadataBytes), Text: strings.Repeat("x", MaxResultBytes)}, ""},
		{abi.ModelEvent{Type: abi.EventToolResult, ID: "h", Result: quoted(MaxResultBytes + 1)}, `the result of the call "h" has 4194305 bytes; the most is 4194304`},
		{abi.ModelEvent{Type: abi.EventToolResult, ID: "h", Text: strings.Repeat("x", MaxResultBytes+1)}, `the text of the result of the call "h" has 4194305 bytes; the most is 4194304`},
		{abi.ModelEvent{Type: abi.EventToolResult, ID: "h", Metadata: quoted(MaxMetadataBytes + 1)}, `the metadata of tool.result "h" has 1048577 bytes; the most is 1048576`},
		{abi.ModelEvent{Type: abi.EventReasoningEnd, ID: "r", Metadata: quoted(MaxMetadataBytes + 1)}, `the metadata of reasoning.end "r" has 1048577 bytes; the most is 1048576`},
	}
	for _, test := range tests {
		passed := 0
		d := decoding{yield: func(session.ModelEvent, error) bool { passed++; return true }}
		err := d.event(test.event)
		if test.says == "" {
			if err != nil || passed != 1 {
				t.Errorf("%v, %d events", err, passed)
			}
			continue
		}
		failed, ok := errors.AsType[*session.ProviderError](err)
		if !ok || failed.Class != session.ProviderProtocol || failed.Retryable || failed.Message != "The provider's plugin broke the event grammar: "+test.says || passed != 0 {
			t.Errorf("%v, want %s", err, test.says)
		}
	}
}
