package source

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
)

func text(r *rand.Rand) string {
	pieces := []string{"", "word ", "\"\\\n\x00<&>", "é😀\u2028", "\xff", strings.Repeat("long text ", 20)}
	return pieces[r.IntN(len(pieces))] + pieces[r.IntN(len(pieces))]
}

func value(r *rand.Rand) json.RawMessage {
	return json.RawMessage([]string{"null", "1.5e3", `"x\u00e9"`, `{"a":[{"b":null},[]]}`, "[]"}[r.IntN(5)])
}

func FuzzReadsAndAnswersAsEncodingJSON(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := abi.ContextObserve{
			Session:  abi.Session{ID: text(r), Agent: text(r)},
			Location: abi.Location{Directory: text(r), Root: text(r), Git: r.IntN(2) == 0, Platform: text(r), UTCOffset: r.IntN(1500) - 720},
			NowMS:    r.Int64(), Model: text(r),
		}
		for range r.IntN(3) {
			o.Directories = append(o.Directories, text(r))
		}
		for range r.IntN(3) {
			o.Previous = map[string]json.RawMessage{text(r): value(r), "b": value(r)}
		}
		message, err := json.Marshal(abi.Call[abi.ContextObserve]{Body: o})
		if err != nil {
			t.Fatal(err)
		}
		for _, opening := range []string{`"body":{`, `"session":{`, `"location":{`} {
			message = bytes.ReplaceAll(message, []byte(opening), []byte(opening+` "newer" : [ {"a":"\n"} , null ] , `))
		}
		var call abi.Call[abi.ContextObserve]
		if err := json.Unmarshal(message, &call); err != nil {
			t.Fatal(err)
		}
		if got, err := readObserve(message); err != nil || !reflect.DeepEqual(got, call.Body) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, call.Body)
		}

		var states []abi.SourceState
		for range r.IntN(3) {
			state := abi.SourceState{Key: text(r), State: text(r), Baseline: text(r), Update: text(r), Removed: text(r)}
			if r.IntN(2) == 0 {
				state.Value = value(r)
			}
			states = append(states, state)
		}
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(abi.Answer[abi.ContextObserved]{OK: &abi.ContextObserved{Sources: states}}); err != nil {
			t.Fatal(err)
		}
		if body, _, err := abi.DecodeMessage(answer(states)); err != nil || string(body)+"\n" != want.String() {
			t.Fatalf("%v\n got %s\nwant %s", err, body, want.Bytes())
		}
	})
}

func TestMalformedObservationsAreRefused(t *testing.T) {
	for _, message := range []string{``, `[]`, `{"body":{"now_ms":"x"}}`, `{"body":{"location":{"git":1}}}`, `{"body":{"session":[]}}`, `{"body":{"previous":{"a":}}}`, `{"body":{"directories":"x"}}`, `{"body":{}} x`} {
		if _, err := readObserve([]byte(message)); err == nil {
			t.Errorf("%s is read", message)
		}
	}
}

func TestAValueMustBeJSON(t *testing.T) {
	good, err := Value("a/b/n", json.RawMessage(`{"n": 1}`), Texts{Baseline: "b"})
	if err != nil || string(good.Value) != `{"n": 1}` || check([]abi.SourceState{good, {State: abi.SourceAbsent}}) != nil {
		t.Errorf("%+v, %v", good, err)
	}
	bad, err := Value("a/b/n", json.RawMessage(`{`), Texts{Baseline: "b"})
	if err == nil {
		err = check([]abi.SourceState{bad})
	}
	if err == nil || !strings.HasPrefix(err.Error(), "the value of context source a/b/n: malformed JSON") {
		t.Errorf("%v", err)
	}
}
