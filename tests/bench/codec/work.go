package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// codec is a row of what is measured.
type codec struct {
	plugin, provider, framing string
	// open are the frames before the first delta, and delta is the i-th one of text.
	open  []abi.Frame
	delta func(i int) abi.Frame
}

// codecs are the builtin providers, each with the words of its protocol for a text.
func codecs() []codec {
	return []codec{
		{plugin: "core/anthropic", provider: "anthropic", framing: "sse",
			open: []abi.Frame{
				{Event: "message_start", Data: `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}`},
				{Event: "content_block_start", Data: `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}},
			delta: func(i int) abi.Frame {
				return abi.Frame{Event: "content_block_delta", Data: fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word %d "}}`, i)}
			}},
		{plugin: "core/bedrock", provider: "bedrock", framing: "aws-eventstream",
			open: []abi.Frame{{Event: "messageStart", Data: `{"role":"assistant"}`}},
			delta: func(i int) abi.Frame {
				return abi.Frame{Event: "contentBlockDelta", Data: fmt.Sprintf(`{"contentBlockIndex":0,"delta":{"text":"word %d "},"p":"abcdefghijklmnopq"}`, i)}
			}},
		{plugin: "core/gemini", provider: "gemini", framing: "sse",
			delta: func(i int) abi.Frame {
				return abi.Frame{Data: fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":"word %d "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"m","responseId":"r"}`, i, i+1, i+10)}
			}},
		{plugin: "core/openai", provider: "openai", framing: "sse",
			open: []abi.Frame{{Data: `{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`}},
			delta: func(i int) abi.Frame {
				return abi.Frame{Data: fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1795000000,"model":"m","choices":[{"index":0,"delta":{"content":"word %d "},"finish_reason":null}]}`, i)}
			}},
		{plugin: "core/openai-responses", provider: "openai-responses", framing: "sse",
			open: []abi.Frame{
				{Event: "response.created", Data: `{"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","output":[]}}`},
				{Event: "response.output_item.added", Data: `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`}},
			delta: func(i int) abi.Frame {
				return abi.Frame{Event: "response.output_text.delta", Data: fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"word %d ","logprobs":[],"obfuscation":"abcdefgh"}`, i+2, i)}
			}},
	}
}

const (
	encodes  = 10   // of a round
	deltas   = 2000 // of a round
	together = 50   // deltas that come at once
)

// encode answers the milliseconds of encoding a megabyte of history.
func (l *loaded) encode(ctx context.Context) (float64, error) {
	request := history(1 << 20)
	var times []float64
	for range encodes {
		began := time.Now()
		encoded, err := l.provider.Encode(ctx, request)
		if err != nil {
			return 0, err
		}
		times = append(times, measure.Milliseconds(time.Since(began)))
		if len(encoded.Body) < 1<<20 {
			return 0, fmt.Errorf("the body has only %d bytes", len(encoded.Body))
		}
	}
	return measure.Median(times), nil
}

// plainJSON answers the milliseconds that encoding/json takes here to write the same
// request and to read it, so that the other figures can be told from a busy machine.
func plainJSON() (float64, error) {
	request := history(1 << 20)
	var times []float64
	for range encodes {
		began := time.Now()
		text, err := json.Marshal(request)
		if err != nil {
			return 0, err
		}
		var back session.ModelRequest
		if err := json.Unmarshal(text, &back); err != nil {
			return 0, err
		}
		times = append(times, measure.Milliseconds(time.Since(began)))
	}
	return measure.Median(times), nil
}

// history is a request of about so many bytes: prompts, calls, results and answers.
func history(bytes int) session.ModelRequest {
	request := session.ModelRequest{Purpose: session.PurposeTurn, Model: session.ModelRef{Provider: "bench", Model: "m"}, ToolChoice: "auto",
		System: []session.TextPart{{ID: "baseline", Text: strings.Repeat("Work well. ", 100)}},
		Tools:  []session.ToolDefinition{{Name: "read", Description: "Reads a file.", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}}
	result := strings.Repeat("\tif err := do(\"thing\", 42); err != nil {\n\t\treturn fmt.Errorf(\"do: %w\", err) // never <nil> & more\n\t}\n", 80)
	for i := 0; bytes > 0; i++ {
		id := fmt.Sprintf("msg_%d", i)
		request.Messages = append(request.Messages,
			session.ModelMessage{ID: id, Role: session.RoleUser, Parts: []session.ModelPart{{ID: id + "/0", Type: session.PartText, Text: "Please look at file " + id}}},
			session.ModelMessage{ID: id + "a", Role: session.RoleAssistant, Parts: []session.ModelPart{
				{ID: id + "a/0", Type: session.PartText, Text: "I read it."},
				{ID: id + "a/1", Type: session.PartToolCall, Call: "call_" + id, Name: "read", Input: json.RawMessage(`{"path":"` + id + `"}`)}}},
			session.ModelMessage{ID: id + "t", Role: session.RoleTool, Parts: []session.ModelPart{
				{ID: id + "t/0", Type: session.PartToolResult, Call: "call_" + id, Name: "read", Text: result}}})
		bytes -= len(result)
	}
	return request
}

// decode answers the microseconds per delta when so many come at once.
func (l *loaded) decode(ctx context.Context, at int) (float64, error) {
	state, _, err := l.frames(ctx, nil, l.open)
	if err != nil {
		return 0, err
	}
	told, began := 0, time.Now()
	for i := 0; i < deltas; i += at {
		frames := make([]abi.Frame, at)
		for j := range frames {
			frames[j] = l.delta(i + j)
		}
		var n int
		if state, n, err = l.frames(ctx, state, frames); err != nil {
			return 0, err
		}
		told += n
	}
	took := time.Since(began)
	if told == 0 {
		return 0, fmt.Errorf("%d deltas tell no text", deltas)
	}
	return measure.Milliseconds(took) * 1000 / deltas, nil
}

// frames has the codec decode, and counts the texts it tells.
func (l *loaded) frames(ctx context.Context, state json.RawMessage, frames []abi.Frame) (next json.RawMessage, texts int, err error) {
	call, err := json.Marshal(abi.Call[abi.ProviderDecode]{DeadlineMS: 1000, Body: abi.ProviderDecode{Provider: l.codec.provider, State: state, Frames: frames}})
	if err != nil {
		return nil, 0, err
	}
	message, err := l.caller.Call(ctx, bridge.Call{Entry: abi.ExportProviderDecode, Message: abi.EncodeMessage(call, nil), Deadline: time.Second, Log: func(string) {}})
	if err != nil {
		return nil, 0, err
	}
	body, _, err := abi.DecodeMessage(message)
	if err != nil {
		return nil, 0, err
	}
	var answer abi.Answer[abi.ProviderDecoded]
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, 0, err
	}
	if answer.Error != nil {
		return nil, 0, answer.Error
	}
	for _, event := range answer.OK.Events {
		if event.Type == abi.EventTextDelta {
			texts++
		}
	}
	return answer.OK.State, texts, nil
}
