package provider

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
)

// random makes values of every shape that a request can have.
type random struct{ *rand.Rand }

func (r random) text() string {
	pieces := []string{"", "word ", "\"", "\\", "\n\t\r\b\f\x00\x1f\x7f", "<a&b>", "é", "😀", "\u2028\u2029", "\ufffd", "\xff", "\xe2\x80", strings.Repeat("long text ", 20)}
	var text strings.Builder
	for range r.IntN(5) {
		text.WriteString(pieces[r.IntN(len(pieces))])
	}
	return text.String()
}

func (r random) raw() json.RawMessage {
	values := []string{"", "null", "0", `"x\u00e9"`, `{"type":"object","a":[1,{"b":null}]}`, "[[]]", strings.Repeat("[", 300) + strings.Repeat("]", 300)}
	if value := values[r.IntN(len(values))]; value != "" {
		return json.RawMessage(value)
	}
	return nil
}

// list makes a list, nil and empty ones too.
func list[T any](r random, element func() T) []T {
	if r.IntN(6) == 0 {
		return nil
	}
	made := []T{}
	for range r.IntN(4) {
		made = append(made, element())
	}
	return made
}

func optional[T any](r random, value T) *T {
	if r.IntN(2) == 0 {
		return nil
	}
	return &value
}

func (r random) part() abi.Part {
	return abi.Part{ID: r.text(), Type: r.text(), Text: r.text(), Call: r.text(), Name: r.text(), Input: r.raw(), Error: r.IntN(2) == 0, Mime: r.text(), Blob: r.text(), Metadata: r.raw(),
		Hosted: r.IntN(2) == 0, Result: r.raw()}
}

func (r random) message() abi.Message {
	return abi.Message{ID: r.text(), Role: r.text(), Parts: list(r, r.part)}
}

func (r random) request() abi.ModelRequest {
	request := abi.ModelRequest{
		Purpose: r.text(), Model: r.text(), ToolChoice: r.text(), CacheKey: r.text(),
		System:   list(r, func() abi.TextPart { return abi.TextPart{ID: r.text(), Text: r.text()} }),
		Messages: list(r, r.message),
		Tools: list(r, func() abi.ToolDefinition {
			return abi.ToolDefinition{Name: r.text(), Description: r.text(), Input: r.raw()}
		}),
		Generation: abi.Generation{
			MaxTokens: optional(r, r.Int64()), Temperature: optional(r, r.Float64()), TopP: optional(r, r.NormFloat64()*1e-9), Seed: optional(r, -r.Int64()),
			Stop: list(r, r.text),
		},
	}
	for range r.IntN(3) {
		if request.Options == nil {
			request.Options = map[string]json.RawMessage{}
		}
		request.Options[r.text()] = r.raw()
	}
	return request
}

func FuzzReadsAsEncodingJSON(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := random{rand.New(rand.NewPCG(seed, 1))}
		call := abi.Call[abi.ProviderEncode]{DeadlineMS: 1, Body: abi.ProviderEncode{Provider: r.text(), Request: r.request()}}
		message, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		// What a newer host sends besides, and white space, change nothing.
		for _, opening := range []string{`"request":{`, `"generation":{`, `"parts":[{`} {
			message = bytes.ReplaceAll(message, []byte(opening), []byte(opening+` "newer" : [ {"a":"\n"} , null ] , `))
		}
		message = bytes.ReplaceAll(message, []byte("] , }"), []byte("] }"))
		var want abi.Call[abi.ProviderEncode]
		if err := json.Unmarshal(message, &want); err != nil {
			t.Fatal(err)
		}
		got, err := readEncode(message)
		if err != nil || !reflect.DeepEqual(got, want.Body) {
			t.Fatalf("%v\n got %+v\nwant %+v\n for %s", err, got, want.Body, message)
		}
		// Cut anywhere it is no message.
		if at := int(seed % uint64(len(message))); json.Valid(message[:at]) {
			t.Fatalf("cut at %d it is valid still", at)
		} else if _, err := readEncode(message[:at]); err == nil {
			t.Fatalf("cut at %d of %s it is read", at, message)
		}
	})
}

func FuzzAnswersAsEncodingJSON(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := random{rand.New(rand.NewPCG(seed, 2))}
		encoded := abi.ProviderEncoded{Method: r.text(), Path: r.text(), Body: r.raw()}
		for range r.IntN(3) {
			encoded.Query = map[string]string{r.text(): r.text(), "b": r.text()}
			encoded.Headers = map[string]string{r.text(): r.text(), r.text(): ""}
		}
		body, _, err := abi.DecodeMessage(answerEncoded(encoded))
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(abi.Answer[abi.ProviderEncoded]{OK: &encoded}); err != nil {
			t.Fatal(err)
		}
		if string(body)+"\n" != want.String() {
			t.Fatalf(" got %s\nwant %s", body, want.Bytes())
		}
	})
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	for _, message := range []string{
		``, `[]`, `{"body":{"provider":1}}`, `{"body":{"request":[]}}`, `{"body":{"request":{"messages":{}}}}`, `{"body":{"request":{"messages":[{"parts":[{"error":1}]}]}}}`,
		`{"body":{"request":{"generation":{"temperature":"hot"}}}}`, `{"body":{"request":{"tools":[{"input":}]}}}`, `{"body":{}} x`,
	} {
		if _, err := readEncode([]byte(message)); err == nil {
			t.Errorf("%s is read", message)
		}
	}
}
