package guest

import "github.com/extism/go-pdk"

//go:wasmimport extism:host/user host_call
func hostCall(operation, request uint64) uint64

// Operate asks the host for an operation. Both are whole messages.
func Operate(operation string, request []byte) []byte {
	name, message := pdk.AllocateString(operation), pdk.AllocateBytes(request)
	defer name.Free()
	defer message.Free()
	answer := pdk.FindMemory(hostCall(name.Offset(), message.Offset()))
	defer answer.Free()
	return answer.ReadBytes()
}
