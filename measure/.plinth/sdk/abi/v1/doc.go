// Package abi is version 1 of the contract between Plinth and a plugin: the
// names a module exports and imports, the shape of every message that crosses
// the boundary, the kinds of error, and the manifest.
//
// # Messages
//
// A message is a little-endian u32, that many bytes of JSON, and the rest as raw
// bytes:
//
//	u32 length | JSON | bytes
//
// JSON refers to the raw bytes as {"$bytes": [offset, length]}. Most messages
// have none. What is large stays at the host and is named, as a [Blob] or, in a
// provider's request, as a [BlobText]. A call is a [Call] with the body its export names; an answer is
// {"ok": …} or {"error": {"kind", "message"}}.
//
// # Exports of a module
//
//	memory                        the linear memory
//	plinth_abi_1                  a function of any type; a marker, never called
//	plinth_alloc(i32) -> i32      room for that many bytes, or 0
//	plinth_free(ptr, len)         optional
//	plinth_reseed()               optional
//	ENTRY(ptr, len) -> i64        one per call; answers ptr<<32 | len
//
// # Imports a module may use, from the module "plinth"
//
//	host_call(op_ptr, op_len, req_ptr, req_len) -> i32   length of the pending answer
//	host_read(ptr)                                       copies that answer to ptr
//
// The request is a message whose JSON is the operation's request itself, without a
// [Call] around it; the answer is a message like that of an export.
//
// # Memory
//
// The host writes a call's message to memory of plinth_alloc and copies the answer
// before it makes the next call. Where plinth_free is exported it may be told of
// the answer's memory, and of the message's, which the guest may have taken back
// by itself: freeing what is not held does nothing.
//
// The package uses nothing but the standard library and builds for wasip1, so
// guests in Go use the very same types.
package abi

// Names of the module's exports.
const (
	ExportMemory  = "memory"
	ExportMarker  = "plinth_abi_1"
	ExportAlloc   = "plinth_alloc"
	ExportFree    = "plinth_free"
	ExportReseed  = "plinth_reseed"
	ExportInit    = "plinth_init"
	ExportTool    = "plinth_tool_execute"
	ExportContext = "plinth_context_observe"

	ExportProviderEncode   = "plinth_provider_encode"
	ExportProviderDecode   = "plinth_provider_decode"
	ExportProviderClassify = "plinth_provider_classify"
	ExportTransform        = "plinth_transform_apply"
)

// Names of the core import set.
const (
	ImportModule = "plinth"
	ImportCall   = "host_call"
	ImportRead   = "host_read"
)

// ManifestSection is the custom section that holds a packed plugin's manifest.
const ManifestSection = "plinth.manifest"

// FilesSection is the custom section that holds the files which a packed plugin's
// manifest names.
const FilesSection = "plinth.files"

// Minor is the host's minor version of this major, told to plinth_init.
const Minor = 0
