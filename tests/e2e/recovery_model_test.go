package e2e

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plinthhost/plinth/abi/pack"
	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/tests/chat"
)

// chaos is the world outside of the host: a model that is slow, refuses, breaks off and
// calls tools, and a server that counts what those calls do. Every call of a tool has a
// key of its own, by which its effects are found again.
type chaos struct {
	*chat.Server
	outside *httptest.Server
	seed    uint64
	count   atomic.Uint64

	mu       sync.Mutex
	requests map[string]int // of the model, by the conversation's tag
	effects  map[string]int // at the server, by the call's key
}

// newChaos starts it.
func newChaos(t *testing.T, seed uint64) *chaos {
	t.Helper()
	c := &chaos{seed: seed, requests: map[string]int{}, effects: map[string]int{}}
	c.outside = httptest.NewServer(http.HandlerFunc(c.effect))
	t.Cleanup(c.outside.Close)
	var err error
	if c.Server, err = chat.Start(c.answer, chat.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Server.Close() })
	return c
}

// random answers numbers of its own to every caller.
func (c *chaos) random() *rand.Rand { return rand.New(rand.NewPCG(c.seed, c.count.Add(1))) }

// effect counts a request that a tool made, and takes its time to say so.
func (c *chaos) effect(w http.ResponseWriter, request *http.Request) {
	c.mu.Lock()
	c.effects[filepath.Base(request.URL.Path)]++
	c.mu.Unlock()
	timer := time.NewTimer(time.Duration(c.random().IntN(40)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		_, _ = io.WriteString(w, "done")
	case <-request.Context().Done():
	}
}

// seen answers what has come so far: requests by tag, effects by key.
func (c *chaos) seen() (requests, effects map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.requests), maps.Clone(c.effects)
}

// tagged finds the name of a conversation in its first prompt.
var tagged = regexp.MustCompile(`\[([a-z]+[0-9]+)\]`)

func tagOf(text string) string {
	found := tagged.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return found[1]
}

// answer is what the model says to a request.
func (c *chaos) answer(request chat.Request) chat.Turn {
	tag, steps := "", 0
	for _, message := range request.Messages {
		if message.Role == "user" {
			tag, steps = either(tag, tagOf(message.Content)), 0
		}
		if message.Role == "assistant" {
			steps++
		}
	}
	c.mu.Lock()
	c.requests[tag]++
	c.mu.Unlock()
	random := c.random()
	turn := chat.Turn{Text: "Thinking about it for a while.", Deltas: 2 + random.IntN(8), Delay: time.Duration(random.IntN(6)) * time.Millisecond}
	if random.IntN(4) == 0 {
		turn.Reasoning = "What was it again?"
	}
	turn.Fault = fault(random)
	if steps < 3 && random.IntN(10) < 7 {
		for range 1 + random.IntN(3) {
			turn.Calls = append(turn.Calls, c.call(random, strings.HasPrefix(tag, "child")))
		}
	}
	return turn
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// fault goes wrong now and then.
func fault(random *rand.Rand) chat.Fault {
	after := http.Header{"Retry-After": {fmt.Sprint(random.IntN(2))}}
	switch random.IntN(24) {
	case 0, 1:
		return chat.Fault{Status: http.StatusTooManyRequests, Headers: after}
	case 2:
		return chat.Fault{Status: http.StatusServiceUnavailable}
	case 3:
		return chat.Fault{Cut: true, CutAfter: random.IntN(6)}
	case 4:
		return chat.Fault{Cut: true} // before any output
	}
	return chat.Fault{}
}

// object is a JSON object.
type object = map[string]any

// call is one that a tool of the test is for. A child gives no tasks.
func (c *chaos) call(random *rand.Rand, child bool) chat.ToolCall {
	key := fmt.Sprint("k", c.count.Add(1))
	fetch := object{"method": "POST", "url": c.outside.URL + "/effect/" + key}
	tool := "ask"
	var input object
	kinds := 10
	if child {
		kinds = 7
	}
	switch random.IntN(kinds) {
	case 0, 1: // may be run again
		tool, input = "read", object{"path": []string{"notes.txt", "guarded.txt"}[random.IntN(2)], "limit": 1 + random.IntN(1000)}
	case 2: // an effect at once
		input = object{"op": abi.OpHTTPFetch, "request": fetch}
	case 3: // asked for before the effect
		input = object{"op": abi.OpProcessRun, "request": object{"command": "echo " + key + " >> lines.txt"}}
	case 4: // the operation asks before the effect, or does not
		folder := []string{"free", "guarded"}[random.IntN(2)]
		input = object{"op": abi.OpFSCommit, "request": object{"changes": []object{{"op": "write", "path": folder + "/" + key, "text": key, "parents": true}}}}
	case 5: // asks beside or after the effect
		input = object{"op": abi.OpBatch, "request": object{"operations": []object{
			{"operation": abi.OpHTTPFetch, "request": fetch},
			{"operation": abi.OpPermissionAsk, "request": object{"action": "probe", "resources": []string{key}}},
		}}}
	case 6:
		input = object{"op": abi.OpQuestionAsk, "request": object{"questions": []object{
			{"header": key, "text": "Which?", "options": []object{{"label": "this"}, {"label": "that"}}},
		}}}
	default:
		input = object{"op": abi.OpTaskRun, "request": object{
			"agent": "general", "description": "a part", "prompt": "[child" + key[1:] + "] do it", "background": random.IntN(3) == 0,
		}}
	}
	arguments, _ := json.Marshal(input)
	return chat.ToolCall{ID: "call-" + key, Name: tool, Arguments: string(arguments)}
}

// callKey finds the key of a call of this model in the call's id, "" for another.
func callKey(call string) string {
	key, own := strings.CutPrefix(call, "call-k")
	if !own {
		return ""
	}
	return "k" + key
}

// asking writes the plugin test/ask, whose tool has the host carry out what its input
// says. It may POST to /effect/ of the origin.
func (w *world) asking(origin string) {
	w.t.Helper()
	module, err := os.ReadFile("../conformance/guests/dist/core-tinygo-tools.wasm")
	if err != nil {
		w.t.Fatal(err)
	}
	packed, err := pack.WithManifest(module, fmt.Appendf(nil, `schema = 1
id = "test/ask"
version = "1.0.0"
description = "Carries out one operation"
[[tool]]
name = "ask"
description = "Carries out one operation"
input = '{"type":"object"}'
permission = { action = "act", resource = "op" }
effects = ["write", "exec", "network"]
[[request.http]]
origins = [%q]
methods = ["POST"]
paths = ["/effect/*"]
reason = "test"
[[request.fs]]
root = "location"
access = "write"
reason = "test"
[request.process]
reason = "test"
[request.session]
operations = ["question.ask", "task.run"]
reason = "test"
`, origin))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("plugins/ask.wasm", string(packed))
}

// chaotic writes the plugin and the configuration of a host with this policy.
func (w *world) chaotic(c *chaos, policy string) {
	w.t.Helper()
	w.asking(c.outside.URL)
	w.write("project/guarded.txt", "three\n")
	w.write("config/plinth/config.toml", fmt.Sprintf(`model = "local/test"
[titles]
enabled = false
[providers.local]
plugin = "core/openai"
base_url = %q
[plugins]
development = true
folders = [%q]
[runner]
recovery = %q
retry_attempts = 3
shutdown_grace_ms = 200
[permissions]
rules = [
	{ action = "*", resource = "*", effect = "allow" },
	{ action = "act", resource = "process.run", effect = "ask" },
	{ action = "probe", resource = "*", effect = "ask" },
	{ action = "edit", resource = "guarded/*", effect = "ask" },
	{ action = "read", resource = "guarded.txt", effect = "ask" },
]
`, c.URL, filepath.Join(w.folder, "plugins"), policy))
}

// seedOf gives each part of a test its own numbers.
func seedOf(seed uint64, part string) uint64 {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, part)
	return seed ^ hash.Sum64()
}
