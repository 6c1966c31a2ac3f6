package provider

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

//go:wasmexport plinth_provider_encode
func encodeEntry(address, size uint32) uint64 {
	return guest.Entry(abi.ExportProviderEncode, address, size)
}

//go:wasmexport plinth_provider_decode
func decodeEntry(address, size uint32) uint64 {
	return guest.Entry(abi.ExportProviderDecode, address, size)
}

//go:wasmexport plinth_provider_classify
func classifyEntry(address, size uint32) uint64 {
	return guest.Entry(abi.ExportProviderClassify, address, size)
}
