package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plinthhost/plinth/abi/v1"
)

// inlined answers the manifest of a file with its schemas inside. What only serves
// who builds the plugin, its dev table and its goldens, stays out: they name files
// that a packed plugin does not have. The same input gives the same bytes.
func inlined(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := check(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	manifest := map[string]any{}
	if err := toml.Unmarshal(text, &manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	delete(manifest, "dev")
	delete(manifest, "golden")
	if err := inlineAll(manifest, filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return toml.Marshal(manifest)
}

// check decodes strictly, so that a misspelt key is found here and not by the host.
func check(text []byte) error {
	var manifest abi.Manifest
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&manifest)
	var unknown *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		return errors.New(unknown.String())
	case errors.As(err, &bad):
		return errors.New(bad.String())
	case err != nil:
		return err
	case manifest.ID == "" || manifest.Version == "":
		return errors.New("id and version must be set")
	}
	return nil
}

func inlineAll(manifest map[string]any, folder string) error {
	if config, ok := manifest["config"].(map[string]any); ok {
		if err := inline(config, folder, "schema"); err != nil {
			return fmt.Errorf("[config] %w", err)
		}
	}
	for table, keys := range map[string][]string{"tool": {"input", "output"}, "context": {"schema"}} {
		list, _ := manifest[table].([]any)
		for i, entry := range list {
			entry, ok := entry.(map[string]any)
			if !ok {
				continue
			}
			if err := inline(entry, folder, keys...); err != nil {
				return fmt.Errorf("[[%s]] %d: %w", table, i+1, err)
			}
		}
	}
	return nil
}

// inline replaces the file names under keys by the schemas they hold.
func inline(table map[string]any, folder string, keys ...string) error {
	for _, key := range keys {
		value, ok := table[key].(string)
		if !ok || value == "" {
			continue
		}
		schema := []byte(value)
		if !strings.HasPrefix(strings.TrimSpace(value), "{") {
			read, err := os.ReadFile(filepath.Join(folder, value))
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			schema = read
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, schema); err != nil {
			return fmt.Errorf("%s: %s is not JSON: %w", key, value, err)
		}
		table[key] = compact.String()
	}
	return nil
}
