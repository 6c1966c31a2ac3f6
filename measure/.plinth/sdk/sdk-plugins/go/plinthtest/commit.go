package plinthtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing/fstest"

	"github.com/plinthhost/plinth/abi/v1"
)

// commit makes changes in a root that is an fstest.MapFS: all of them, or none where one
// cannot be made. Refuse is asked about each path first, so it can change the files
// before they are compared.
func (h *Host) commit(body, raw []byte) (any, []byte, error) {
	var request abi.FSCommit
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, nil, &abi.Error{Kind: abi.KindInvalidInput, Message: err.Error()}
	}
	made := map[string]*fstest.MapFile{} // by name; nil is gone
	var all abi.FSCommitted
	for _, change := range request.Changes {
		changed, err := h.change(request.Root, change, raw, made)
		if err != nil {
			return nil, nil, err
		}
		all.Changes = append(all.Changes, changed)
	}
	tree, _ := h.Roots[rootOf(request.Root)].(fstest.MapFS)
	for name, file := range made {
		if file == nil {
			delete(tree, name)
		} else {
			tree[name] = file
		}
	}
	return all, nil, nil
}

func (h *Host) change(root string, change abi.FSChange, raw []byte, made map[string]*fstest.MapFile) (abi.FSChanged, error) {
	changed := abi.FSChanged{Outcome: "done"}
	tree, name, err := h.find(abi.OpFSCommit, abi.Path{Root: root, Path: change.Path})
	if err != nil {
		return changed, err
	}
	files, ok := tree.(fstest.MapFS)
	if !ok {
		return changed, &abi.Error{Kind: abi.KindDenied, Message: "the test's root " + rootOf(root) + " is no fstest.MapFS, so nothing can be changed in it"}
	}
	changed.Path = name
	before, existed := files[name]
	if err := expected(change, before); err != nil {
		return changed, err
	}
	content := []byte(change.Text)
	if change.Data != nil {
		if content, err = change.Data.Of(raw); err != nil {
			return changed, err
		}
	}
	switch change.Op {
	case "write":
		changed.Existed = existed
		made[name] = written(before, content)
		return changed, nil
	case "rename":
		if _, changed.To, err = h.find(abi.OpFSCommit, abi.Path{Root: root, Path: change.To}); err != nil {
			return changed, err
		}
		if _, there := files[changed.To]; there {
			return changed, &abi.Error{Kind: abi.KindConflict, Message: change.To + ": there is a file already"}
		}
		if change.Data == nil && change.Text == "" {
			content = before.Data
		}
		made[changed.To] = written(before, content)
	}
	made[name] = nil
	return changed, nil
}

// expected refuses a change of a file that is not what is expected.
func expected(change abi.FSChange, before *fstest.MapFile) error {
	switch {
	case before == nil && change.Op != "write":
		return &abi.Error{Kind: abi.KindNotFound, Message: change.Path + ": no such file or directory"}
	case before == nil && change.Expect != "" && change.Expect != "absent":
		return &abi.Error{Kind: abi.KindConflict, Message: change.Path + ": it is not there any more"}
	case before != nil && change.Expect == "absent":
		return &abi.Error{Kind: abi.KindConflict, Message: change.Path + ": it is there already"}
	case before != nil && change.Expect != "" && change.Expect != digest(before.Data):
		return &abi.Error{Kind: abi.KindConflict, Message: change.Path + ": its content is not what was expected; read it again"}
	}
	return nil
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// written is a file with a content, which keeps the mode of the one before.
func written(before *fstest.MapFile, content []byte) *fstest.MapFile {
	file := &fstest.MapFile{Data: append([]byte(nil), content...), Mode: 0o644}
	if before != nil {
		file.Mode = before.Mode
	}
	return file
}

func rootOf(root string) string {
	if root == "" {
		return "location"
	}
	return root
}
