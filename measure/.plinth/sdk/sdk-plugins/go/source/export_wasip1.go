package source

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

//go:wasmexport plinth_context_observe
func observeEntry(address, size uint32) uint64 {
	return guest.Entry(abi.ExportContext, address, size)
}
