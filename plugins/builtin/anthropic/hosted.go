package main

import (
	"encoding/json"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// resultEnding is how the types of blocks end that hold what a tool of Anthropic's
// answered: web_search_tool_result, web_fetch_tool_result and so on.
const resultEnding = "_tool_result"

// isPair reports whether the two parts are a hosted call and its result in the form in
// which the API wants them back. What another model's provider ran is not.
func isPair(call, result wire.TurnPart) bool {
	return call.Type == abi.PartToolCall && result.Type == abi.PartToolResult && result.Hosted && result.Call == call.Call &&
		len(result.Result) > 0 && resultType(result.Metadata) != ""
}

// resultType is the type of the result's block, which its metadata has:
// {"type":"web_search_tool_result"}; "" when it has none.
func resultType(metadata json.RawMessage) (kind string) {
	r := jsonscan.NewReader(metadata)
	if len(metadata) == 0 || r.Kind() != '{' {
		return ""
	}
	for r.Object(); ; {
		key, ok := r.Next()
		switch {
		case !ok && strings.HasSuffix(kind, resultEnding):
			return kind
		case !ok:
			return ""
		case key == "type" && r.Kind() == '"':
			kind = r.String()
		default:
			r.Skip()
		}
	}
}

// hosted writes the call and the result as they came.
func hosted(dst []byte, call, result wire.TurnPart) []byte {
	dst = append(dst, `{"type":"server_tool_use"`...)
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "id"), call.Call)
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "name"), call.Name)
	dst = append(jsonscan.AppendField(dst, "input"), wire.ObjectInput(call.Input)...)
	dst = append(dst, `},{"type":`...)
	dst = jsonscan.AppendString(dst, resultType(result.Metadata))
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "tool_use_id"), result.Call)
	dst = append(jsonscan.AppendField(dst, "content"), result.Result...)
	return append(dst, '}')
}

// hostedResult is what the content of such a block says.
func hostedResult(kind string, content []byte) provider.Result {
	metadata := append(jsonscan.AppendString([]byte(`{"type":`), kind), '}')
	result := provider.Result{Value: content, Metadata: metadata}
	var told telling
	told.read(content)
	if result.Failed = told.failure != ""; result.Failed {
		result.Text = told.failure
		return result
	}
	result.Text = strings.Join(told.lines, "\n")
	return result
}

// telling gathers what a person, or another model, can read of a result.
type telling struct {
	lines   []string
	failure string // an error's code
}

// maxTold bounds the text; the whole result is kept beside it.
const maxTold = 32 << 10

// read takes a list of results, or one.
func (t *telling) read(content []byte) {
	r := jsonscan.NewReader(content)
	if r.Kind() == '[' {
		for r.Array(); r.More(); {
			t.one(r.Raw())
		}
		return
	}
	t.one(content)
}

// one takes the members that results of the known tools have.
func (t *telling) one(content []byte) {
	r := jsonscan.NewReader(content)
	if r.Kind() != '{' {
		return
	}
	var title, url, kind, data string
	var more []string
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			break
		}
		switch {
		case key == "content" && (r.Kind() == '{' || r.Kind() == '['), key == "source" && r.Kind() == '{':
			var inner telling
			inner.read(r.Raw())
			more = append(more, inner.lines...)
		case r.Kind() != '"':
			r.Skip()
		case key == "title":
			title = r.String()
		case key == "url":
			url = r.String()
		case key == "error_code":
			t.failure = r.String()
		case key == "type":
			kind = r.String()
		case key == "data":
			data = r.String()
		case key == "stdout", key == "stderr", key == "text", key == "content":
			more = append(more, r.String())
		default:
			r.Skip()
		}
	}
	if kind == "text" { // of a document; others are base64
		more = append(more, data)
	}
	t.add(strings.TrimSpace(title + " " + url))
	for _, line := range more {
		t.add(line)
	}
}

func (t *telling) add(line string) {
	size := len(line)
	for _, known := range t.lines {
		size += len(known)
	}
	if line != "" && size <= maxTold {
		t.lines = append(t.lines, line)
	}
}
