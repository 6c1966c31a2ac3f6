package protocol_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/client/protocol"
)

func TestCursorRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := protocol.NewCursor(
			rapid.StringMatching(`log_[0-9a-zA-Z]{1,40}`).Draw(t, "log"),
			rapid.Int64Range(-1, 1<<60).Draw(t, "seq"),
			rapid.String().Draw(t, "event"),
		)
		got, err := protocol.ParseCursor(want.String())
		if err != nil || got != want {
			t.Fatalf("%+v became %+v, %v", want, got, err)
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add(protocol.NewCursor("log_1", 41, "evt_1").String())
	f.Add("")
	f.Add("AQAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		cursor, err := protocol.ParseCursor(text)
		if err == nil && (cursor.String() != text || cursor.Seq < -1 || cursor.Log == "") {
			t.Errorf("%q became %+v", text, cursor)
		}
	})
}

// FuzzParseClientFrame: any bytes give a frame or a *FrameError that says little,
// and what is a frame survives being sent again.
func FuzzParseClientFrame(f *testing.F) {
	for _, seed := range []string{
		`{"t":"hello","proto":1,"client":{"name":"x"},"want":{"pong":true}}`, `{"t":"sub","sub":"s","scope":"session","session":"ses_1"}`,
		`{"t":"ack","sub":"s","cursor":"x"}`, `{"t":"unsub","sub":"s"}`, `{"t":"req","id":"r","method":"m","params":{"a":[1,{}]}}`,
		`{"t":"pong","n":9}`, `{"t":"nope"}`, `{`, `null`, `[]`, "\xff", `{"t":"req","id":"","method":7}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := protocol.ParseClientFrame(data)
		if err != nil {
			var bad *protocol.FrameError
			if !errors.As(err, &bad) || bad.Err.Code != protocol.BadRequest || len(bad.Of) > 64 {
				t.Fatalf("%q: %#v", data, err)
			}
			return
		}
		encoded, err := protocol.Encode(frame)
		if err != nil {
			t.Fatalf("%q became %+v, which cannot be sent: %v", data, frame, err)
		}
		again, err := protocol.ParseClientFrame(encoded)
		if err != nil || !reflect.DeepEqual(frame, again) {
			if d := cmp.Diff(frame, again); err != nil || d != "" {
				t.Errorf("%q is sent as %s, %v\n%s", data, encoded, err, d)
			}
		}
	})
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"text":"x","nope":1}`:     `unknown field "nope"`,
		`{"text":7}`:                `field "text" cannot be a JSON number`,
		`{"files":[{"blob":true}]}`: `field "files.blob" cannot be a JSON bool`,
		`[]`:                        "expected another JSON value than array",
		``:                          "there is no JSON value",
		`{"text":`:                  "cut off",
		`{"text":"x"}x`:             "more than one JSON value",
		`{"text" "x"}`:              "not JSON at byte",
	} {
		var prompt protocol.Prompt
		err := protocol.Decode([]byte(text), &prompt)
		if err == nil || !strings.Contains(err.Error(), want) || protocol.AsError(err).Code != protocol.BadRequest {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	var prompt protocol.Prompt
	if err := protocol.Decode([]byte(` {"text":"x","format":{"a":1}} `), &prompt); err != nil || prompt.Text != "x" {
		t.Errorf("%+v, %v", prompt, err)
	}
}

// TestCodes: the list is closed, each code has one status and one answer to
// whether a retry helps, and a problem gives the error back.
func TestCodes(t *testing.T) {
	t.Parallel()
	want := map[protocol.Code]struct {
		status    int
		retryable bool
	}{
		protocol.BadRequest: {400, false}, protocol.Unauthenticated: {401, false}, protocol.Forbidden: {403, false},
		protocol.NotFound: {404, false}, protocol.Gone: {410, false}, protocol.Conflict: {409, false},
		protocol.AlreadyResolved: {409, false}, protocol.PreconditionFailed: {412, false}, protocol.TooLarge: {413, false},
		protocol.Busy: {503, true}, protocol.RateLimited: {429, true}, protocol.QuotaExceeded: {429, false},
		protocol.NotOwner: {421, true}, protocol.Unavailable: {503, true}, protocol.Internal: {500, false},
	}
	if len(protocol.Codes()) != len(want) {
		t.Errorf("%d codes", len(protocol.Codes()))
	}
	for _, code := range protocol.Codes() {
		err := protocol.Errorf(code, "text %d", 1)
		if err.Code.Status() != want[code].status || err.Retryable != want[code].retryable {
			t.Errorf("%s: status %d, retryable %v", code, code.Status(), err.Retryable)
		}
		if d := cmp.Diff(err, err.Problem().Err()); d != "" {
			t.Errorf("%s: %s", code, d)
		}
		if !errors.Is(err, &protocol.Error{Code: code}) || errors.Is(err, &protocol.Error{Code: "other"}) {
			t.Errorf("%s: errors.Is", code)
		}
	}
}

func TestAsError(t *testing.T) {
	t.Parallel()
	reset := protocol.AsError(&protocol.ResetError{Reason: protocol.ResetPruned, First: "f", Head: "h"})
	if reset.Code != protocol.Gone || reset.Details["first"] != "f" {
		t.Errorf("%+v", reset)
	}
	if hidden := protocol.AsError(errors.New("secret")); hidden.Code != protocol.Internal || strings.Contains(hidden.Message, "secret") {
		t.Errorf("%+v", hidden)
	}
	if protocol.AsError(nil) != nil {
		t.Error("nil became an error")
	}
}

// TestServerFrames: every frame of the server is read as what it was.
func TestServerFrames(t *testing.T) {
	t.Parallel()
	for _, frame := range []any{
		&protocol.Welcome{T: "welcome", Conn: "k"}, &protocol.Subscribed{T: "subscribed", Sub: "s"},
		&protocol.Ev{T: "ev", Sub: "s", Prev: 1, Event: protocol.Event{Session: "ses_1", Seq: 2, Type: "x", Data: json.RawMessage(`{"a":1}`)}},
		&protocol.Mark{T: "mark", Sub: "s"}, &protocol.Live{T: "live", Sub: "s"}, &protocol.Delta{T: "d", N: 3, Text: "abc"}, &protocol.Delta{T: "part"},
		&protocol.Reset{T: "reset", Reason: protocol.ResetLog}, &protocol.End{T: "end"}, &protocol.Res{T: "res", ID: "r", OK: true, Result: json.RawMessage(`{}`)},
		&protocol.ErrFrame{T: "err", Error: protocol.Errorf(protocol.Busy, "x")}, &protocol.Ping{T: "ping", N: 1}, &protocol.Bye{T: "bye"},
	} {
		data, err := protocol.Encode(frame)
		if err != nil {
			t.Fatal(err)
		}
		got, err := protocol.ParseServerFrame(data)
		if d := cmp.Diff(frame, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", data, err, d)
		}
	}
	if frame, err := protocol.ParseServerFrame([]byte(`{"t":"stall","sub":"s","behind":3}`)); frame != nil || err != nil {
		t.Errorf("a frame of a later version: %v, %v", frame, err)
	}
	if _, err := protocol.ParseServerFrame([]byte(`{"t":"ev","seq":"x"}`)); err == nil {
		t.Error("a bad frame was taken")
	}
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{
		1000: false, 1001: true, 1006: true, 4000: true, 4001: false, 4002: false, 4003: true, 4004: false, 4005: false,
		4006: false, 4007: false, 4008: true, 4009: true, 4010: true, 4012: false, 4999: true,
	} {
		if protocol.Reconnect(code) != want {
			t.Errorf("after %d: %v", code, !want)
		}
	}
}
