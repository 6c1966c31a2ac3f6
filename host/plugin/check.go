package plugin

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/session/schema"
)

var (
	idPattern      = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$`)
	versionPattern = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	toolPattern    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	keyPattern     = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._/-]*$`)
	namePattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
)

// Limits of what a manifest may ask for.
const (
	maxTimeoutMS = 24 * 60 * 60 * 1000
	maxIDBytes   = 128
	// maxVersionBytes bounds what lists and events show of each version.
	maxVersionBytes = 64
)

// checker holds a decoded manifest to the rules of the contract. What it names are
// paths like "tool[1].name".
type checker struct {
	file   string
	lines  lines
	beside fs.FS
}

func (c *checker) check(m *abi.Manifest) error {
	for _, check := range []func(*abi.Manifest) error{
		c.head, c.tools, c.contexts, c.providers, c.transforms, c.requests, c.limits, c.goldens, c.dev,
	} {
		if err := check(m); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) fail(path, format string, args ...any) error {
	return &ManifestError{File: c.file, Line: c.lines.of(path), Key: withoutIndexes(path), Text: fmt.Sprintf(format, args...)}
}

// head checks what every plugin says of itself.
func (c *checker) head(m *abi.Manifest) error {
	switch {
	case m.Schema == 0 && c.lines["schema"] == 0:
		return c.fail("schema", "it is missing; a manifest begins with schema = 1")
	case m.Schema != 1:
		return c.fail("schema", "it is %d; this program knows schema 1", m.Schema)
	case m.ID == "":
		return c.fail("id", "it is missing; a plugin is named owner/name")
	case !idPattern.MatchString(m.ID):
		return c.fail("id", "%q is not owner/name in lower-case letters, digits and hyphens", m.ID)
	case len(m.ID) > maxIDBytes:
		return c.fail("id", "it has %d bytes, the limit is %d", len(m.ID), maxIDBytes)
	case !versionPattern.MatchString(m.Version):
		return c.fail("version", "%q is not a version like 1.2.0", m.Version)
	case len(m.Version) > maxVersionBytes:
		return c.fail("version", "it has %d bytes, the limit is %d", len(m.Version), maxVersionBytes)
	case strings.TrimSpace(m.Description) == "":
		return c.fail("description", "it is missing; say in one line what the plugin does")
	case len(m.Tools)+len(m.Contexts)+len(m.Providers)+len(m.Transforms) == 0:
		return c.fail("", "it offers nothing; declare a [[tool]], [[context]], [[provider]] or [[transform]]")
	}
	for _, operation := range m.Requires {
		if !slices.Contains(bridge.Offered(), operation) {
			return c.fail("requires", "this host has no operation %q; it has %s", operation, strings.Join(bridge.Offered(), ", "))
		}
	}
	return nil
}

// unique keeps a name from being declared a second time.
func (c *checker) unique(path string, seen map[string]bool, name string) error {
	if seen[name] {
		return c.fail(path, "%q is declared twice", name)
	}
	seen[name] = true
	return nil
}

// oneOf keeps a text to a closed set.
func (c *checker) oneOf(path, text string, set ...string) error {
	if !slices.Contains(set, text) {
		return c.fail(path, "%q is not one of %s", text, strings.Join(set, ", "))
	}
	return nil
}

// schema replaces the name of a file by its content and proves that it compiles.
// What is the owner in errors, for example "the tool read".
func (c *checker) schema(path, owner string, text *string) error {
	if *text == "" {
		return nil
	}
	name := *text
	if !strings.HasPrefix(strings.TrimSpace(name), "{") {
		if c.beside == nil || !fs.ValidPath(name) {
			return c.fail(path, "%q is neither a JSON Schema nor a file beside the manifest", clip(name))
		}
		content, err := readFile(c.beside, name, MaxManifestBytes)
		if err != nil {
			return c.fail(path, "the schema %s of %s cannot be read: %v; write it beside the manifest", name, owner, err)
		}
		*text = string(content)
		if _, err := schema.Compile(content); err != nil {
			return c.fail(path, "%s is no valid JSON Schema for %s: %v", name, owner, err)
		}
		return nil
	}
	if _, err := schema.Compile([]byte(*text)); err != nil {
		return c.fail(path, "%s has no valid JSON Schema here: %v", owner, err)
	}
	return nil
}

func (c *checker) limits(m *abi.Manifest) error {
	for _, limit := range limits() {
		if value := *limit.of(&m.Limits); value < 0 || value > limit.most {
			return c.fail("limits."+limit.key, "it is %d; it must be from 1 to %d, or 0 for the default", value, limit.most)
		}
	}
	if m.Isolation.Mode != "" {
		if err := c.oneOf("isolation.mode", m.Isolation.Mode, "restore", "fresh", "sticky"); err != nil {
			return err
		}
	}
	switch {
	case m.Config == nil:
		return nil
	case m.Config.Schema == "":
		return c.fail("config.schema", "it is missing; describe the plugin's settings by a JSON Schema")
	}
	return c.schema("config.schema", "the plugin", &m.Config.Schema)
}

// maxWatched bounds how many patterns are watched.
const maxWatched = 100

// dev checks what is the author's.
func (c *checker) dev(m *abi.Manifest) error {
	if m.Dev == nil {
		return nil
	}
	if n := len(m.Dev.Watch); n > maxWatched {
		return c.fail("dev.watch", "it has %d patterns, the limit is %d; ** stands for any folders", n, maxWatched)
	}
	for _, pattern := range m.Dev.Watch {
		if pattern == "" || path.IsAbs(pattern) || !doublestar.ValidatePattern(pattern) || slices.Contains(strings.Split(pattern, "/"), "..") {
			return c.fail("dev.watch", `%q is not a pattern of files in the plugin's folder, like "*.go" or "src/**"`, clip(pattern))
		}
	}
	return nil
}

// clip shortens what an author wrote in place of something short.
func clip(text string) string {
	const most = 100
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
