package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plinthhost/plinth/tests/wires"
)

// wire is a provider's protocol with what the configuration says to speak it.
type wire struct {
	wires.Protocol
	secret string // the value of MODEL_KEY
	key    string // what of it reaches the server: AWS's id, which is told, or the key, which is not
	more   string // keys of the provider's table
}

func providerWires() []wire {
	const key = "sk-0123456789abcdef"
	return []wire{
		{wires.Chat(), key, key, ""},
		{wires.Gemini(), key, key, ""},
		{wires.Responses(), key, key, ""},
		{wires.Anthropic(), key, key, ""},
		{wires.Bedrock(), "AKIDEXAMPLE:" + key, "AKIDEXAMPLE", "region = \"eu-central-1\"\n"},
	}
}

// speaking starts a server of the wire and makes its model the default one.
func (w *world) speaking(one wire, script wires.Script, options wires.Options, more string) *wires.Server {
	w.t.Helper()
	options.Key = one.key
	server, err := wires.Start(one.Protocol, script, options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { server.Close() })
	w.write("config/plinth/config.toml", fmt.Sprintf("model = \"far/%s\"\n[titles]\nenabled = false\n[providers.far]\nplugin = %q\nbase_url = %q\nsecret = \"env:MODEL_KEY\"\n%s%s",
		one.Model, one.Plugin, server.URL, one.more, more))
	w.environ = append(slices.DeleteFunc(w.environ, func(variable string) bool { return strings.HasPrefix(variable, "MODEL_KEY=") }), "MODEL_KEY="+one.secret)
	return server
}

// newest is the id of the newest session.
func (w *world) newest() string {
	w.t.Helper()
	list, _, _ := w.plinth("sessions")
	id, _, _ := strings.Cut(list, " ")
	return id
}

// Every provider against a server of its own wire: text, parallel tools, a picture, and
// reasoning that comes back signed, in the same work and with the next prompt.
func TestEveryProviderHoldsAConversation(t *testing.T) {
	for _, one := range providerWires() {
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			picture := painted(t, 40, 30)
			if err := os.WriteFile(filepath.Join(w.project, "shot.png"), picture, 0o600); err != nil {
				t.Fatal(err)
			}
			usage := wires.Usage{Input: 100, Output: 20, Cached: 40}
			if one.Name != "anthropic" && one.Name != "bedrock" { // which do not tell it
				usage.Reasoning = 5
			}
			read := func(id, path string) wires.Call {
				return wires.Call{ID: id, Name: "read", Arguments: `{"path":"` + path + `"}`}
			}
			server := w.speaking(one, wires.Turns(
				wires.Turn{Reasoning: "Two files.", Text: "I look.", Calls: []wires.Call{read("call_a", "go.mod"), read("call_b", "notes.txt")}, Usage: usage},
				wires.Turn{Reasoning: "A picture.", Calls: []wires.Call{read("call_c", "shot.png")}, Usage: usage},
				wires.Turn{Text: "It is noise.", Usage: usage},
				wires.Turn{Text: "You are welcome.", Usage: usage},
			), wires.Options{Signed: true}, "")
			out, notes, code := w.plinth("run", "What is here?")
			if code != 0 || !strings.Contains(out, "I look.") || !strings.Contains(out, "It is noise.") {
				t.Fatalf("exit %d\n%s\n%s", code, out, notes)
			}
			id := w.newest()
			if out, notes, code = w.plinth("run", "--session", id, "Thanks"); code != 0 || !strings.Contains(out, "You are welcome.") {
				t.Fatalf("exit %d\n%s\n%s", code, out, notes)
			}
			requests := server.Requests()
			if len(requests) != 4 {
				t.Fatalf("%d requests, want 4", len(requests))
			}
			first, second, third, last := requests[0], requests[1].Last(), requests[2], requests[3]
			if first.Model != one.Model || first.System == "" || !slices.Contains(first.Tools, "read") || !strings.Contains(first.Last().Text, "What is here?") {
				t.Errorf("the first request is %s", first.Body)
			}
			if len(second.Results) != 2 || !strings.Contains(second.Results[0].Text, "module example.test/thing") || !strings.Contains(second.Results[1].Text, "two") {
				t.Errorf("the results are %+v", second.Results)
			}
			if images := third.Images(); len(images) != 1 || images[0] != (wires.Image{Mime: "image/png", Data: base64.StdEncoding.EncodeToString(picture)}) {
				t.Errorf("%d images: %.80q", len(images), images)
			}
			if want := 2; one.Signs && len(last.Signatures) != want || !strings.Contains(last.Last().Text, "Thanks") {
				t.Errorf("%d signatures, want %d; the last message is %+v", len(last.Signatures), want, last.Last())
			}
			w.conversed(id, usage)
		})
	}
}

// conversed checks what was recorded of the conversation.
func (w *world) conversed(id string, usage wires.Usage) {
	w.t.Helper()
	events, _, _ := w.plinth("events", id)
	if strings.Contains(events, "sk-0123456789abcdef") {
		w.t.Error("the key is in the log")
	}
	calls, steps := map[string]bool{}, 0
	for line := range strings.Lines(events) {
		_, text, found := strings.Cut(line, "{")
		var payload struct {
			Call  string
			Name  string
			Usage *struct {
				Input, Output, Reasoning int64
				CacheRead                int64 `json:"cache_read"`
			}
		}
		if !found || json.Unmarshal([]byte("{"+text), &payload) != nil {
			continue
		}
		if strings.Contains(line, "session.tool.called") {
			if calls[payload.Call] {
				w.t.Errorf("two calls have the id %s", payload.Call)
			}
			calls[payload.Call] = true
		}
		if payload.Usage != nil && strings.Contains(line, "session.step.ended") {
			steps++
			if got := (wires.Usage{Input: payload.Usage.Input, Output: payload.Usage.Output, Cached: payload.Usage.CacheRead, Reasoning: payload.Usage.Reasoning}); got != usage {
				w.t.Errorf("a step took %+v, want %+v", got, usage)
			}
		}
	}
	if len(calls) != 3 || steps != 4 {
		w.t.Errorf("%d calls and %d steps are in\n%.3000s", len(calls), steps, events)
	}
}

// A request that is longer than the window says so in every protocol: the history is
// condensed, and the same work goes on.
func TestEveryProvidersOverflowIsRecovered(t *testing.T) {
	for _, one := range providerWires() {
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var count atomic.Int64
			server := w.speaking(one, func(wires.Request) wires.Turn {
				return []wires.Turn{
					{Text: strings.Repeat("A long answer. ", 400)},
					{Fault: wires.Fault{Kind: wires.Overflow}},
					{Text: "## Goal\nTo talk."}, // the summary
					{Text: "Still here."},
				}[min(count.Add(1), 4)-1]
			}, wires.Options{}, "[compaction]\nkeep = 0\n[runner]\nretry_attempts = 0\n")
			if _, notes, code := w.plinth("run", "Talk"); code != 0 {
				t.Fatal(notes)
			}
			out, notes, code := w.plinth("run", "--session", w.newest(), "Go on")
			if code != 0 || !strings.Contains(out, "Still here.") {
				t.Fatalf("exit %d\n%s\n%s", code, out, notes)
			}
			requests := server.Requests()
			if len(requests) != 4 {
				t.Fatalf("%d requests, want 4", len(requests))
			}
			again := string(requests[3].Body)
			if !strings.Contains(again, "To talk.") || strings.Contains(again, "A long answer.") || !strings.Contains(requests[3].Last().Text, "Go on") {
				t.Errorf("the request behind the summary is %.3000s", again)
			}
		})
	}
}

// What goes wrong has the same type in every protocol, and what passes is tried again.
func TestEveryProvidersFaultsAreTyped(t *testing.T) {
	for _, one := range providerWires() {
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, c := range []struct {
				name     string
				fault    wires.Fault
				code     string
				requests int
			}{
				{"overflow", wires.Fault{Kind: wires.Overflow}, "context_overflow", 1},
				{"too large for other reasons", wires.Fault{Kind: wires.TooLarge}, "invalid_request", 1},
				{"quota", wires.Fault{Kind: wires.Quota}, "quota", 1},
				{"key", wires.Fault{Kind: wires.Key}, "authentication", 1},
				{"unavailable", wires.Fault{Kind: wires.Unavailable}, "overloaded", 2},
				{"cut", wires.Fault{Cut: 3}, "transport", 0}, // tried again where nothing was told yet
				{"garbage", wires.Fault{Garbage: 3}, "protocol", 1},
			} {
				server := w.speaking(one, func(wires.Request) wires.Turn {
					return wires.Turn{Text: "words that take some frames", Fault: c.fault}
				}, wires.Options{}, "[runner]\nretry_attempts = 1\nretry_max_wait_ms = 1\n[compaction]\nauto = false\n")
				out, notes, code := w.plinth("run", "Hello")
				if code != 3 || !strings.Contains(notes, "("+c.code+", session ") {
					t.Errorf("%s: exit %d, want 3 with %s\n%s\n%s", c.name, code, c.code, out, notes)
				}
				if events, _, _ := w.plinth("events", w.newest()); !strings.Contains(events, `"`+c.code+`"`) {
					t.Errorf("%s: the log has no failure %s:\n%.3000s", c.name, c.code, events)
				}
				if strings.Contains(out+notes, "sk-0123456789abcdef") {
					t.Errorf("%s: the key is told: %s", c.name, notes)
				}
				if n := len(server.Requests()); c.requests != 0 && n != c.requests {
					t.Errorf("%s: %d requests, want %d\n%s", c.name, n, c.requests, notes)
				}
			}
		})
	}
}

// A limit of the rate that says when it ends is waited for.
func TestEveryProvidersRateLimitIsWaitedFor(t *testing.T) {
	for _, one := range providerWires() {
		t.Run(one.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var count atomic.Int64
			server := w.speaking(one, func(wires.Request) wires.Turn {
				if count.Add(1) == 1 {
					return wires.Turn{Fault: wires.Fault{Kind: wires.RateLimit, RetryAfter: 2}}
				}
				return wires.Turn{Text: "Here I am."}
			}, wires.Options{}, "")
			out, notes, code := w.plinth("run", "Hello")
			if code != 0 || !strings.Contains(out, "Here I am.") {
				t.Fatalf("exit %d\n%s\n%s", code, out, notes)
			}
			requests := server.Requests()
			if len(requests) != 2 || requests[1].Received.Sub(requests[0].Received) < 2*time.Second {
				t.Errorf("%d requests, the last %v behind the first", len(requests), requests[len(requests)-1].Received.Sub(requests[0].Received))
			}
		})
	}
}
