package lock

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Error is a file that was refused.
type Error struct {
	File string
	Line int    // 0 when it concerns the whole file
	Key  string // for example "plugin.digest"
	Text string // what is wrong and what to do
	Err  error  // what is behind it, or nil
}

func (e *Error) Error() string {
	text := e.File
	if e.Line > 0 {
		text += fmt.Sprintf(":%d", e.Line)
	}
	if e.Key != "" {
		text += ": " + e.Key
	}
	return text + ": " + e.Text
}

func (e *Error) Unwrap() error { return e.Err }

// Decode reads the text of a file strictly and checks every field. Errors are of type
// *Error and name the file.
func Decode(file string, text []byte) (File, error) {
	var decoded File
	if len(text) > MaxBytes {
		return File{}, tooLarge(file, int64(len(text)))
	}
	decoder := toml.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&decoded); err != nil {
		return File{}, decodeError(file, err)
	}
	c := checker{file: file, lines: linesOf(text)}
	if err := c.check(decoded); err != nil {
		return File{}, err
	}
	return decoded, nil
}

func decodeError(file string, err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return &Error{File: file, Line: line, Key: strings.Join(unknown.Errors[0].Key(), "."),
			Text: "there is no such key; a plugin has id, version, digest, source, grants and location", Err: err}
	}
	if malformed, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := malformed.Position()
		text := strings.TrimPrefix(malformed.Error(), "toml: ")
		if strings.HasPrefix(text, "cannot decode TOML ") {
			text = "it has the wrong type; grants are a list of strings, the rest are strings"
		}
		return &Error{File: file, Line: line, Key: strings.Join(malformed.Key(), "."), Text: text, Err: err}
	}
	return &Error{File: file, Text: err.Error(), Err: err}
}

// place is a key of a plugin, counted from 0; of the whole file with -1, of a plugin
// itself without a key.
type place struct {
	plugin int
	key    string
}

// linesOf tells where keys stand, counted from 1.
func linesOf(text []byte) map[place]int {
	lines, at := map[place]int{}, -1
	parser := unstable.Parser{}
	parser.Reset(text)
	for parser.NextExpression() {
		expression := parser.Expression()
		key := expression.Key()
		if !key.Next() {
			continue
		}
		line := parser.Shape(key.Node().Raw).Start.Line
		if expression.Kind == unstable.ArrayTable {
			at++
			lines[place{at, ""}] = line
			continue
		}
		lines[place{at, string(key.Node().Data)}] = line
	}
	return lines
}

var (
	idPattern     = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$`)
	digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

type checker struct {
	file  string
	lines map[place]int
}

func (c checker) fail(plugin int, key, format string, args ...any) error {
	line, name := c.lines[place{plugin, key}], key
	if line == 0 {
		line = c.lines[place{plugin, ""}]
	}
	if plugin >= 0 {
		name = strings.TrimSuffix("plugin."+key, ".")
	}
	return &Error{File: c.file, Line: line, Key: name, Text: fmt.Sprintf(format, args...)}
}

func (c checker) check(f File) error {
	switch {
	case f.Schema == 0 && c.lines[place{-1, "schema"}] == 0:
		return c.fail(-1, "schema", "it is missing; a list begins with schema = %d", schema)
	case f.Schema != schema:
		return c.fail(-1, "schema", "it is %d; this program knows schema %d", f.Schema, schema)
	case len(f.Plugins) > MaxPlugins:
		return c.fail(-1, "", "it has %d plugins, the limit is %d", len(f.Plugins), MaxPlugins)
	}
	seen := map[scope]bool{}
	for i, entry := range f.Plugins {
		if err := c.entry(i, entry); err != nil {
			return err
		}
		if seen[entry.scope()] {
			return c.fail(i, "id", "%s is there twice for this location; leave one", entry.ID)
		}
		seen[entry.scope()] = true
	}
	return nil
}

func (c checker) entry(i int, entry Entry) error {
	switch {
	case entry.ID == "":
		return c.fail(i, "id", "it is missing; a plugin is named owner/name")
	case !idPattern.MatchString(entry.ID):
		return c.fail(i, "id", "%.100q is not owner/name in lower-case letters, digits and hyphens", entry.ID)
	case strings.HasPrefix(entry.ID, "core/"):
		return c.fail(i, "id", "%s is a builtin, which every host has; take it out", entry.ID)
	case entry.Version == "":
		return c.fail(i, "version", "it is missing; it is for people, as plinth plugin inspect shows it")
	case !digestPattern.MatchString(entry.Digest):
		return c.fail(i, "digest", "%.100q is not a SHA-256 in 64 lower-case hexadecimal digits; plinth plugin inspect shows it", entry.Digest)
	case entry.Location != "" && !(filepath.IsAbs(entry.Location) && filepath.Clean(entry.Location) == entry.Location):
		return c.fail(i, "location", "%.100q is not the absolute path of a project's root; leave it out for all projects", entry.Location)
	case len(entry.Grants) > maxGrants:
		return c.fail(i, "grants", "it has %d keys, the limit is %d", len(entry.Grants), maxGrants)
	}
	if err := checkSource(entry.Source); err != nil {
		return c.fail(i, "source", "%v", err)
	}
	seen := map[string]bool{}
	for _, key := range entry.Grants {
		if key == "" || seen[key] {
			return c.fail(i, "grants", "%.100q is there twice, or is empty; each is the key of a request, as plinth plugin inspect shows it", key)
		}
		seen[key] = true
	}
	return nil
}

// checkSource demands an absolute path, one below the home folder, or an https address.
func checkSource(source string) error {
	const forms = "give an absolute path, one that begins with ~/, or an https address"
	switch scheme, _, isURL := strings.Cut(source, "://"); {
	case source == "":
		return errors.New("it is missing; " + forms)
	case strings.ContainsFunc(source, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%.100q has control characters; %s", source, forms)
	case isURL && !strings.ContainsAny(scheme, "/~"):
		address, err := url.Parse(source)
		if err != nil || address.Scheme != "https" || address.Host == "" || address.User != nil {
			return fmt.Errorf("%.100q is not an https address without a user; %s", source, forms)
		}
	case !filepath.IsAbs(source) && !strings.HasPrefix(source, "~/"):
		return fmt.Errorf("%.100q depends on the folder that plinth runs in; %s", source, forms)
	}
	return nil
}

// IsURL reports whether the source is an address, not a path.
func (e Entry) IsURL() bool { return strings.HasPrefix(e.Source, "https://") }

// Path is the source's absolute path, below home where it begins with ~/.
func (e Entry) Path(home string) string {
	if below, ok := strings.CutPrefix(e.Source, "~/"); ok {
		return filepath.Join(home, below)
	}
	return filepath.Clean(e.Source)
}
