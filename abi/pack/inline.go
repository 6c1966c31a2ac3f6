package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Inlined answers the text of a plugin.toml as it stands inside a module: with the
// JSON Schemas that it names by file in it, read by this name, and without some of its
// tables. It has the shortest form, so the same input gives the same bytes, and what it
// answers gives itself. Whether the manifest is right is the reader's to check.
func Inlined(text []byte, read func(name string) ([]byte, error), without ...string) ([]byte, error) {
	manifest := map[string]any{}
	if err := toml.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	for _, table := range without {
		delete(manifest, table)
	}
	for table, keys := range map[string][]string{"config": {"schema"}, "tool": {"input", "output"}, "context": {"schema"}} {
		list, ok := manifest[table].([]any)
		if !ok {
			list = []any{manifest[table]}
		}
		for _, entry := range list {
			if fields, ok := entry.(map[string]any); ok {
				if err := inline(table, fields, read, keys); err != nil {
					return nil, err
				}
			}
		}
	}
	return toml.Marshal(manifest)
}

// inline replaces the file names under keys by the schemas they hold.
func inline(table string, fields map[string]any, read func(name string) ([]byte, error), keys []string) error {
	for _, key := range keys {
		value, ok := fields[key].(string)
		if !ok || value == "" {
			continue
		}
		schema := []byte(value)
		if !strings.HasPrefix(strings.TrimSpace(value), "{") {
			content, err := read(value)
			if err != nil {
				return fmt.Errorf("%s.%s: %s: %w", table, key, value, err)
			}
			schema = content
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, schema); err != nil {
			return fmt.Errorf("%s.%s: %.100s is not JSON: %w", table, key, value, err)
		}
		fields[key] = compact.String()
	}
	return nil
}
