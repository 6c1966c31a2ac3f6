package chat

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"time"
)

// errCut is the script's wish to drop the connection.
var errCut = errors.New("cut by the script")

// created is the time that answers carry, so that they repeat byte for byte.
const created = 1767225600

// callPiece is how many bytes of a call's arguments come at once.
const callPiece = 8

// answer writes one turn to one client.
type answer struct {
	w       http.ResponseWriter
	request Request
	turn    Turn
	done    <-chan struct{} // the client is gone
	sent    int             // pieces
}

// object is a JSON object.
type object = map[string]any

// send writes the turn. Its errors are errCut, or the connection's.
func (a *answer) send() error {
	if fault := a.turn.Fault; fault.Status != 0 {
		maps.Copy(a.w.Header(), fault.Headers)
		if fault.Body == "" {
			fail(a.w, fault.Status, "scripted_error", http.StatusText(fault.Status))
			return nil
		}
		a.w.Header().Set("Content-Type", "application/json")
		a.w.WriteHeader(fault.Status)
		_, err := a.w.Write([]byte(fault.Body))
		return err
	}
	if a.request.Stream {
		return a.stream()
	}
	return a.whole()
}

// stream writes the turn as server-sent events.
func (a *answer) stream() error {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-cache")
	a.w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(a.w).Flush(); err != nil {
		return err
	}
	for _, delta := range a.deltas() {
		if err := a.piece(a.chunk(delta, nil)); err != nil {
			return err
		}
	}
	fault := a.turn.Fault
	if fault.NoFinish {
		return nil
	}
	if err := a.piece(a.chunk(object{}, a.turn.finish())); err != nil {
		return err
	}
	if a.request.includeUsage {
		chunk := a.chunk(nil, nil)
		chunk["choices"], chunk["usage"] = []any{}, a.usage()
		if err := a.event(chunk); err != nil {
			return err
		}
	}
	if fault.NoDone {
		return nil
	}
	return a.data([]byte("[DONE]"))
}

// deltas are the pieces of the message, in order.
func (a *answer) deltas() []object {
	deltas := []object{{"role": "assistant", "content": ""}}
	for _, piece := range pieces(a.turn.Reasoning, a.turn.Deltas) {
		deltas = append(deltas, object{"reasoning_content": piece})
	}
	for _, piece := range pieces(a.turn.Text, a.turn.Deltas) {
		deltas = append(deltas, object{"content": piece})
	}
	for i, call := range a.turn.Calls {
		deltas = append(deltas, toolDelta(object{
			"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""},
		}))
		for _, piece := range pieces(call.Arguments, (len(call.Arguments)+callPiece-1)/callPiece) {
			deltas = append(deltas, toolDelta(object{"index": i, "function": object{"arguments": piece}}))
		}
	}
	return deltas
}

func toolDelta(call object) object { return object{"tool_calls": []any{call}} }

// piece writes one chunk when its time has come, with the faults that are due.
func (a *answer) piece(chunk object) error {
	fault := a.turn.Fault
	if fault.Cut && a.sent == fault.CutAfter {
		return errCut
	}
	if fault.Garbage != "" && a.sent == fault.GarbageAfter {
		if err := a.data([]byte(fault.Garbage)); err != nil {
			return err
		}
	}
	if err := a.wait(); err != nil {
		return err
	}
	a.sent++
	return a.event(chunk)
}

// wait waits for the turn's gate and delay, or for the client to go.
func (a *answer) wait() error {
	if a.turn.Gate != nil {
		select {
		case <-a.turn.Gate:
		case <-a.done:
			return errCut
		}
	}
	if a.turn.Delay > 0 {
		timer := time.NewTimer(a.turn.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-a.done:
			return errCut
		}
	}
	return nil
}

func (a *answer) event(chunk object) error {
	encoded, err := json.Marshal(chunk)
	if err != nil {
		return err
	}
	return a.data(encoded)
}

// data writes one event and sends it on its way.
func (a *answer) data(data []byte) error {
	event := append(append([]byte("data: "), data...), "\n\n"...)
	if _, err := a.w.Write(event); err != nil {
		return err
	}
	return http.NewResponseController(a.w).Flush()
}

func (a *answer) chunk(delta object, finish any) object {
	return object{
		"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": created, "model": a.request.Model,
		"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
	}
}

// whole writes the turn as one JSON answer.
func (a *answer) whole() error {
	if err := a.wait(); err != nil {
		return err
	}
	message := object{"role": "assistant", "content": a.turn.Text}
	if a.turn.Reasoning != "" {
		message["reasoning_content"] = a.turn.Reasoning
	}
	calls := make([]any, 0, len(a.turn.Calls))
	for _, call := range a.turn.Calls {
		calls = append(calls, object{"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": call.Arguments}})
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	a.w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(a.w).Encode(object{
		"id": "chatcmpl-scripted", "object": "chat.completion", "created": created, "model": a.request.Model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": a.turn.finish()}},
		"usage":   a.usage(),
	})
}

func (a *answer) usage() object {
	u := a.turn.usage(a.request)
	return object{
		"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}
