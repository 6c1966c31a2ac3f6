package transform

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

//go:wasmexport plinth_transform_apply
func applyEntry(address, size uint32) uint64 {
	return guest.Entry(abi.ExportTransform, address, size)
}
