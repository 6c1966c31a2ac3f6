package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write puts files into a folder of their own and answers it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const head = "id = 'a/b'\nversion = '1'\n"

func TestErrorsNameTheirPlace(t *testing.T) {
	for name, c := range map[string]struct{ manifest, says string }{
		"unknown key":  {head + "[[tool]]\nnaem = 't'", "naem"},
		"not TOML":     {head + "id =", "id ="},
		"no id":        {"version = '1'", "id and version"},
		"no file":      {head + "[[tool]]\nname = 't'\n[[tool]]\ninput = 'none.json'", "tool.input: none.json: "},
		"not JSON":     {head + "[config]\nschema = 'plugin.toml'", "config.schema: plugin.toml is not JSON"},
		"broken table": {head + "tool = 3", "tool"},
	} {
		folder := write(t, map[string]string{"plugin.toml": c.manifest, "m.wasm": "\x00asm\x01\x00\x00\x00"})
		err := run(filepath.Join(folder, "plugin.toml"), filepath.Join(folder, "m.wasm"), filepath.Join(folder, "out.wasm"))
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "plugin.toml") {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestRunWritesAPackedModule(t *testing.T) {
	golden := "[dev]\nbuild = 'x'\n[[golden]]\nexport = 'tool'\n"
	folder := write(t, map[string]string{"plugin.toml": head + golden, "m.wasm": "\x00asm\x01\x00\x00\x00", "no.wasm": "no"})
	out := filepath.Join(folder, "out.wasm")
	if err := run(filepath.Join(folder, "plugin.toml"), filepath.Join(folder, "m.wasm"), out); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(out)
	if err != nil || !strings.HasSuffix(string(packed), "version = '1'\n") {
		t.Errorf("%q, %v", packed, err)
	}
	for _, module := range []string{"no.wasm", "none.wasm"} {
		if err := run(filepath.Join(folder, "plugin.toml"), filepath.Join(folder, module), out); err == nil || !strings.Contains(err.Error(), module) {
			t.Errorf("%s: %v", module, err)
		}
	}
}
