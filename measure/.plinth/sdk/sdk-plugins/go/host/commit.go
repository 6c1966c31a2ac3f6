package host

import "github.com/plinthhost/plinth/abi/v1"

// Change is one change of a Commit.
type Change struct {
	abi.FSChange
	// Content is what a write puts into the file, or a rename that changes it; nil for
	// Text.
	Content []byte
}

// Write puts content into a file, which may be there or not. Set Expect for more
// care.
func Write(path string, content []byte) Change {
	return Change{abi.FSChange{Op: "write", Path: path}, content}
}

// Remove removes a file.
func Remove(path string) Change { return Change{FSChange: abi.FSChange{Op: "remove", Path: path}} }

// Rename gives a file another path, where nothing may be. Set Content to change the
// file too.
func Rename(path, to string) Change {
	return Change{FSChange: abi.FSChange{Op: "rename", Path: path, To: to}}
}

// Commit makes changes below a root, "location" when empty, under one permission.
// What became of each is in the answer, also when some failed.
func Commit(root string, changes ...Change) (abi.FSCommitted, error) {
	request := abi.FSCommit{Root: root, Changes: make([]abi.FSChange, len(changes))}
	var contents [][]byte
	at := 0
	for i, change := range changes {
		request.Changes[i] = change.FSChange
		if change.Content != nil {
			request.Changes[i].Data = &abi.Bytes{Offset: at, Length: len(change.Content)}
			contents, at = append(contents, change.Content), at+len(change.Content)
		}
	}
	committed, _, err := Call[abi.FSCommit, abi.FSCommitted](abi.OpFSCommit, request, contents...)
	return committed, err
}
