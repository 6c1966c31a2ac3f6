package guest

import (
	"github.com/extism/go-pdk"

	"github.com/plinthhost/plinth/abi/v1"
)

//go:wasmexport plinth_abi_1
func marker() {}

//go:wasmexport plinth_init
func initEntry() int32 { return Entry(abi.ExportInit) }

// Entry serves a call whose message is the plugin's input. Its answer is the output,
// an error of the ABI too, so the exit code is 0.
func Entry(export string) int32 {
	pdk.Output(Serve(export, pdk.Input()))
	return 0
}
