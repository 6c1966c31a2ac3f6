package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// write replaces a file below a folder by an answer, indented, in one step. Nothing
// outside of the folder is written, whatever links it has.
func write(folder, name string, answer json.RawMessage) error {
	var text bytes.Buffer
	if err := json.Indent(&text, answer, "", "  "); err != nil {
		return fmt.Errorf("write %s: the answer is not JSON: %w", name, err)
	}
	text.WriteByte('\n')
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := replace(root, name, text.Bytes()); err != nil {
		return fmt.Errorf("write the golden %s in %s: %w", name, folder, err)
	}
	return nil
}

// replace leaves the old content or the new.
func replace(root *os.Root, name string, content []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	temporary := path.Join(path.Dir(name), "."+path.Base(name)+".tmp")
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.WriteFile(temporary, content, 0o644); err != nil {
		return err
	}
	if err := root.Rename(temporary, name); err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}
