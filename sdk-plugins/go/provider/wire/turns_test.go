package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// said makes messages of words: "user:Hi", "call:c1", "result:c1", "image:c1",
// "system:new", "assistant:Hello", "thinks:hm", "hosted:h1".
func said(words ...string) (history []abi.Message) {
	for i, word := range words {
		kind, text, _ := strings.Cut(word, ":")
		m := abi.Message{ID: fmt.Sprintf("msg_%d", i), Role: kind}
		part := abi.Part{Type: abi.PartText, Text: text}
		switch kind {
		case "call":
			m.Role, part = abi.RoleAssistant, abi.Part{Type: abi.PartToolCall, Call: text}
		case "hosted":
			m.Role, part = abi.RoleAssistant, abi.Part{Type: abi.PartToolResult, Call: text, Hosted: true}
		case "thinks":
			m.Role, part = abi.RoleAssistant, abi.Part{Type: abi.PartReasoning, Text: text}
		case "result":
			m.Role, part = abi.RoleTool, abi.Part{Type: abi.PartToolResult, Call: text, Text: text}
		case "file":
			m.Role, part = abi.RoleUser, abi.Part{Type: abi.PartMedia, Name: text}
		}
		m.Parts = []abi.Part{part}
		history = append(history, m)
	}
	return history
}

// shape is turns as text: "user[result:c1 Hi] system[new]"; a mark is a star.
func shape(turns []wire.Turn) string {
	var out []string
	for _, turn := range turns {
		var parts []string
		for _, part := range turn.Parts {
			text := part.Text
			switch part.Type {
			case abi.PartToolCall, abi.PartToolResult:
				text = part.Type + ":" + part.Call
			case abi.PartMedia:
				text = "file:" + part.Name
			}
			text = strings.NewReplacer("<system-update>\n", "<", "\n</system-update>", ">", "\n", "|").Replace(text)
			for _, file := range part.Files {
				text += "+" + file.Name
			}
			if part.Mark {
				text += "*"
			}
			parts = append(parts, text)
		}
		out = append(out, turn.Role+"["+strings.Join(parts, " ")+"]")
	}
	return strings.Join(out, " ")
}

func nothing(abi.Part) bool { return false }

func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name   string
		native bool
		words  []string
		want   string
	}{
		{"alternating", false, []string{"user:Hi", "assistant:Hello", "user:Bye"}, "user[Hi] assistant[Hello] user[Bye]"},
		{"adjacent", false, []string{"user:a", "user:b", "assistant:c", "call:d", "result:d", "user:e"}, "user[a b] assistant[c tool_call:d] user[tool_result:d e]"},
		{"results come first", false, []string{"user:a", "call:c", "call:d", "user:b", "result:c", "system:s", "result:d"},
			"user[a] assistant[tool_call:c tool_call:d] user[tool_result:c tool_result:d b <s>]"},
		{"blank text", false, []string{"user:a", "assistant: \n\t", "user:b"}, "user[a b]"},
		{"L290: an update joins what the user said", false, []string{"user:Hi", "system:a<b"}, "user[Hi <a&lt;b>]"},
		{"L290: or is all that he says", false, []string{"system:x", "assistant:a", "system:y", "assistant:b"}, "user[<x>] assistant[a] user[<y>] assistant[b]"},
		{"L292: native at the end", true, []string{"user:Hi", "system:s"}, "user[Hi] system[s]"},
		{"L292: native before the assistant", true, []string{"user:Hi", "system:s", "system:t", "assistant:a", "user:b"}, "user[Hi] system[s t] assistant[a] user[b]"},
		{"L292: wrapped before the user", true, []string{"user:Hi", "system:s", "system:t", "user:b"}, "user[Hi <s|t> b]"},
		{"L292: wrapped behind the assistant", true, []string{"user:Hi", "assistant:a", "system:s"}, "user[Hi] assistant[a] user[<s>]"},
		{"L292: native behind a hosted tool", true, []string{"user:Hi", "hosted:h", "system:s"}, "user[Hi] assistant[tool_result:h] system[s]"},
		{"L292: native behind results", true, []string{"call:c", "result:c", "system:s", "assistant:a"}, "assistant[tool_call:c] user[tool_result:c] system[s] assistant[a]"},
		{"L292: behind the results when it stands between", true, []string{"call:c", "system:s", "result:c", "assistant:a"}, "assistant[tool_call:c] user[tool_result:c <s>] assistant[a]"},
		{"wrapped first of all", true, []string{"system:s", "user:Hi"}, "user[<s> Hi]"},
		{"nothing", true, nil, ""},
	} {
		turns, err := wire.Turns("Test", said(c.words...), c.native, nothing)
		if got := shape(turns); err != nil || got != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
	turns, err := wire.Turns("Test", said("user:a", "thinks:hm", "user:b"), false, func(part abi.Part) bool { return part.Type == abi.PartReasoning })
	if got := shape(turns); err != nil || got != "user[a b]" {
		t.Errorf("with reasoning left out: %s, %v", got, err)
	}
}

// L293: what results show stays with its result, also with several results at once.
func TestFilesStayWithTheirResult(t *testing.T) {
	file := func(call, name string) abi.Part { return abi.Part{Type: abi.PartMedia, Call: call, Name: name} }
	result := func(call string) abi.Part { return abi.Part{Type: abi.PartToolResult, Call: call} }
	turns, err := wire.Turns("Test", []abi.Message{{Role: abi.RoleTool, Parts: []abi.Part{result("a"), result("b"), file("b", "y"), file("a", "x"), file("b", "z")}}}, false, nothing)
	if got := shape(turns); err != nil || got != "user[tool_result:a+x tool_result:b+y+z]" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestTurnsRefuse(t *testing.T) {
	message := func(role, kind string) []abi.Message {
		return []abi.Message{{ID: "msg_9", Role: role, Parts: []abi.Part{{Type: kind, Call: "c"}}}}
	}
	for says, history := range map[string][]abi.Message{
		"message msg_9: a Test message of role user can hold text and files; this one has a part of type tool_call":                      message("user", "tool_call"),
		"role assistant can hold text, reasoning and tool calls; this one has a part of type media":                                      message("assistant", "media"),
		"role assistant can hold text, reasoning and tool calls; this one has a part of type tool_result":                                message("assistant", "tool_result"),
		"role system can hold text; this one has a part of type media":                                                                   message("system", "media"),
		"role tool can hold tool_result and files; this one has a part of type text":                                                     message("tool", "text"),
		`message msg_9 has the role "critic"; Test knows user, assistant, tool and system`:                                               message("critic", "text"),
		`message msg_9 has a file of the tool call "c" without its result`:                                                               message("tool", "media"),
		`message msg_2 changes the system context behind the tool call "c" of message msg_1, which has no result; tell the result first`: said("user:a", "call:c", "system:s"),
		`message msg_2 changes the system context behind the tool call "d" of message msg_1, which has no result; tell the result first`: said("call:c", "call:d", "system:s", "result:c"),
		`message msg_1 changes the system context behind the tool call "c" of message msg_0, which has no result; tell the result first`: said("call:c", "system:s", "user:x", "assistant:a", "result:c"),
	} {
		_, err := wire.Turns("Test", history, true, nothing)
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

func TestCacheIsRead(t *testing.T) {
	auto := wire.Auto("turn")
	for record, want := range map[string]wire.Cache{
		``: auto, `null`: auto, ` "auto" `: auto, `"none"`: {}, `{}`: {},
		`{"tools":true,"ttl_seconds":3600}`:                                   {Tools: true, Hour: true},
		`{"system":true,"messages":"latest-user","ttl_seconds":3599}`:         {System: true, Messages: wire.LatestUser},
		`{"messages":"latest-assistant"}`:                                     {Messages: wire.LatestAssistant},
		`{"messages":{"tail":4},"tools":false,"system":true,"ttl_seconds":1}`: {System: true, Messages: wire.Tail, Tail: 4},
		`{"messages":"rounds","tools":true}`:                                  {Tools: true, Messages: wire.Rounds},
		`{"messages":null}`:                                                   {},
	} {
		got, err := wire.ReadCache(map[string]json.RawMessage{"cache": json.RawMessage(record)}, auto)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", record, got, err)
		}
	}
	if wire.Auto("title") != (wire.Cache{}) || wire.Auto("compaction") != (wire.Cache{}) || auto != (wire.Cache{Tools: true, System: true, Messages: wire.Rounds}) {
		t.Error("what is asked once is marked, or a turn is not")
	}
	for record, says := range map[string]string{
		`"some"`:                  `options.cache is "some"; it is "auto", "none" or an object`,
		`7`:                       `options.cache is 7`,
		`{"tool":true}`:           `unknown field "tool"; it may hold tools, system, messages and ttl_seconds`,
		`{"ttl_seconds":0}`:       `options.cache.ttl_seconds is 0; it is more than 0`,
		`{"messages":"all"}`:      `options.cache.messages is "all"`,
		`{"messages":{"tail":0}}`: `with N from 1 to 4`,
		`{"messages":{"tail":5}}`: `with N from 1 to 4`,
		`{"messages":{"head":1}}`: `with N from 1 to 4`,
	} {
		_, err := wire.ReadCache(map[string]json.RawMessage{"cache": json.RawMessage(record)}, auto)
		if err == nil || !strings.HasPrefix(err.Error(), "invalid_input: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", record, err, says)
		}
	}
}

func TestMarks(t *testing.T) {
	words := []string{"user:a", "file:x", "assistant:b", "call:c", "result:c", "system:s", "assistant:d", "thinks:e"}
	for _, c := range []struct {
		cache wire.Cache
		spent int
		want  string
	}{
		{wire.Cache{}, 0, "user[a file:x] assistant[b tool_call:c] user[tool_result:c <s>] assistant[d e]"},
		{wire.Cache{Messages: wire.LatestUser}, 2, "user[a* file:x] assistant[b tool_call:c] user[tool_result:c <s>] assistant[d e]"},
		{wire.Cache{Messages: wire.LatestUser}, 4, "user[a file:x] assistant[b tool_call:c] user[tool_result:c <s>] assistant[d e]"},
		{wire.Cache{Messages: wire.Rounds}, 2, "user[a file:x*] assistant[b tool_call:c] user[tool_result:c <s>*] assistant[d e]"},
		{wire.Cache{Messages: wire.Rounds}, 3, "user[a file:x] assistant[b tool_call:c] user[tool_result:c <s>*] assistant[d e]"},
		{wire.Cache{Messages: wire.LatestAssistant}, 2, "user[a file:x] assistant[b tool_call:c] user[tool_result:c <s>] assistant[d* e]"},
		{wire.Cache{Messages: wire.Tail, Tail: 1}, 2, "user[a file:x] assistant[b tool_call:c] user[tool_result:c <s>] assistant[d* e]"},
		{wire.Cache{Messages: wire.Tail, Tail: 3}, 0, "user[a file:x] assistant[b tool_call:c*] user[tool_result:c <s>*] assistant[d* e]"},
		{wire.Cache{Messages: wire.Tail, Tail: 4}, 2, "user[a file:x] assistant[b tool_call:c] user[tool_result:c <s>*] assistant[d* e]"},
		{wire.Cache{Messages: wire.Tail, Tail: 4}, 0, "user[a file:x*] assistant[b tool_call:c*] user[tool_result:c <s>*] assistant[d* e]"},
	} {
		turns, err := wire.Turns("Test", said(words...), false, nothing)
		if err != nil {
			t.Fatal(err)
		}
		c.cache.MarkTurns(turns, c.spent)
		if got := shape(turns); got != c.want {
			t.Errorf("%+v with %d spent:\n got %s\nwant %s", c.cache, c.spent, got, c.want)
		}
	}
	// What a step wrote is read by the next: the later mark of one is the earlier of the other.
	loop := []string{"user:a", "call:c", "result:c", "call:d", "result:d", "call:e", "result:e"}
	for n, want := range map[int]string{
		3: "user[a*] assistant[tool_call:c] user[tool_result:c*]",
		5: "user[a] assistant[tool_call:c] user[tool_result:c*] assistant[tool_call:d] user[tool_result:d*]",
		7: "user[a] assistant[tool_call:c] user[tool_result:c] assistant[tool_call:d] user[tool_result:d*] assistant[tool_call:e] user[tool_result:e*]",
	} {
		turns, err := wire.Turns("Test", said(loop[:n]...), false, nothing)
		if err != nil {
			t.Fatal(err)
		}
		wire.Auto("turn").MarkTurns(turns, 2)
		if got := shape(turns); got != want {
			t.Errorf("%d messages:\n got %s\nwant %s", n, got, want)
		}
	}
	for want, words := range map[string][]string{"user[file:x*]": {"file:x"}, "assistant[e]": {"thinks:e"}, "user[a*] assistant[b] system[s]": {"user:a", "hosted:b", "system:s"}} {
		turns, err := wire.Turns("Test", said(words...), true, nothing)
		if err != nil {
			t.Fatal(err)
		}
		wire.Cache{Messages: wire.LatestUser}.MarkTurns(turns, 0)
		if got := strings.ReplaceAll(shape(turns), "tool_result:", ""); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestCallsFitTheProtocols(t *testing.T) {
	long := strings.Repeat("x", 65)
	for id, same := range map[string]bool{"toolu_01A-b": true, strings.Repeat("x", 64): true, long: false, "a|b": false, "a.b": false, "": false, "é": false} {
		got := wire.CallID(id)
		if (got == id) != same || got == "" || len(got) > 64 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q is %q", id, got)
		}
	}
	if wire.CallID("a|b") == wire.CallID("a.b") || wire.CallID(long) == wire.CallID(long+"x") {
		t.Error("two calls have one id")
	}
	for input, want := range map[string]string{``: `{}`, `{"a":1}`: `{"a":1}`, `"{broken"`: `{"value":"{broken"}`} {
		if got := wire.ObjectInput(json.RawMessage(input)); string(got) != want {
			t.Errorf("%s is %s", input, got)
		}
	}
	for metadata, want := range map[string]wire.Signed{``: {}, `7`: {}, `{"signature":"s"}`: {Signature: "s"}, `{"x":[],"redacted":"r"}`: {Redacted: "r"}, `{"signature":1}`: {}} {
		if got := wire.ReadSigned(json.RawMessage(metadata)); got != want || len(metadata) > 16 && want != (wire.Signed{}) && got.Metadata() == nil {
			t.Errorf("%s is %+v", metadata, got)
		}
	}
}
