package replay_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/replay"
	"github.com/plinthhost/plinth/host/wasm"
)

// fullSample has every kind of step.
func fullSample() *replay.Recording {
	recording := sample()
	now, passed, line := time.Date(2026, 11, 20, 9, 30, 0, 123456789, time.UTC), 5*time.Second, "<one> & two"
	recording.Start = []replay.Step{{Realtime: &now}, {Random: []byte{1, 2, 3}}}
	recording.Init = abi.EncodeMessage([]byte(`{"body":{"config":{"a":"<b>"}}}`), nil)
	recording.Input = abi.EncodeMessage([]byte(`{"body":{"data":{"$bytes":[0,2]}}}`), []byte("\xff\x00"))
	recording.Steps = []replay.Step{
		{Realtime: &now}, {Monotonic: &passed}, {Random: []byte("\xff")}, {Sleep: &replay.Sleep{Duration: time.Minute}}, {Log: &line},
		{Operation: &replay.Operation{Name: "fs.read", Request: abi.EncodeMessage([]byte(`{"path":"a"}`), nil), Answer: replay.Data("\xff")}},
		{Operation: &replay.Operation{Answer: replay.Data{}}},
		{Operation: &replay.Operation{Name: "fs.stat", Request: replay.Data("  "), Answer: replay.Data("no"),
			Ended: &replay.Ended{Kind: wasm.KindCancelled, Cause: "enough"}}},
		{Operation: &replay.Operation{Name: "fs.stat", Request: replay.Data{}}},
	}
	recording.End = replay.End{Error: &replay.Failure{Kind: wasm.KindCancelled, Message: "m", Detail: "enough"}, Failed: true, Fuel: 7}
	return recording
}

// A file shows what it holds: one line each, JSON as JSON, text as text.
func TestFileIsReadable(t *testing.T) {
	text, err := fullSample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"format":1,"host":"1.2.3","plugin":"acme/test","revision":"r1","module":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",` +
		`"meter":1,"isolation":"restore","time":"2026-11-20T09:30:00.000000001Z","call":"call_1","entry":"plinth_tool_execute","deadline_ns":1000000000,` +
		`"limits":{"memory_mib":32,"stack_kib":1024,"input_bytes":1,"output_bytes":1,"log_bytes":1,"operations":1,"operation_bytes":1},` +
		`"offered":false,"start":[{"realtime":"2026-11-20T09:30:00.123456789Z"},{"random":"AQID"}],` +
		`"init":{"json":{"body":{"config":{"a":"<b>"}}}},"input":{"json":{"body":{"data":{"$bytes":[0,2]}}},"raw":"/wA="}}
{"realtime":"2026-11-20T09:30:00.123456789Z"}
{"monotonic_ns":5000000000}
{"random":"/w=="}
{"sleep":{"duration_ns":60000000000}}
{"log":"<one> & two"}
{"operation":{"name":"fs.read","request":{"json":{"path":"a"}},"answer":{"base64":"/w=="}}}
{"operation":{"name":"","request":null,"answer":{"text":""}}}
{"operation":{"name":"fs.stat","request":{"text":"  "},"answer":{"text":"no"},"ended":{"kind":"cancelled","cause":"enough"}}}
{"operation":{"name":"fs.stat","request":{"text":""},"answer":null}}
{"end":{"output":null,"error":{"kind":"cancelled","message":"m","detail":"enough"},"failed":true,"fuel":7,"memory":0,"duration_ns":0}}
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	reread(t, fullSample())
}

// Bytes come back from a file as they were, whatever form they were shown in.
func TestBytesComeBack(t *testing.T) {
	deep := strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990)
	for _, message := range [][]byte{
		nil, {}, {0}, {0, 0, 0, 0}, []byte("text"), []byte("\u2028"), []byte("a\x7fb"), []byte("\xff"), []byte("null"), []byte(" null"),
		abi.EncodeMessage([]byte("null"), nil), abi.EncodeMessage([]byte("1"), nil), abi.EncodeMessage([]byte(" {}"), nil),
		abi.EncodeMessage([]byte(`{"a":1.0e5,"a":"\u00e9\/<>&`+"\u2028"+`"}`), []byte("raw")),
		abi.EncodeMessage([]byte("{\"a\":\"\xff\"}"), nil), abi.EncodeMessage([]byte("{}}"), nil), abi.EncodeMessage([]byte(deep), nil),
		abi.EncodeMessage(nil, []byte("raw")), {200, 0, 0, 0, '{', '}'},
	} {
		text, err := replay.Data(message).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var again replay.Data
		if err := again.UnmarshalJSON(text); err != nil || !bytes.Equal(again, message) || (again == nil) != (message == nil) {
			t.Errorf("%q came back as %q from %s, %v", message, again, text, err)
		}
		recording := sample()
		recording.Input = message
		reread(t, recording)
	}
}

// A file that is no recording is refused with its line, its field and what to do.
func TestDecodeRefuses(t *testing.T) {
	text, err := fullSample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		old, new string // in the full sample
		want     string
	}{
		{`"format":1`, `"format":2`, "recording: line 1: format: this host reads the format 1; replay it with the host that recorded it"},
		{`{"format":1,`, `{`, "recording: line 1: format: this host reads the format 1; replay it with the host that recorded it"},
		{`{"format":1,`, ``, `recording: line 1: the first line must be a header, {"format": 1, …}`},
		{`"host":`, `"hots":`, "recording: line 1: hots: there is no such field here; remove it"},
		{`"acme/test"`, `""`, "recording: line 1: plugin: it is missing; it is the plugin's id"},
		{`"acme/test"`, `7`, "recording: line 1: plugin: a JSON number does not fit here"},
		{`"plinth_tool_execute"`, `""`, "recording: line 1: entry: it is missing; it is the export that was called"},
		{`"0123456789abcdef`, `"0123456789ABCDEF`, "recording: line 1: module: it must be the module's SHA-256, 64 hexadecimal digits in lower case"},
		{`"restore"`, `"process"`, `recording: line 1: isolation: it is "process"; it must be restore, fresh or sticky`},
		{`"meter":1`, `"meter":0`, "recording: line 1: meter: it is 0; it must be the meter's version, 1 or more"},
		{`"time":`, `"served":-1,"time":`, "recording: line 1: served: it is -1; it must be 0 or more"},
		{`"deadline_ns":1000000000`, `"deadline_ns":0`, "recording: line 1: deadline_ns: it is 0; it must be from 1 to 86400000000000"},
		{`"memory_mib":32`, `"memory_mib":0`, "recording: line 1: limits.memory_mib: it is 0; it must be from 1 to 2048"},
		{`"memory_mib":32`, `"memory_mib":4096`, "recording: line 1: limits.memory_mib: it is 4096; it must be from 1 to 2048"},
		{`"memory_mib":32`, `"memory_mib":"32"`, "recording: line 1: limits.memory_mib: a JSON string does not fit here"},
		{`"memory_mib":32`, `"memory_mib":32,"fuel":-1`, "recording: line 1: limits.fuel: it is -1; leave it out for none"},
		{`{"random":"AQID"}`, `{"log":"x"}`, "recording: line 1: start[1]: a start has realtime, monotonic_ns, random and sleep only"},
		{`{"random":"AQID"}`, `{}`, "recording: line 1: start[1]: a step has exactly one of realtime, monotonic_ns, random, sleep, log and operation"},
		{`"input":{"json"`, `"input":{"jsno"`, `recording: line 1: input: bytes are {"json": …} with or without "raw", {"text": "…"} or {"base64": "…"}: jsno: there is no such field here; remove it`},
		{`"raw":"/wA="`, `"text":"a"`, `recording: line 1: input: bytes are {"json": …} with or without "raw", {"text": "…"} or {"base64": "…"}: one of json, text and base64 has to be there`},
		{`{"text":"no"}`, `{"base64":"%"}`, `recording: line 9: operation.answer: bytes are {"json": …} with or without "raw", {"text": "…"} or {"base64": "…"}: illegal base64 data at input byte 0`},
		{"\n{\"monotonic", "\n\n{\"monotonic", "recording: line 3: the line is empty; remove it"},
		{`{"random":"/w=="}`, `{"random":"/w=="} {}`, "recording: line 4: there is more behind the JSON value; a line holds one"},
		{`{"random":"/w=="}`, `{"random":""}`, "recording: line 4: a step has exactly one of realtime, monotonic_ns, random, sleep, log and operation"},
		{`"duration_ns":60000000000`, `"duration_ns":0`, "recording: line 5: sleep.duration_ns: it is 0; it must be more than 0"},
		{`"ended":{"kind":"cancelled"`, `"ended":{"kind":"trap"`, `recording: line 9: operation.ended.kind: it is "trap"; it must be deadline or cancelled`},
		{`"answer":{"text":"no"}`, `"answer":null`, "recording: line 9: operation.answer: it is null, but ended says that the guest was told; take ended out, or add the answer"},
		{`"answer":{"text":""}`, `"answer":null`, "recording: line 8: operation.name: it is missing; only an operation that the engine answers has none"},
		{`"output":null`, `"output":{"text":"a"}`, "recording: line 11: end: it has both output and error; leave one"},
		{`"error":{"kind":"cancelled","message":"m","detail":"enough"},`, ``, "recording: line 11: end: it has neither output nor error"},
		{`"error":{"kind":"cancelled"`, `"error":{"kind":""`, "recording: line 11: end.error.kind: it is missing"},
		{`"error":{"kind":"cancelled"`, `"error":{"kind":"trap"`, "recording: line 11: end: the call ended in step 9 (line 10), so it has an error of kind deadline, cancelled or host"},
		{`"fuel":7`, `"fuel":-7`, "recording: line 11: end.fuel: it is -7; it must be 0 or more"},
		{`{"end":{`, `{"edn":{`, `recording: line 11: the last line must be {"end": …}; the file was cut off`},
		{`{"end":{`, `{"end":null,"other":{`, "recording: line 11: other: there is no such field here; remove it"},
		{`{"end":`, `{"end":null}`, `recording: line 11: there is more behind the JSON value; a line holds one`},
	} {
		if !strings.Contains(string(text), test.old) {
			t.Fatalf("there is no %s", test.old)
		}
		_, err := replay.Decode([]byte(strings.Replace(string(text), test.old, test.new, 1)))
		if _, ok := errors.AsType[*replay.FormatError](err); !ok {
			t.Errorf("%s: got %#v", test.new, err)
		}
		wantText(t, err, test.want)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	_, err = replay.Decode(lines[0])
	wantText(t, err, `recording: it ends after the header; its last line must be {"end": …}`)
	_, err = replay.Decode(bytes.Join(lines[:3], nil))
	wantText(t, err, `recording: line 3: the last line must be {"end": …}; the file was cut off`)
	_, err = replay.Decode(make([]byte, replay.MaxFileBytes+1))
	wantText(t, err, "recording: it is larger than 67108864 bytes; record with a lower limit")
}

// Errors of a file name it.
func TestReadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if _, err := replay.Read(path); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "read a recording: open "+path) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := replay.Read(path)
	wantText(t, err, "recording "+path+`: line 1: the first line must be a header, {"format": 1, …}`)
}

// Whatever a file holds, it is refused with a line that it has, or it is written as
// it was read.
func FuzzDecode(f *testing.F) {
	for _, recording := range []*replay.Recording{sample(), fullSample()} {
		text, err := recording.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		recording, err := replay.Decode(text)
		if err != nil {
			refusal, ok := errors.AsType[*replay.FormatError](err)
			if !ok || refusal.Line < 0 || refusal.Line > bytes.Count(text, []byte("\n"))+1 || refusal.Err == nil {
				t.Fatalf("refused with %#v", err)
			}
			return
		}
		reread(t, recording)
	})
}

// Bytes come back from every form.
func FuzzData(f *testing.F) {
	f.Add([]byte("text"))
	f.Add(abi.EncodeMessage([]byte(`{"a":[1,"<"]}`), []byte("\xff")))
	f.Fuzz(func(t *testing.T, message []byte) {
		recording := sample()
		recording.Input = append(replay.Data{}, message...)
		reread(t, recording)
	})
}
