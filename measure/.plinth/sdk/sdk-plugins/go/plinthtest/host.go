package plinthtest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// Host answers operations from memory.
type Host struct {
	// Roots holds the files of "location", "project", "config" and "operator", whose
	// paths are absolute for the plugin and without the first slash here. What fs.commit
	// changes must be an fstest.MapFS.
	Roots map[string]fs.FS
	// Location is the absolute path of root "location": a path below it is
	// understood too.
	Location string
	// Canonical says what a path that leads through links is, within its root.
	Canonical func(root, name string) string
	// LateEOF has fs.read tell the end only to who asks beyond it, as a host may that
	// reads no more than it was asked for.
	LateEOF bool
	// Operations answers by name what this host has nothing for, or in the place of
	// what it has. Raw are the bytes behind the request.
	Operations map[string]Operation
	// Refuse may answer an operation with an error before it is looked at.
	Refuse func(operation string, path abi.Path) error

	// Asked lists the operations with their paths: "fs.stat location:a.txt".
	Asked []string
	// ReadBytes counts the bytes that fs.read has answered.
	ReadBytes int64
	// Lines holds what was logged and shown: "info: text", "progress: text".
	Lines []string
	// Values is the plugin's store, by scope, ":" and key: "global:last".
	Values map[string]abi.KVValue
	// Blobs holds what fs.attach kept, by digest.
	Blobs map[string][]byte
}

// Operation answers one operation: its ok with the bytes behind it, or an error.
type Operation func(request json.RawMessage, raw []byte) (ok any, answered []byte, err error)

// Serve makes h the host of the plugin until the test ends.
func (h *Host) Serve(t testing.TB) {
	before := guest.SetOperations(func(operation string, request []byte) []byte {
		body, raw, err := abi.DecodeMessage(request)
		if err != nil {
			return guest.Fail(err)
		}
		ok, answered, err := h.answer(operation, body, raw)
		return guest.Answer(ok, answered, err)
	})
	t.Cleanup(func() { guest.SetOperations(before) })
}

func (h *Host) answer(operation string, body, raw []byte) (ok any, answered []byte, err error) {
	if answer, ok := h.Operations[operation]; ok {
		return answer(body, raw)
	}
	switch group, _, _ := strings.Cut(operation, "."); group {
	case "fs":
		if operation == abi.OpFSCommit {
			return h.commit(body, raw)
		}
		return h.file(operation, body)
	case "kv":
		ok, err := h.value(operation, body)
		return ok, nil, err
	case abi.OpBatch:
		return h.batch(body, raw)
	case abi.OpLog:
		var line abi.Log
		err := json.Unmarshal(body, &line)
		h.Lines = append(h.Lines, line.Level+": "+line.Message)
		return abi.None{}, nil, err
	case abi.OpProgress:
		var line abi.Progress
		err := json.Unmarshal(body, &line)
		h.Lines = append(h.Lines, "progress: "+line.Text)
		return abi.None{}, nil, err
	}
	return nil, nil, missing(operation)
}

func missing(operation string) error {
	return &abi.Error{Kind: abi.KindUnavailable, Message: "the test's host has no operation " + operation}
}

func (h *Host) file(operation string, body []byte) (ok any, raw []byte, err error) {
	switch operation {
	case abi.OpFSStat:
		var request abi.FSStat
		return answerPath(h, operation, body, &request, &request.Path, func(tree fs.FS, name string) (any, []byte, error) {
			info, err := describe(tree, name)
			return info, nil, err
		})
	case abi.OpFSList:
		var request abi.FSList
		return answerPath(h, operation, body, &request, &request.Path, func(tree fs.FS, name string) (any, []byte, error) {
			listed, err := list(tree, name, request)
			return listed, nil, err
		})
	case abi.OpFSRead:
		var request abi.FSRead
		return answerPath(h, operation, body, &request, &request.Path, func(tree fs.FS, name string) (any, []byte, error) {
			answer, data, err := read(tree, name, request)
			answer.EOF = answer.EOF && (!h.LateEOF || int64(len(data)) < request.Length)
			h.ReadBytes += int64(len(data))
			return answer, data, err
		})
	case abi.OpFSAttach:
		var request abi.FSAttach
		return answerPath(h, operation, body, &request, &request.Path, func(tree fs.FS, name string) (any, []byte, error) {
			attached, err := h.attach(tree, name)
			return attached, nil, err
		})
	}
	return nil, nil, missing(operation)
}

func answerPath(h *Host, operation string, body []byte, request any, at *abi.Path, answer func(fs.FS, string) (any, []byte, error)) (any, []byte, error) {
	if err := json.Unmarshal(body, request); err != nil {
		return nil, nil, &abi.Error{Kind: abi.KindInvalidInput, Message: err.Error()}
	}
	tree, name, err := h.find(operation, *at)
	if err != nil {
		return nil, nil, err
	}
	return answer(tree, name)
}

// find answers a root and the name in it that a path leads to.
func (h *Host) find(operation string, at abi.Path) (tree fs.FS, name string, err error) {
	root := rootOf(at.Root)
	h.Asked = append(h.Asked, operation+" "+root+":"+at.Path)
	if h.Refuse != nil {
		if err := h.Refuse(operation, at); err != nil {
			return nil, "", err
		}
	}
	tree, ok := h.Roots[root]
	if !ok {
		return nil, "", &abi.Error{Kind: abi.KindNotFound, Message: "there is no root " + root}
	}
	name = at.Path
	if inside, ok := strings.CutPrefix(name, h.Location+"/"); ok && h.Location != "" {
		name = inside
	}
	if root == "operator" {
		name = strings.TrimPrefix(name, "/")
	}
	if name = path.Clean(name); !fs.ValidPath(name) {
		return nil, "", &abi.Error{Kind: abi.KindDenied, Message: at.Path + " is outside of " + root}
	}
	if h.Canonical != nil {
		name = h.Canonical(root, name)
	}
	return tree, name, nil
}

func describe(tree fs.FS, name string) (abi.FileInfo, error) {
	info, err := fs.Stat(tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return abi.FileInfo{}, &abi.Error{Kind: abi.KindNotFound, Message: name + ": no such file or directory"}
	} else if err != nil {
		return abi.FileInfo{}, err
	}
	kind := abi.FileRegular
	if info.IsDir() {
		kind = abi.FileDirectory
	}
	return abi.FileInfo{Path: name, Name: info.Name(), Kind: kind, Size: info.Size(), ModifiedMS: info.ModTime().UnixMilli()}, nil
}

// maxEntries is the host's limit of a page of fs.list, maxRange of fs.read.
const (
	maxEntries = 2000
	maxRange   = 1 << 20
)

func list(tree fs.FS, name string, request abi.FSList) (abi.FSListed, error) {
	children, err := fs.ReadDir(tree, name)
	if err != nil {
		return abi.FSListed{}, err
	}
	slices.SortStableFunc(children, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name(), b.Name())
	})
	limit := request.Limit
	if limit == 0 || limit > maxEntries {
		limit = maxEntries
	}
	from := min(request.Offset, len(children))
	to := min(from+limit, len(children))
	listed := abi.FSListed{Path: name, Entries: []abi.FileInfo{}}
	for _, child := range children[from:to] {
		info, err := describe(tree, path.Join(name, child.Name()))
		if err != nil {
			return abi.FSListed{}, err
		}
		listed.Entries = append(listed.Entries, info)
	}
	if to < len(children) {
		listed.Next = to
	}
	return listed, nil
}

func read(tree fs.FS, name string, request abi.FSRead) (abi.FSReadOK, []byte, error) {
	info, err := describe(tree, name)
	if err != nil {
		return abi.FSReadOK{}, nil, err
	}
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return abi.FSReadOK{}, nil, err
	}
	length := request.Length
	if length == 0 || length > maxRange {
		length = maxRange
	}
	from := min(request.Offset, int64(len(data)))
	to := min(from+length, int64(len(data)))
	data = data[from:to]
	return abi.FSReadOK{Info: info, Data: abi.Bytes{Length: len(data)}, EOF: to == info.Size}, data, nil
}
