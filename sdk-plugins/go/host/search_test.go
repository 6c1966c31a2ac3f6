package host

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// The answers of searches are read as encoding/json reads them.
func FuzzSearchesAsEncodingJSON(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		passed := abi.FSPassed{Asks: r.IntN(2), Denied: r.IntN(9), Unreadable: r.IntN(2), Partial: r.IntN(2) == 0}
		found := abi.FSFound{Files: []abi.FileInfo{}, Matched: r.IntN(99), FSPassed: passed}
		matched := abi.FSMatched{Files: []abi.FSMatchedFile{}, Matches: r.IntN(99), More: r.IntN(2) == 0, FSPassed: passed}
		for range r.IntN(4) {
			found.Files = append(found.Files, abi.FileInfo{Path: text(r), Name: text(r), Kind: text(r), Size: r.Int64(), ModifiedMS: -r.Int64()})
			file := abi.FSMatchedFile{Path: text(r), Lines: []abi.FSLine{}, More: r.IntN(2) == 0}
			for range r.IntN(4) {
				file.Lines = append(file.Lines, abi.FSLine{Number: r.IntN(99), Text: text(r), Match: r.IntN(2) == 0, Cut: r.IntN(2) == 0})
			}
			matched.Files = append(matched.Files, file)
		}
		same(t, abi.OpFSGlob, found, func() (abi.FSFound, error) { return Glob(abi.FSGlob{Pattern: "*"}) })
		same(t, abi.OpFSGrep, matched, func() (abi.FSMatched, error) { return Grep(abi.FSGrep{Pattern: "x"}) })
	})
}

// same has the host answer and compares what a call makes of it with encoding/json.
func same[OK any](t *testing.T, operation string, answer OK, call func() (OK, error)) {
	t.Helper()
	encoded, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var want OK
	if err := json.Unmarshal(encoded, &want); err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(encoded), "{", `{"newer":[{"x":1}],`, 1)
	before := guest.SetOperations(func(string, []byte) []byte { return abi.EncodeMessage([]byte(`{"ok":`+newer+`}`), nil) })
	got, err := call()
	guest.SetOperations(before)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, %v; want %+v", operation, got, err, want)
	}
}

func TestSearchesThatCannotBeRead(t *testing.T) {
	for _, answer := range []string{`{"ok":1}`, `{"ok":{"files":1}}`, `{"ok":{"files":[{"path":1}]}}`, `{"ok":{"denied":"x"}}`, `{"ok":{"files":[{"lines":[{"number":"x"}]}]}`, `{}`} {
		before := guest.SetOperations(func(string, []byte) []byte { return abi.EncodeMessage([]byte(answer), nil) })
		_, globErr := Glob(abi.FSGlob{Pattern: "*"})
		_, grepErr := Grep(abi.FSGrep{Pattern: "x"})
		guest.SetOperations(before)
		if grepErr == nil || globErr == nil && !strings.Contains(answer, "lines") {
			t.Errorf("%s: %v, %v", answer, globErr, grepErr)
		}
	}
}
