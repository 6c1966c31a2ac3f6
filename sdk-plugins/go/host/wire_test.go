package host

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

func text(r *rand.Rand) string {
	pieces := []string{"", "word ", "\"\\\n\x00<&>", "é😀\u2028", "\xff"}
	return pieces[r.IntN(len(pieces))] + pieces[r.IntN(len(pieces))]
}

func FuzzFilesAsEncodingJSON(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		info := abi.FileInfo{Path: text(r), Name: text(r), Kind: text(r), Size: r.Int64(), ModifiedMS: -r.Int64()}
		data := []byte(text(r))
		ok := abi.FSReadOK{Info: info, Data: abi.Bytes{Offset: 2, Length: len(data)}, EOF: r.IntN(2) == 0}
		path := abi.Path{Root: text(r), Path: text(r)}
		request := abi.FSRead{Path: path, Offset: int64(r.IntN(3)), Length: int64(r.IntN(3))}
		encoded := func(v any) []byte {
			var text bytes.Buffer
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(v); err != nil {
				t.Fatal(err)
			}
			return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
		}
		before := guest.SetOperations(func(operation string, message []byte) []byte {
			body, _, err := abi.DecodeMessage(message)
			if err != nil {
				t.Fatal(err)
			}
			want, answer := any(abi.FSStat{Path: path}), any(abi.Answer[abi.FileInfo]{OK: &info})
			if operation == abi.OpFSRead {
				want, answer = request, abi.Answer[abi.FSReadOK]{OK: &ok}
			}
			if string(body) != string(encoded(want)) {
				t.Errorf("%s asks %s, want %s", operation, body, encoded(want))
			}
			return abi.EncodeMessage(encoded(answer), append([]byte("--"), data...))
		})
		t.Cleanup(func() { guest.SetOperations(before) })
		var wantInfo abi.FileInfo
		if err := json.Unmarshal(encoded(info), &wantInfo); err != nil {
			t.Fatal(err)
		}
		if got, err := Stat(path); err != nil || got != wantInfo {
			t.Errorf("Stat: %+v, %v; want %+v", got, err, wantInfo)
		}
		if got, err := Read(request); err != nil || got.Info != wantInfo || string(got.Data) != string(data) || got.EOF != ok.EOF {
			t.Errorf("Read: %+v, %v; want %+v of %+v", got, err, ok, wantInfo)
		}
	})
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	for answer, says := range map[string]string{
		`{}`:                       "read the answer of fs.stat: it has neither ok nor error",
		`{"ok":null,"error":null}`: "read the answer of fs.stat: it has neither ok nor error",
		`{"ok":1}`:                 "read the answer of fs.stat: malformed JSON",
		`{"ok":{"path":1}}`:        "read the answer of fs.stat: malformed JSON",
		`{"ok":{}} x`:              "read the answer of fs.stat: malformed JSON",
		`nonsense`:                 "read the answer of fs.stat: malformed JSON",
		`{"error":{"kind":"denied","message":"no","newer":[]},"ok":{}}`: "denied: no",
	} {
		before := guest.SetOperations(func(string, []byte) []byte { return abi.EncodeMessage([]byte(answer), nil) })
		_, err := Stat(abi.Path{Path: "a"})
		guest.SetOperations(before)
		if err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: %v, want %s", answer, err, says)
		}
	}
}
