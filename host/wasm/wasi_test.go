package wasm_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

const wasi = "wasi_snapshot_preview1"

// wasiGuest has an entry "run" that calls a WASI function on i32 constants (i64
// where the type says so), stores the errno as 4 bytes at 1,000 and answers the
// 104 bytes from there; data is what it starts with at 2,000.
func wasiGuest(t *testing.T, name string, params []byte, data string, args ...int32) *wasm.Module {
	t.Helper()
	guest := new(Module)
	function := guest.Import(wasi, name, params, Types(I32))
	guest.Core().Data(2000, data)
	code := Const(1000)
	for i, arg := range args {
		if params[i] == I64 {
			code += Const64(int64(arg))
		} else {
			code += Const(arg)
		}
	}
	guest.Entry("run", code, Call(function), Store, Answer(Const(1000), Const(104)))
	return load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}})
}

// run answers the errno and the 100 bytes at 1,004.
func run(t *testing.T, module *wasm.Module, request wasm.Request) (uint32, []byte) {
	t.Helper()
	request.Entry = "run"
	output := []byte(mustCall(t, module, request))
	return binary.LittleEndian.Uint32(output), output[4:]
}

func TestClock(t *testing.T) {
	before := uint64(time.Now().UnixNano())
	errno, out := run(t, wasiGuest(t, "clock_time_get", Types(I32, I64, I32), "", 0, 0, 1004), wasm.Request{})
	if now := binary.LittleEndian.Uint64(out); errno != 0 || now < before || now > uint64(time.Now().UnixNano()) {
		t.Errorf("errno %d, now %d", errno, now)
	}
	module := wasiGuest(t, "clock_time_get", Types(I32, I64, I32), "", 1, 0, 1004)
	_, first := run(t, module, wasm.Request{})
	_, second := run(t, module, wasm.Request{})
	if binary.LittleEndian.Uint64(second) <= binary.LittleEndian.Uint64(first) {
		t.Error("the monotonic clock stands still")
	}
	if errno, _ := run(t, wasiGuest(t, "clock_time_get", Types(I32, I64, I32), "", 2, 0, 1004), wasm.Request{}); errno != 28 {
		t.Errorf("processor clock: errno %d", errno)
	}
	if errno, _ := run(t, wasiGuest(t, "clock_time_get", Types(I32, I64, I32), "", 0, 0, -4), wasm.Request{}); errno != 21 {
		t.Errorf("bad pointer: errno %d", errno)
	}
	if errno, out := run(t, wasiGuest(t, "clock_res_get", Types(I32, I32), "", 0, 1004), wasm.Request{}); errno != 0 || out[0] != 1 {
		t.Errorf("resolution: errno %d, % x", errno, out[:8])
	}
}

func TestRandom(t *testing.T) {
	module := wasiGuest(t, "random_get", Types(I32, I32), "", 1004, 100)
	errno, first := run(t, module, wasm.Request{})
	_, second := run(t, module, wasm.Request{})
	if errno != 0 || bytes.Equal(first, second) || bytes.Equal(first, make([]byte, 100)) {
		t.Errorf("errno %d\n% x\n% x", errno, first, second)
	}
	if errno, _ := run(t, wasiGuest(t, "random_get", Types(I32, I32), "", 65000, 1000), wasm.Request{}); errno != 21 {
		t.Errorf("bad pointer: errno %d", errno)
	}
}

func TestEnvironmentIsEmpty(t *testing.T) {
	for _, name := range []string{"args_sizes_get", "environ_sizes_get"} {
		guest := wasiGuest(t, name, Types(I32, I32), "", 1004, 1008)
		if errno, out := run(t, guest, wasm.Request{}); errno != 0 || !bytes.Equal(out[:8], make([]byte, 8)) {
			t.Errorf("%s: errno %d, % x", name, errno, out[:8])
		}
	}
	for _, name := range []string{"args_get", "environ_get"} {
		if errno, _ := run(t, wasiGuest(t, name, Types(I32, I32), "", 1004, 1008), wasm.Request{}); errno != 0 {
			t.Errorf("%s: errno %d", name, errno)
		}
	}
}

func TestNoDescriptors(t *testing.T) {
	tests := []struct {
		name   string
		params []byte
		args   []int32
	}{
		{"fd_read", Types(I32, I32, I32, I32), []int32{0, 2000, 0, 1004}},
		{"fd_close", Types(I32), []int32{1}},
		{"fd_seek", Types(I32, I64, I32, I32), []int32{1, 0, 0, 1004}},
		{"fd_fdstat_get", Types(I32, I32), []int32{1, 1004}},
		{"fd_prestat_get", Types(I32, I32), []int32{3, 1004}},
		{"fd_write", Types(I32, I32, I32, I32), []int32{3, 2000, 0, 1004}},
		{"path_open", Types(I32, I32, I32, I32, I32, I64, I64, I32, I32), []int32{3, 0, 2000, 0, 0, 0, 0, 0, 1004}},
		{"sock_accept", Types(I32, I32, I32), []int32{3, 0, 1004}},
	}
	for _, test := range tests {
		if errno, _ := run(t, wasiGuest(t, test.name, test.params, "", test.args...), wasm.Request{}); errno != 8 {
			t.Errorf("%s: errno %d, want EBADF", test.name, errno)
		}
	}
}

// vectors are the records of fd_write for pieces of memory, as (pointer, length).
func vectors(pieces ...uint32) string {
	var table []byte
	for _, word := range pieces {
		table = binary.LittleEndian.AppendUint32(table, word)
	}
	return string(table)
}

// writer writes the pieces to a stream.
func writer(t *testing.T, descriptor int32, text string, pieces ...uint32) *wasm.Module {
	t.Helper()
	data := vectors(pieces...)
	data += strings.Repeat("\x00", 100-len(data)) + text
	return wasiGuest(t, "fd_write", Types(I32, I32, I32, I32), data, descriptor, 2000, int32(len(pieces)/2), 1004)
}

func TestPrintedLines(t *testing.T) {
	text := "first\nsec\x1b[31mond\r\nlast"
	module := writer(t, 1, text, 2100, 8, 2108, uint32(len(text)-8))
	var got lines
	errno, out := run(t, module, wasm.Request{Log: got.add})
	if written := binary.LittleEndian.Uint32(out); errno != 0 || int(written) != len(text) {
		t.Errorf("errno %d, %d bytes written", errno, written)
	}
	if diff := cmp.Diff([]string{"first", "sec\uFFFD[31mond", "last"}, got.text); diff != "" {
		t.Error(diff)
	}
}

func TestPanicOfTheLogIsTheHostsFault(t *testing.T) {
	module := writer(t, 1, "line\n", 2100, 5)
	_, err := call(t, module, wasm.Request{Entry: "run", Log: func(string) { panic("a bug") }})
	var fault *wasm.HostError
	if !errors.As(err, &fault) || fault.Operation != "fd_write" || fault.Panic != "a bug" {
		t.Errorf("got %v", err)
	}
}

func TestWriteRefusesBadVectors(t *testing.T) {
	for name, module := range map[string]*wasm.Module{
		"data":  writer(t, 2, "", 65000, 1000),
		"table": wasiGuest(t, "fd_write", Types(I32, I32, I32, I32), "", 1, 65530, 8, 1004),
		"count": wasiGuest(t, "fd_write", Types(I32, I32, I32, I32), "", 1, 2000, 1<<30, 1004),
	} {
		errno, _ := run(t, module, wasm.Request{})
		if want := map[string]uint32{"data": 21, "table": 21, "count": 28}[name]; errno != want {
			t.Errorf("%s: errno %d, want %d", name, errno, want)
		}
	}
}

func TestLogFloodIsCutOff(t *testing.T) {
	guest := new(Module)
	write := guest.Import(wasi, "fd_write", Types(I32, I32, I32, I32), Types(I32))
	guest.Core().Data(2000, vectors(2100, 1000))
	guest.Data(2100, strings.Repeat("x", 99)+"\n"+strings.Repeat("y", 900))
	guest.Entry("run", Const(500), Set(2),
		Loop, Const(1), Const(2000), Const(1), Const(1004), Call(write), Drop,
		Get(2), Const(1), Sub, "\x22\x02", BrIf(0), End, Const64(0))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}, Limits: wasm.Limits{LogBytes: 10_050}})
	for range 2 { // each call has its own allowance
		var got lines
		mustCall(t, module, wasm.Request{Entry: "run", Log: got.add})
		total := 0
		for _, line := range got.text[:len(got.text)-1] {
			total += len(line)
		}
		if total < 10_000 || total > 10_050 {
			t.Errorf("%d bytes were logged", total)
		}
		want := "the log is cut off here: a call may write 10050 bytes (LogBytes); log less, or raise log_kib of [limits] in its manifest"
		if last := got.text[len(got.text)-1]; last != want {
			t.Errorf("last line %q", last)
		}
	}
}

func TestLongLineIsCut(t *testing.T) {
	var got lines
	run(t, writer(t, 1, strings.Repeat("z", 5000), 2100, 5000), wasm.Request{Log: got.add})
	if len(got.text) != 2 || len(got.text[0]) != 4096 || len(got.text[1]) != 904 {
		t.Errorf("%d lines", len(got.text))
	}
}

func TestExitIsATrap(t *testing.T) {
	guest := new(Module)
	exit := guest.Import(wasi, "proc_exit", Types(I32), nil)
	guest.Core().Entry("run", Const(3), Call(exit), Const64(0))
	module := load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}})
	_, err := call(t, module, wasm.Request{Entry: "run"})
	var trap *wasm.TrapError
	if !errors.As(err, &trap) || trap.Reason != "exit with status 3" || trap.Function != "run" {
		t.Errorf("got %v", err)
	}
}

// clockSubscription is a record of poll_oneoff.
func clockSubscription(user uint64, clock uint32, timeout uint64, flags uint16) []byte {
	record := binary.LittleEndian.AppendUint64(nil, user)
	record = append(record, make([]byte, 8)...)
	record = binary.LittleEndian.AppendUint32(record, clock)
	record = append(record, make([]byte, 4)...)
	record = binary.LittleEndian.AppendUint64(record, timeout)
	record = append(record, make([]byte, 8)...)
	record = binary.LittleEndian.AppendUint16(record, flags)
	return append(record, make([]byte, 6)...)
}

func poller(t *testing.T, records ...[]byte) *wasm.Module {
	t.Helper()
	return wasiGuest(t, "poll_oneoff", Types(I32, I32, I32, I32), string(bytes.Join(records, nil)),
		2000, 1008, int32(len(records)), 1004)
}

func TestSleep(t *testing.T) {
	module := poller(t, clockSubscription(7, 1, uint64(20*time.Millisecond), 0), clockSubscription(8, 1, uint64(time.Hour), 0))
	began := time.Now()
	errno, out := run(t, module, wasm.Request{})
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("slept %s", took)
	}
	if events := binary.LittleEndian.Uint32(out); errno != 0 || events != 1 || out[4] != 7 {
		t.Errorf("errno %d, %d events, % x", errno, events, out[:36])
	}
	past := poller(t, clockSubscription(9, 0, 1, 1)) // an instant in 1970
	if errno, out := run(t, past, wasm.Request{}); errno != 0 || out[0] != 1 || out[4] != 9 {
		t.Errorf("past: errno %d, % x", errno, out[:36])
	}
}

func TestSleepObeysTheDeadline(t *testing.T) {
	forever := poller(t, clockSubscription(1, 1, ^uint64(0), 0))
	if _, err := call(t, forever, wasm.Request{Entry: "run", Deadline: 20 * time.Millisecond}); !errors.Is(err, wasm.ErrDeadline) {
		t.Errorf("got %v", err)
	}
}

func TestPollAnswersDescriptorsAtOnce(t *testing.T) {
	record := clockSubscription(5, 0, 0, 0)
	record[8] = 1 // waits to read
	module := poller(t, record, clockSubscription(6, 1, uint64(time.Hour), 0), clockSubscription(4, 3, 0, 0))
	errno, out := run(t, module, wasm.Request{})
	got := fmt.Sprint(errno, " ", out[0], " events: ", out[4], " errno ", out[12], ", ", out[36], " errno ", out[44])
	if want := "0 2 events: 5 errno 8, 4 errno 28"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if errno, _ := run(t, wasiGuest(t, "poll_oneoff", Types(I32, I32, I32, I32), "", 2000, 1008, 0, 1004), wasm.Request{}); errno != 28 {
		t.Errorf("nothing to wait for: errno %d", errno)
	}
}

func TestYield(t *testing.T) {
	if errno, _ := run(t, wasiGuest(t, "sched_yield", nil, ""), wasm.Request{}); errno != 0 {
		t.Errorf("errno %d", errno)
	}
}
