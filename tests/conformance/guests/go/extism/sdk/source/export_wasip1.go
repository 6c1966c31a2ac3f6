package source

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

//go:wasmexport plinth_context_observe
func observeEntry() int32 { return guest.Entry(abi.ExportContext) }
