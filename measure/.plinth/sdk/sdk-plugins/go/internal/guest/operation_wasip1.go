package guest

import (
	"runtime"
	"unsafe"
)

//go:wasmimport plinth host_call
func hostCall(operation unsafe.Pointer, operationSize uint32, request unsafe.Pointer, requestSize uint32) int32

//go:wasmimport plinth host_read
func hostRead(to unsafe.Pointer)

// Operate asks the host for an operation. Both are whole messages.
func Operate(operation string, request []byte) []byte {
	size := hostCall(unsafe.Pointer(unsafe.StringData(operation)), uint32(len(operation)), unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	answer := make([]byte, size, size+1)
	hostRead(unsafe.Pointer(unsafe.SliceData(answer)))
	runtime.KeepAlive(request)
	return answer
}
