package wasm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/wasm"
	. "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// importing is a guest with an entry "run" that imports one function.
func importing(module, name string, params, results []byte) *Module {
	guest := new(Module)
	guest.Import(module, name, params, results)
	guest.Core().Entry("run", Const64(0))
	return guest
}

// importingExtism is the same with an entry as Extism's modules have it.
func importingExtism(module, name string, params, results []byte) *Module {
	guest := new(Module)
	guest.Import(module, name, params, results)
	guest.Memory(1, 0)
	guest.Func(Marker, nil, nil, nil)
	guest.Func("run", nil, Types(I32), nil, Const(0))
	return guest
}

// extismRun is an Extism module with an entry "run" that imports some functions.
func extismRun(functions ...string) *Module {
	guest := NewExtism(Marker, functions...)
	guest.Entry("run")
	return &guest.Module
}

// bothSets imports an operation of ours and a function of Extism's.
func bothSets() *Module {
	guest := new(Module)
	guest.Operations()
	guest.Import(ExtismEnv, "alloc", Types(I64), Types(I64))
	guest.Core().Entry("run", Const64(0))
	return guest
}

func TestAdmission(t *testing.T) {
	core := func(change func(*Module)) *Module {
		guest := new(Module).Core()
		change(guest)
		return guest
	}
	entry := func(m *Module) { m.Entry("run", Const64(0)) }
	operations := new(Module)
	operations.Operations()
	entry(operations.Core())
	bare := new(Module)
	bare.Func("run", nil, nil, nil)
	bare.Memory(1, 0)
	manyImports := new(Module)
	for name := range strings.SplitSeq("abcdefghijkl", "") {
		manyImports.Import("other", name, nil, nil)
	}
	entry(manyImports.Core())

	tests := []struct {
		name  string
		guest *Module
		spec  wasm.Spec
		stage string
		text  string
	}{
		{"fine", core(entry), wasm.Spec{}, "", ""},
		{"operations", operations, wasm.Spec{}, "", ""},
		{"operations of a pure module", operations, wasm.Spec{Pure: true}, wasm.StageImports,
			"test.host_call (a host operation, which providers and transforms may not use); test.host_read"},
		{"memory", core(func(m *Module) { entry(m); m.Memory(100, 0) }), wasm.Spec{Limits: wasm.Limits{MemoryMiB: 5}}, wasm.StageLimits,
			"it starts with 6400 KiB of memory, the limit is 5120 KiB; raise memory_mib"},
		{"no marker", bare, wasm.Spec{}, wasm.StageExports, "it must export the marker function test_abi; build it with a current SDK"},
		{"no entry", core(func(*Module) {}), wasm.Spec{}, wasm.StageExports,
			"it must export run, a function of type (i32,i32)->(i64); link its kind in, which exports it, or take the table that declares it out of the manifest"},
		{"entry of another type", core(func(m *Module) { m.Func("run", nil, nil, nil) }), wasm.Spec{}, wasm.StageExports,
			`run as a function of type (i32,i32)->(i64); it exports a function of type "()->()"`},
		{"entry that is a memory", core(func(m *Module) { m.Export("run", 2, 0) }), wasm.Spec{}, wasm.StageExports, "it exports a memory"},
		{"free of another type", core(func(m *Module) { entry(m); m.Func(Free, nil, nil, nil) }), wasm.Spec{}, wasm.StageExports, "test_free"},
		{"init of another type", core(func(m *Module) { entry(m); m.Func(Init, nil, nil, nil) }), wasm.Spec{}, wasm.StageExports, "test_init"},
		{"initialize of another type", core(func(m *Module) { entry(m); m.Func("_initialize", Types(I32), nil, nil) }), wasm.Spec{},
			wasm.StageExports, "_initialize as a function of type ()->()"},
		{"a program", core(func(m *Module) { entry(m); m.Func("_start", nil, nil, nil) }), wasm.Spec{}, wasm.StageExports,
			"it exports _start, so it is a program; build it as a reactor"},
		{"env", importing("env", "sqlite3_open", Types(I32), nil), wasm.Spec{}, wasm.StageImports,
			"env.sqlite3_open (nobody provides env); link the missing symbol in"},
		{"Extism", extismRun("alloc", "var_set", "input_length"), wasm.Spec{}, "", ""},
		{"Extism function nobody knows", extismRun("input_fly"), wasm.Spec{}, wasm.StageImports, "extism:host/env.input_fly (not served)"},
		{"Extism function of another type", importingExtism("extism:host/env", "alloc", Types(I32), Types(I64)), wasm.Spec{}, wasm.StageImports,
			"extism:host/env.alloc (as (i32)->(i64), it is (i64)->(i64))"},
		{"Extism user function nobody knows", importingExtism("extism:host/user", "other", nil, nil), wasm.Spec{}, wasm.StageImports, "extism:host/user.other (not served)"},
		{"Extism entry of the core's type", importing("extism:host/env", "alloc", Types(I64), Types(I64)), wasm.Spec{}, wasm.StageExports,
			"run as a function of type ()->(i32)"},
		{"Extism and core", bothSets(), wasm.Spec{}, wasm.StageImports,
			"it imports test.host_call and also functions of extism:host/env; build it with a Plinth SDK or with an Extism PDK, not with both"},
		{"Extism of a pure module", extismRun("alloc", "config_get", "log_info"), wasm.Spec{Pure: true}, "", ""},
		{"Extism variables of a pure module", extismRun("var_get", "http_request"), wasm.Spec{Pure: true}, wasm.StageImports,
			"extism:host/env.var_get (a host operation, which providers and transforms may not use); extism:host/env.http_request"},
		{"Extism operation of a pure module", importingExtism("extism:host/user", Ask, Types(I64, I64), Types(I64)), wasm.Spec{Pure: true}, wasm.StageImports,
			"extism:host/user.host_call (a host operation"},
		{"wasm-bindgen", importing("__wbindgen_placeholder__", "__wbindgen_throw", Types(I32, I32), nil), wasm.Spec{}, wasm.StageImports, "cargo tree -i wasm-bindgen"},
		{"Go for a page", importing("gojs", "runtime.wasmExit", Types(I32), nil), wasm.Spec{}, wasm.StageImports, "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared"},
		{"Emscripten", importing("env", "__syscall_openat", Types(I32), nil), wasm.Spec{}, wasm.StageImports, "clang --target=wasm32-wasip1 -mexec-model=reactor"},
		{"WASI 0.2", importing("wasi:cli/environment@0.2.0", "get-environment", Types(I32), nil), wasm.Spec{}, wasm.StageImports, "build it for wasip1"},
		{"AssemblyScript", importing("env", "abort", Types(I32, I32, I32, I32), nil), wasm.Spec{}, wasm.StageImports, "say --use abort="},
		{"a function called as one of Go's", importing("go", "walk", nil, nil), wasm.Spec{}, wasm.StageImports, "go.walk (not served)"},
		{"old WASI", importing("wasi_unstable", "fd_write", nil, nil), wasm.Spec{}, wasm.StageImports, "wasi_unstable.fd_write: it is built for a WASI before preview 1; build it with a current compiler for wasip1"},
		{"WASI function nobody knows", importing("wasi_snapshot_preview1", "fd_fly", nil, nil), wasm.Spec{}, wasm.StageImports, "fd_fly (not served)"},
		{"WASI function of another type", importing("wasi_snapshot_preview1", "random_get", nil, nil), wasm.Spec{}, wasm.StageImports,
			"random_get (as ()->(), it is (i32,i32)->(i32))"},
		{"unknown operation import", importing(Host, "host_take", nil, nil), wasm.Spec{}, wasm.StageImports,
			"only test.host_call, test.host_read, wasi_snapshot_preview1, extism:host/env and extism:host/user.host_call are served"},
		{"operation of another type", importing(Host, Read, nil, nil), wasm.Spec{}, wasm.StageImports, "test.host_read (as ()->(), it is (i32)->())"},
		{"many", manyImports, wasm.Spec{}, wasm.StageImports, "other.h (not served); 4 more; only"},
		{"code the compiler refuses", core(func(m *Module) { m.Entry("run", Add) }), wasm.Spec{}, wasm.StageCompile, "the compiler refused it"},
		{"functions beyond the table", core(func(m *Module) { entry(m); m.Table(3, 3); m.Elements(2, 0, 0) }), wasm.Spec{}, wasm.StageLimits,
			"an element segment ends at entry 4 of the table, which has 3"},
		{"functions before the table", core(func(m *Module) { entry(m); m.Table(3, 3); m.Elements(-1, 0) }), wasm.Spec{}, wasm.StageLimits,
			"an element segment ends at entry 4294967296 of the table, which has 3"},
		{"a full table", core(func(m *Module) { entry(m); m.Table(3, 3); m.Elements(1, 0, 0) }), wasm.Spec{}, "", ""},
		{"data beyond the memory", core(func(m *Module) { entry(m); m.Data(65533, "data") }), wasm.Spec{}, wasm.StageLimits,
			"a data segment ends at byte 65537 of the memory, which has 65536"},
		{"data before the memory", core(func(m *Module) { entry(m); m.Data(-1, "x") }), wasm.Spec{}, wasm.StageLimits,
			"a data segment ends at byte 4294967296"},
		{"a full memory", core(func(m *Module) { entry(m); m.Data(65532, "data"); m.Data(0, "") }), wasm.Spec{}, "", ""},
		{"isolation nobody knows", core(entry), wasm.Spec{Isolation: "process"}, wasm.StageLimits, `there is no isolation "process"; take restore, fresh or sticky`},
		{"table.grow", core(func(m *Module) {
			m.Table(1, 0)
			m.Entry("run", "\xd0\x70", Const(1<<20), "\xfc\x0f\x00", Drop, Const64(0)) // ref.null func, table.grow
		}), wasm.Spec{}, wasm.StageParse, "table.grow of a table without"},
	}
	engine := newEngine(t, options())
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.spec.Name, test.spec.Wasm, test.spec.Entries = "guest", test.guest.Bytes(), []string{"run"}
			module, err := engine.Load(context.Background(), test.spec)
			if test.stage == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := module.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			var refusal *wasm.AdmissionError
			if !errors.As(err, &refusal) {
				t.Fatalf("got %v", err)
			}
			if refusal.Stage != test.stage || refusal.Module != "guest" || !strings.Contains(err.Error(), test.text) {
				t.Errorf("stage %s, got %q", refusal.Stage, err)
			}
		})
	}
}

func TestEveryServedImportLinks(t *testing.T) {
	tests := []struct {
		names   string
		params  []byte
		results []byte
	}{
		{"args_get environ_get args_sizes_get environ_sizes_get clock_res_get random_get", Types(I32, I32), Types(I32)},
		{"clock_time_get", Types(I32, I64, I32), Types(I32)},
		{"fd_write poll_oneoff fd_read", Types(I32, I32, I32, I32), Types(I32)},
		{"proc_exit", Types(I32), nil},
		{"sched_yield", nil, Types(I32)},
		{"fd_close fd_datasync fd_sync", Types(I32), Types(I32)},
		{"fd_fdstat_get fd_fdstat_set_flags fd_filestat_get fd_prestat_get fd_renumber fd_tell sock_shutdown", Types(I32, I32), Types(I32)},
		{"fd_seek", Types(I32, I64, I32, I32), Types(I32)},
		{"fd_filestat_set_size", Types(I32, I64), Types(I32)},
		{"fd_allocate fd_fdstat_set_rights", Types(I32, I64, I64), Types(I32)},
		{"fd_advise fd_filestat_set_times", Types(I32, I64, I64, I32), Types(I32)},
		{"fd_prestat_dir_name path_create_directory path_remove_directory path_unlink_file sock_accept", Types(I32, I32, I32), Types(I32)},
		{"fd_pread fd_pwrite fd_readdir", Types(I32, I32, I32, I64, I32), Types(I32)},
		{"path_filestat_get path_symlink sock_send", Types(I32, I32, I32, I32, I32), Types(I32)},
		{"path_readlink path_rename sock_recv", Types(I32, I32, I32, I32, I32, I32), Types(I32)},
		{"path_link", Types(I32, I32, I32, I32, I32, I32, I32), Types(I32)},
		{"path_filestat_set_times", Types(I32, I32, I32, I32, I64, I64, I32), Types(I32)},
		{"path_open", Types(I32, I32, I32, I32, I32, I64, I64, I32, I32), Types(I32)},
	}
	guest := new(Module)
	for _, test := range tests {
		for name := range strings.FieldsSeq(test.names) {
			guest.Import("wasi_snapshot_preview1", name, test.params, test.results)
			guest.Import("wasi_snapshot_preview1", name, test.params, test.results) // Go imports some twice
		}
	}
	guest.Core().Entry("run", Const64(0))
	mustCall(t, load(t, wasm.Spec{Wasm: guest.Bytes(), Entries: []string{"run"}, Pure: true}), wasm.Request{Entry: "run"})
}

func TestOptionsAreChecked(t *testing.T) {
	incomplete := options()
	incomplete.Contract.Free = ""
	mute := options()
	mute.Refuse = nil
	for _, options := range []wasm.Options{incomplete, mute} {
		if _, err := wasm.New(options); err == nil {
			t.Error("no error")
		}
	}
}

func TestKind(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("x"), wasm.KindOther},
		{&wasm.AdmissionError{Err: wasm.ErrDeadline}, wasm.KindAdmission},
		{&wasm.TrapError{}, wasm.KindTrap},
		{&wasm.AnswerError{}, wasm.KindAnswer},
		{&wasm.LimitError{}, wasm.KindLimit},
		{&wasm.HostError{}, wasm.KindHost},
		{wasm.ErrUnavailable, wasm.KindUnavailable},
		{wasm.ErrClosed, wasm.KindClosed},
	}
	for _, test := range tests {
		if got := wasm.Kind(test.err); got != test.want {
			t.Errorf("%v is %q, want %q", test.err, got, test.want)
		}
	}
}

func TestInfoOfAModule(t *testing.T) {
	module := load(t, wasm.Spec{})
	info, err := wasm.Inspect(Guest().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(info, module.Info()); diff != "" || module.Name() != "guest" {
		t.Error(module.Name(), diff)
	}
}
