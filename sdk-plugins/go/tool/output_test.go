package tool

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
)

// An output is written so that encoding/json reads back what it would have written.
func FuzzOutputAsEncodingJSON(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		text := func() string { return []string{"", "word", "\"\\\n\x00<&>", "é😀\u2028", "\xff"}[r.IntN(5)] }
		raw := func() json.RawMessage {
			return []json.RawMessage{nil, []byte(`{"a":[1,"x"]}`), []byte(`null`)}[r.IntN(3)]
		}
		output := abi.ToolOutput{Structured: raw(), Title: text(), Metadata: raw()}
		for range r.IntN(4) {
			content := abi.Content{Type: text(), Text: text(), Mime: text(), Name: text()}
			switch r.IntN(3) {
			case 0:
				content.Data = &abi.Bytes{Offset: r.IntN(9), Length: r.IntN(9)}
			case 1:
				content.Blob = &abi.Blob{Digest: text()}
			}
			output.Content = append(output.Content, content)
		}
		encoded, err := json.Marshal(output)
		if err != nil {
			t.Fatal(err)
		}
		var want, got abi.ToolOutput
		if err := json.Unmarshal(encoded, &want); err != nil {
			t.Fatal(err)
		}
		written := outputJSON(output)
		if err := json.Unmarshal(written, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %s, want %s", err, written, encoded)
		}
	})
}
