package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// decoded is what came out of a stream of server-sent events as text, and its error.
func decoded(t testing.TB, plugin *Plugin, body io.ReadCloser) (events []string, err error) {
	t.Helper()
	return decodedBy(t, NewProvider(plugin, "openai", egress.FramingSSE, nil, nil), body)
}

func decodedBy(t testing.TB, provider *Provider, body io.ReadCloser) (events []string, err error) {
	t.Helper()
	reader, err := egress.NewFrameReader(body, provider.framing)
	if err != nil {
		t.Fatal(err)
	}
	d := decoding{provider: provider, yield: func(event session.ModelEvent, err error) bool {
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

func openai(t testing.TB) *Plugin {
	t.Helper()
	return loadBuiltin(t, "core/openai", abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
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
	text := transcript(t, "openai", "text")
	synctest.Test(t, func(t *testing.T) {
		plugin := openai(t)
		body, server := io.Pipe()
		go func() {
			if _, err := io.WriteString(server, text); err != nil {
				t.Error(err)
			}
		}()
		events, err := decoded(t, plugin, body)
		if diff := cmp.Diff(recorded(t, "openai", "text").events, events); diff != "" || err != nil {
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
