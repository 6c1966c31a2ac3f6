package provider

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

//go:wasmexport plinth_provider_encode
func encodeEntry() int32 { return guest.Entry(abi.ExportProviderEncode) }

//go:wasmexport plinth_provider_decode
func decodeEntry() int32 { return guest.Entry(abi.ExportProviderDecode) }

//go:wasmexport plinth_provider_classify
func classifyEntry() int32 { return guest.Entry(abi.ExportProviderClassify) }
