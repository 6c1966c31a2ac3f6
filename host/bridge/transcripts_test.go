package bridge

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
)

var updateTranscripts = flag.Bool("update-transcripts", false, "write what the transcripts mean")

// transcripts are the answers in testdata/transcripts by the codec they are for: bytes in
// the public wire formats, with what they mean beside them. A hosted tool is where the
// protocol has one.
var transcripts = map[string][]string{
	"anthropic":        {"text", "tools", "reasoning", "hosted", "failure"},
	"bedrock":          {"text", "tools", "reasoning", "failure"},
	"gemini":           {"text", "tools", "reasoning", "hosted", "failure"},
	"openai":           {"text", "tools", "reasoning", "failure"},
	"openai-responses": {"text", "tools", "reasoning", "hosted", "failure"},
}

// meaning is what an answer means: its events, and the error it ends with.
type meaning struct {
	events  []string
	failure string
}

func meant(events []string, err error) meaning {
	m := meaning{events: events}
	var failed *session.ProviderError
	switch {
	case errors.As(providerError(err), &failed):
		m.failure = failed.Class + ": " + failed.Message
	case err != nil:
		m.failure = err.Error()
	}
	return m
}

func framingOf(codec string) string {
	if codec == "bedrock" {
		return egress.FramingEventStream
	}
	return egress.FramingSSE
}

// transcript is the bytes of an answer.
func transcript(t testing.TB, codec, name string) string {
	t.Helper()
	file := filepath.Join("testdata", "transcripts", codec, name)
	if codec != "bedrock" {
		content, err := os.ReadFile(file + ".sse")
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	content, err := os.ReadFile(file + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var stream []byte
	for line := range strings.Lines(string(content)) {
		stream = appendMessage(t, stream, line)
	}
	return string(stream)
}

// appendMessage makes a message of an AWS event stream of a line: an event or an
// exception, with its payload.
func appendMessage(t testing.TB, stream []byte, line string) []byte {
	t.Helper()
	var told struct {
		Event, Exception string
		Payload          json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &told); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	headers := [][2]string{{":event-type", told.Event}, {":content-type", "application/json"}, {":message-type", "event"}}
	if told.Exception != "" {
		headers = [][2]string{{":exception-type", told.Exception}, {":content-type", "application/json"}, {":message-type", "exception"}}
	}
	var head []byte
	for _, header := range headers {
		head = append(append(head, byte(len(header[0]))), header[0]...)
		head = append(binary.BigEndian.AppendUint16(append(head, 7), uint16(len(header[1]))), header[1]...)
	}
	message := binary.BigEndian.AppendUint32(nil, uint32(12+len(head)+len(told.Payload)+4))
	message = binary.BigEndian.AppendUint32(message, uint32(len(head)))
	message = binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
	message = append(append(message, head...), told.Payload...)
	return append(stream, binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))...)
}

// recorded is what an answer means, as it stands beside it.
func recorded(t testing.TB, codec, name string) (m meaning) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "transcripts", codec, name+".events"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if failure, ok := strings.CutPrefix(line, "error "); ok {
			m.failure = failure
		} else {
			m.events = append(m.events, line)
		}
	}
	return m
}

// eachTranscript runs check on every answer, with the committed codec behind the framing
// of its protocol. Time stands still while a guest runs, so a busy machine fails no
// deadline.
func eachTranscript(t *testing.T, check func(t *testing.T, bytes string, want meaning, decode func(body *pieces) meaning)) {
	for codec, names := range transcripts {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				plugin := loadBuiltin(t, "core/"+codec, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
				provider := NewProvider(plugin, codec, framingOf(codec), nil, nil)
				for _, name := range names {
					check(t, transcript(t, codec, name), recorded(t, codec, name), func(body *pieces) meaning {
						t.Helper()
						return meant(decodedBy(t, provider, body))
					})
				}
			})
		})
	}
}

// The whole answers mean what is recorded. Each has what it is named for.
func TestTranscripts(t *testing.T) {
	has := map[string][]string{
		"text": {`Grüße`, "usage ", "finish stop"}, "tools": {"tool.start", "tool.delta", "tool.end", "finish tool_calls"}, "reasoning": {"reasoning.delta", "usage ", "finish "},
		"hosted": {" hosted", "tool.result", "usage ", "finish stop"}, "failure": {"Half an ans", "error "},
	}
	signed := []string{"anthropic", "bedrock", "gemini", "openai-responses"}
	for codec, names := range transcripts {
		plugin := loadBuiltin(t, "core/"+codec, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
		provider := NewProvider(plugin, codec, framingOf(codec), nil, nil)
		for _, name := range names {
			got := meant(decodedBy(t, provider, &pieces{parts: []string{transcript(t, codec, name)}}))
			text := strings.Join(got.events, "\n") + "\n"
			if got.failure != "" {
				text += "error " + got.failure + "\n"
			}
			if *updateTranscripts {
				if err := os.WriteFile(filepath.Join("testdata", "transcripts", codec, name+".events"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(recorded(t, codec, name), got, cmp.AllowUnexported(meaning{})); diff != "" {
				t.Errorf("%s of %s: %s", name, codec, diff)
			}
			for _, what := range has[name] {
				if !strings.Contains(text, what) {
					t.Errorf("%s of %s has no %q:\n%s", name, codec, what, text)
				}
			}
			if name == "reasoning" && slices.Contains(signed, codec) && !strings.Contains(text, "~{") {
				t.Errorf("the reasoning of %s is not signed:\n%s", codec, text)
			}
			if starts := strings.Count(text, "tool.start"); name == "tools" && starts != 2 {
				t.Errorf("%s has %d calls:\n%s", codec, starts, text)
			}
		}
	}
}

// Splitting a stream anywhere gives the same events, also when every byte comes alone.
func TestSplitsGiveTheSameEvents(t *testing.T) {
	eachTranscript(t, func(t *testing.T, bytes string, want meaning, decode func(*pieces) meaning) {
		splits := [][]string{{bytes}, nil}
		for at := range len(bytes) {
			splits[1] = append(splits[1], bytes[at:at+1])
			if at%everyByte == 0 {
				splits = append(splits, []string{bytes[:at+1], bytes[at+1:]})
			}
		}
		for _, split := range splits {
			first := len(split[0])
			got := decode(&pieces{parts: split})
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(meaning{})); diff != "" {
				t.Fatalf("in %d pieces, the first of %d bytes: %s", len(split), first, diff)
			}
		}
	})
}

// However a stream is cut it ends once: with its finish, or with an error. What came
// before the cut is a beginning of the whole.
func TestCutsEndOnce(t *testing.T) {
	reset := &egress.Error{Kind: egress.KindReset, Text: "the connection was reset"}
	eachTranscript(t, func(t *testing.T, bytes string, whole meaning, decode func(*pieces) meaning) {
		for at := 0; at < len(bytes); at += everyByte {
			for _, ending := range []error{nil, reset} {
				got := decode(&pieces{parts: []string{bytes[:at]}, err: ending})
				finishes := 0
				for i, event := range got.events {
					if strings.HasPrefix(event, "finish ") {
						finishes++
						continue
					}
					if !strings.HasPrefix(event, "usage ") && event != whole.events[i] {
						t.Fatalf("cut after %d bytes by %v: event %d is %s", at, ending, i, event)
					}
				}
				if failed := got.failure != ""; failed == (finishes == 1) || finishes > 1 {
					t.Fatalf("cut after %d bytes by %v: %+v", at, ending, got)
				}
				if got.failure != "" && ending != nil && got.failure != whole.failure && !strings.HasSuffix(got.failure, ": "+reset.Text) {
					t.Fatalf("cut after %d bytes by %v: %s", at, ending, got.failure)
				}
			}
		}
	})
}
