package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// Names that the package guest is written for.
const (
	exportMarker = "plinth_abi_1"
	exportAlloc  = "plinth_alloc"
	exportFree   = "plinth_free"
)

// builtContract is that of the package guest, writtenContract that of modules
// written here instruction by instruction.
func builtContract() wasm.Contract {
	return wasm.Contract{
		Marker: exportMarker, Alloc: exportAlloc, Free: exportFree, Init: "plinth_init", Reseed: "plinth_reseed",
		Module: "plinth", Call: "host_call", Read: "host_read",
	}
}

func writtenContract() wasm.Contract {
	return wasm.Contract{
		Marker: wasmtest.Marker, Alloc: wasmtest.Alloc, Free: wasmtest.Free, Init: wasmtest.Init, Reseed: wasmtest.Reseed,
		Module: wasmtest.Host, Call: wasmtest.Ask, Read: wasmtest.Read,
	}
}

func engineOptions(contract wasm.Contract) wasm.Options {
	return wasm.Options{Contract: contract, Refuse: func(err error) []byte { return []byte(wasm.Kind(err)) }}
}

// compiler starts this program as the child that compiles.
func compiler(ctx context.Context) *exec.Cmd {
	return exec.CommandContext(ctx, os.Args[0], asCompiler)
}

// caller is a module's entry with what every call of it gets.
func caller(ctx context.Context, module *wasm.Module, entry string, input []byte) func() error {
	return func() error {
		result, err := module.Call(ctx, wasm.Request{Entry: entry, Input: input, Session: "bench"})
		if err == nil && len(result.Output) == 0 && entry != "noop" {
			return fmt.Errorf("%s answers nothing", entry)
		}
		return err
	}
}
