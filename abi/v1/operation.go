package abi

import "encoding/json"

// Names of the host operations of this minor.
const (
	OpBatch    = "batch"
	OpLog      = "log"
	OpProgress = "progress"

	OpFSStat   = "fs.stat"
	OpFSList   = "fs.list"
	OpFSRead   = "fs.read"
	OpFSAttach = "fs.attach"
	OpFSGlob   = "fs.glob"
	OpFSGrep   = "fs.grep"
	OpFSCommit = "fs.commit"

	OpKVGet    = "kv.get"
	OpKVSet    = "kv.set"
	OpKVDelete = "kv.delete"
	OpKVList   = "kv.list"

	OpProcessRun = "process.run"
	OpHTTPFetch  = "http.fetch"

	OpPermissionAsk   = "permission.ask"
	OpPermissionCheck = "permission.check"
	OpQuestionAsk     = "question.ask"

	OpTaskRun     = "task.run"
	OpTodoGet     = "todo.get"
	OpTodoSet     = "todo.set"
	OpSkillList   = "skill.list"
	OpSkillGet    = "skill.get"
	OpSessionInfo = "session.info"
)

// Log is the request of "log". Level is "debug", "info", "warn" or "error".
type Log struct {
	Level   string `json:"level"`   // "debug", "info", "warn" or "error"
	Message string `json:"message"` // one line; cut at 8 KiB
}

// Progress is the request of "progress": a line about a tool call under way.
type Progress struct {
	Text string `json:"text"` // one line; cut at 8 KiB
}

// Batch is the request of "batch": operations that are carried out side by side.
// The order in which they begin is not defined. A batch holds no batch.
type Batch struct {
	Operations []BatchOperation `json:"operations"` // 1 to 100
}

// BatchOperation is one of them. References to bytes in Request count from the
// beginning of the batch's raw bytes.
type BatchOperation struct {
	Operation string          `json:"operation"` // its name
	Request   json.RawMessage `json:"request"`   // its request
}

// BatchOK is its ok: an answer for each operation, in their order. References to
// bytes in an answer count from the beginning of Bytes.
type BatchOK struct {
	Answers []BatchAnswer `json:"answers"` // one for each operation
}

// BatchAnswer is the answer to one operation: exactly one of OK and Error is set.
type BatchAnswer struct {
	OK    json.RawMessage `json:"ok,omitempty"`    // the operation's answer
	Error *Error          `json:"error,omitempty"` // or why there is none
	Bytes *Bytes          `json:"bytes,omitempty"` // its raw bytes; absent when it has none
}

// Blob refers to a large value that the host keeps: {"$blob": SHA-256 in hexadecimal}.
// A guest may use those that it was given in the same call.
type Blob struct {
	Digest string `json:"$blob"` // 64 hexadecimal digits in small letters
}
