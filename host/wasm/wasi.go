package wasm

import (
	"context"
	"runtime"

	"github.com/tetratelabs/wazero/api"
)

const wasiModule = "wasi_snapshot_preview1"

// errno is a WASI preview 1 error number.
type errno uint32

const (
	errnoSuccess errno = 0
	errnoBadf    errno = 8
	errnoFault   errno = 21
	errnoInval   errno = 28
)

// wasiFunction serves one function of WASI preview 1. Parameters are on the
// stack; what serve answers is the guest's result.
type wasiFunction struct {
	kind  string // its type
	serve func(c *call, memory api.Memory, stack []uint64) errno
}

// host is the function as wazero calls it. Each call is a place where a guest
// can be stopped.
func (f wasiFunction) host() api.GoModuleFunc {
	return func(ctx context.Context, module api.Module, stack []uint64) {
		c := callOf(ctx)
		c.safepoint()
		stack[0] = uint64(f.serve(c, module.Memory(), stack))
	}
}

// wasiFunctionNamed answers the function a guest imports by that name. There are
// two output streams, clocks, sleep, randomness and an empty environment; every
// function that takes a descriptor says that there is none. Compilers link those
// in whether they are used or not.
func wasiFunctionNamed(name string) (wasiFunction, bool) {
	switch name {
	case "args_get", "environ_get":
		return wasiFunction{"(i32,i32)->(i32)", nothingThere}, true
	case "args_sizes_get", "environ_sizes_get":
		return wasiFunction{"(i32,i32)->(i32)", noneAndEmpty}, true
	case "clock_res_get":
		return wasiFunction{"(i32,i32)->(i32)", clockResolution}, true
	case "clock_time_get":
		return wasiFunction{"(i32,i64,i32)->(i32)", clockTime}, true
	case "fd_write":
		return wasiFunction{"(i32,i32,i32,i32)->(i32)", fdWrite}, true
	case "poll_oneoff":
		return wasiFunction{"(i32,i32,i32,i32)->(i32)", pollOneoff}, true
	case "proc_exit":
		return wasiFunction{"(i32)->()", procExit}, true
	case "random_get":
		return wasiFunction{"(i32,i32)->(i32)", randomGet}, true
	case "sched_yield":
		return wasiFunction{"()->(i32)", schedYield}, true
	}
	if params := descriptorParams(name); params != "" {
		return wasiFunction{"(" + params + ")->(i32)", noDescriptor}, true
	}
	return wasiFunction{}, false
}

// descriptorParams answers the parameters of a function on descriptors, "" for a
// name that is none.
func descriptorParams(name string) string {
	switch name {
	case "fd_close", "fd_datasync", "fd_sync":
		return "i32"
	case "fd_fdstat_get", "fd_fdstat_set_flags", "fd_filestat_get", "fd_prestat_get",
		"fd_renumber", "fd_tell", "sock_shutdown":
		return "i32,i32"
	case "fd_filestat_set_size":
		return "i32,i64"
	case "fd_allocate", "fd_fdstat_set_rights":
		return "i32,i64,i64"
	case "fd_advise", "fd_filestat_set_times":
		return "i32,i64,i64,i32"
	case "fd_seek":
		return "i32,i64,i32,i32"
	case "fd_prestat_dir_name", "path_create_directory", "path_remove_directory",
		"path_unlink_file", "sock_accept":
		return "i32,i32,i32"
	case "fd_read":
		return "i32,i32,i32,i32"
	case "fd_pread", "fd_pwrite", "fd_readdir":
		return "i32,i32,i32,i64,i32"
	case "path_filestat_get", "path_symlink", "sock_send":
		return "i32,i32,i32,i32,i32"
	case "path_readlink", "path_rename", "sock_recv":
		return "i32,i32,i32,i32,i32,i32"
	case "path_link":
		return "i32,i32,i32,i32,i32,i32,i32"
	case "path_filestat_set_times":
		return "i32,i32,i32,i32,i64,i64,i32"
	case "path_open":
		return "i32,i32,i32,i32,i32,i64,i64,i32,i32"
	}
	return ""
}

func noDescriptor(*call, api.Memory, []uint64) errno { return errnoBadf }

func nothingThere(*call, api.Memory, []uint64) errno { return errnoSuccess }

// noneAndEmpty writes a count of 0 and a size of 0.
func noneAndEmpty(_ *call, memory api.Memory, stack []uint64) errno {
	if !memory.WriteUint32Le(uint32(stack[0]), 0) || !memory.WriteUint32Le(uint32(stack[1]), 0) {
		return errnoFault
	}
	return errnoSuccess
}

// Clocks of preview 1. The two of processor time are not served.
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// now answers a clock's time in nanoseconds.
func (c *call) now(clock uint32) (uint64, bool) {
	switch clock {
	case clockRealtime:
		return uint64(c.ambient.Realtime().UnixNano()), true
	case clockMonotonic:
		return uint64(c.ambient.Monotonic()), true
	}
	return 0, false
}

func clockTime(c *call, memory api.Memory, stack []uint64) errno {
	return c.tell(memory, uint32(stack[0]), uint32(stack[2]), func(now uint64) uint64 { return now })
}

func clockResolution(c *call, memory api.Memory, stack []uint64) errno {
	return c.tell(memory, uint32(stack[0]), uint32(stack[1]), func(uint64) uint64 { return 1 })
}

func (c *call) tell(memory api.Memory, clock, at uint32, value func(now uint64) uint64) errno {
	now, ok := c.now(clock)
	if !ok {
		return errnoInval
	}
	if !memory.WriteUint64Le(at, value(now)) {
		return errnoFault
	}
	return errnoSuccess
}

func schedYield(*call, api.Memory, []uint64) errno {
	runtime.Gosched()
	return errnoSuccess
}
