package conformance

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// The host's messages as they come, good and bad.
func TestMessages(t *testing.T) {
	const call = `{"deadline_ms":1000,"meta":{},"body":{"tool":"settings","input":{}}}`
	const later = `{"deadline_ms":1000,"meta":{"later":[1]},"later":{"a":null},"body":{"later":true,"tool":"settings","input":{}}}`
	const ok = `{"ok":{"structured":{"greeting":"` + greeting + `"}}}`
	long := binary.LittleEndian.AppendUint32(nil, 1<<31)
	tests := []struct {
		name    string
		message []byte
		want    string   // the answer, or
		kind    abi.Kind // of its error
	}{
		{"plain", abi.EncodeMessage([]byte(call), nil), ok, ""},
		{"with bytes behind it", abi.EncodeMessage([]byte(call), []byte("\x00\xff{}")), ok, ""},
		{"of a later minor", abi.EncodeMessage([]byte(later), nil), ok, ""},
		{"with spaces", abi.EncodeMessage([]byte(" \n\t"+call+"\r\n"), nil), ok, ""},
		{"with escapes in names", abi.EncodeMessage([]byte(`{"body":{"t\u006fol":"s\u0065ttings","input":{}}}`), nil), ok, ""},
		{"empty", nil, "", abi.KindInvalidInput},
		{"shorter than a length", []byte{1, 0, 0}, "", abi.KindInvalidInput},
		{"without JSON", abi.EncodeMessage(nil, nil), "", abi.KindInvalidInput},
		{"longer than it is", append(long, call...), "", abi.KindInvalidInput},
		{"cut", abi.EncodeMessage([]byte(call[:len(call)-2]), nil), "", abi.KindInvalidInput},
		{"with too much", abi.EncodeMessage([]byte(call+"}"), nil), "", abi.KindInvalidInput},
		{"no JSON", abi.EncodeMessage([]byte("call"), nil), "", abi.KindInvalidInput},
	}
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				body, raw := p.send(t, abi.ExportTool, test.message)
				if len(raw) > 0 {
					t.Errorf("%d bytes behind the answer", len(raw))
				}
				if test.kind == "" {
					sameJSON(t, "answer", body, []byte(test.want))
					return
				}
				var answer abi.Answer[abi.None]
				if err := json.Unmarshal(body, &answer); err != nil || answer.Error == nil || answer.Error.Kind != test.kind || answer.Error.Message == "" {
					t.Errorf("answer %s, %v; want %s", body, err, test.kind)
				}
			})
		}
	})
}

// Answers with bytes: the JSON refers to every run of them.
func TestBytesBehindAnAnswer(t *testing.T) {
	each(t, func(t *testing.T, g guest) {
		p := toolsOf(t, g)
		for _, sizes := range [][]int{{}, {0}, {1}, {3, 0, 5}, {1 << 20}, {4096, 65536, 1}} {
			input, err := json.Marshal(map[string]any{"sizes": sizes})
			if err != nil {
				t.Fatal(err)
			}
			output, raw, told := ask[abi.ToolOutput](t, p, abi.ExportTool, abi.ToolExecute{Tool: "files", Input: input})
			if told != nil {
				t.Fatal(told)
			}
			checkFiles(t, sizes, output, raw)
		}
	})
}

func checkFiles(t *testing.T, sizes []int, output abi.ToolOutput, raw []byte) {
	t.Helper()
	total := 0
	for _, size := range sizes {
		total += size
	}
	if len(raw) != total || len(output.Content) != len(sizes)+1 || output.Title != "files" {
		t.Fatalf("sizes %v: %d bytes, %d contents, title %q", sizes, len(raw), len(output.Content), output.Title)
	}
	if text := output.Content[0]; text.Type != "text" || text.Text != fmt.Sprintf("%d files", len(sizes)) {
		t.Errorf("sizes %v: the first content is %+v", sizes, text)
	}
	sameJSON(t, "metadata", output.Metadata, fmt.Appendf(nil, `{"bytes":%d}`, total))
	for i, size := range sizes {
		content := output.Content[i+1]
		if content.Type != "file" || content.Name != fmt.Sprint("file", i) || content.Mime != "application/octet-stream" || content.Data == nil {
			t.Fatalf("sizes %v: content %d is %+v", sizes, i, content)
		}
		data, err := content.Data.Of(raw)
		if err != nil || len(data) != size {
			t.Fatalf("sizes %v: file %d has %d bytes, %v", sizes, i, len(data), err)
		}
		for at, b := range data {
			if b != byte(i*7+at) {
				t.Fatalf("sizes %v: byte %d of file %d is %d", sizes, at, i, b)
			}
		}
	}
}
