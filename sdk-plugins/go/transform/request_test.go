package transform

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
)

// random makes values of every shape that a call can have.
type random struct{ *rand.Rand }

func (r random) text() string {
	pieces := []string{"", "word ", "\"\\\n\x00<&>", "é😀\u2028", "\xff", strings.Repeat("long text ", 20)}
	return pieces[r.IntN(len(pieces))] + pieces[r.IntN(len(pieces))]
}

func (r random) raw() json.RawMessage {
	return json.RawMessage([]string{"null", "1.5e3", `"x\u00e9"`, `{"a":[{"b":null},[]]}`}[r.IntN(4)])
}

func (r random) call() abi.TransformApply {
	call := abi.TransformApply{Transform: r.text(), Purpose: r.text(), Agent: r.text()}
	for range r.IntN(3) {
		call.System = append(call.System, abi.TextPart{ID: r.text(), Text: r.text()})
		call.Messages = append(call.Messages, abi.Message{ID: r.text(), Role: r.text(), Parts: []abi.Part{{ID: r.text(), Type: r.text(),
			Text: r.text(), Call: r.text(), Name: r.text(), Input: r.raw(), Error: r.IntN(2) == 0, Metadata: r.raw(), Hosted: r.IntN(2) == 0}}})
		call.Tools = append(call.Tools, abi.ToolDefinition{Name: r.text(), Description: r.text(), Input: r.raw()})
		call.Options = map[string]json.RawMessage{r.text(): r.raw(), "b": r.raw()}
		call.Headers = map[string]string{r.text(): r.text()}
		most := r.Int64()
		call.Generation = &abi.Generation{MaxTokens: &most, Stop: []string{r.text()}}
	}
	return call
}

func FuzzReadsAndAnswersAsEncodingJSON(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := random{rand.New(rand.NewPCG(seed, 5))}
		message, err := json.Marshal(abi.Call[abi.TransformApply]{Body: r.call()})
		if err != nil {
			t.Fatal(err)
		}
		message = bytes.Replace(message, []byte(`"body":{`), []byte(`"body":{ "newer" : [ {"a":"\n"} , null ] , `), 1)
		var call abi.Call[abi.TransformApply]
		if err := json.Unmarshal(message, &call); err != nil {
			t.Fatal(err)
		}
		if got, err := readApply(message); err != nil || !reflect.DeepEqual(got, call.Body) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, call.Body)
		}

		edits := []abi.Edit{}
		for range r.IntN(3) {
			edits = append(edits, abi.Edit{Part: r.text(), Op: r.text(), ID: r.text()}, abi.Edit{Value: r.raw()})
		}
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(abi.Answer[abi.TransformEdits]{OK: &abi.TransformEdits{Edits: edits}}); err != nil {
			t.Fatal(err)
		}
		if body, _, err := abi.DecodeMessage(answer(edits)); err != nil || string(body)+"\n" != want.String() {
			t.Fatalf("%v\n got %s\nwant %s", err, body, want.Bytes())
		}
	})
}

func TestMalformedCallsAreRefused(t *testing.T) {
	for _, message := range []string{``, `[]`, `{"body":{"agent":1}}`, `{"body":{"generation":[]}}`, `{"body":{"headers":{"a":1}}}`,
		`{"body":{"options":{"a":}}}`, `{"body":{"messages":"x"}}`, `{"body":{}} x`} {
		if _, err := readApply([]byte(message)); err == nil {
			t.Errorf("%s is read", message)
		}
	}
}
