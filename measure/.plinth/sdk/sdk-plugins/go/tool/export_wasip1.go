package tool

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

//go:wasmexport plinth_tool_execute
func executeEntry(address, size uint32) uint64 { return guest.Entry(abi.ExportTool, address, size) }
