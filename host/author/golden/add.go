package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/plugin"
)

// Encode writes JSON for people, as it stands in a golden's files.
func Encode(value any) ([]byte, error) {
	var compact, text bytes.Buffer
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	if err := json.Indent(&text, compact.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// Add writes a golden's files, by name below a plugin's folder, which root is and where
// names, and its table at the end of the manifest: all of it, or nothing. What is there
// already is an error.
func Add(root *os.Root, where string, declared abi.ManifestGolden, files map[string][]byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the golden into %s: %w", where, err)
		}
	}()
	info, err := root.Stat(plugin.ManifestName)
	if err != nil {
		return err
	}
	manifest, err := root.ReadFile(plugin.ManifestName)
	if err != nil {
		return err
	}
	var made []string
	defer func() {
		if err == nil {
			return
		}
		for _, name := range made {
			err = errors.Join(err, root.Remove(name))
		}
	}()
	for name, content := range files {
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		made = append(made, name)
		_, err = file.Write(content)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	next := withTable(manifest, declared)
	if _, err := plugin.DecodeManifest(filepath.Join(where, plugin.ManifestName), next, root.FS()); err != nil {
		return fmt.Errorf("the manifest cannot take one more [[golden]]: %w", err)
	}
	const temporary = ".plugin.toml.tmp"
	if err := root.WriteFile(temporary, next, info.Mode().Perm()); err != nil {
		return err
	}
	if err := root.Rename(temporary, plugin.ManifestName); err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

// withTable adds a table at the end; all else stays byte for byte.
func withTable(manifest []byte, declared abi.ManifestGolden) []byte {
	next := bytes.Clone(manifest)
	if len(next) > 0 && next[len(next)-1] != '\n' {
		next = append(next, '\n')
	}
	return fmt.Appendf(next, "\n[[golden]]\nexport = %q\ninput = %q\noutput = %q\n", declared.Export, declared.Input, declared.Output)
}
