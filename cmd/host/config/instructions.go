package config

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plinthhost/plinth/host/egress"
)

// Instructions are files and addresses whose texts instruct the model in every session.
type Instructions struct {
	// Files are paths or patterns, absolute or relative to the root of each project, in
	// order; none.
	Files []string
	// URLs in order; none.
	URLs []string
}

// instructionsTable is [instructions] as it is written.
type instructionsTable struct {
	Files []string `toml:"files"`
	URLs  []string `toml:"urls"`
}

// What [instructions] may name. The pages of all addresses fit into a plugin's store.
const (
	maxInstructionFiles = 64
	maxInstructionURLs  = 8
	maxInstructionPath  = 1024 // bytes
)

// instructionsPlugin tells them.
const instructionsPlugin = "core/environment"

// checkInstructions checks what is named and brings it into its canonical form.
func (l *loader) checkInstructions() {
	files, urls := join("instructions", "files"), join("instructions", "urls")
	if n := len(l.config.Instructions.Files); n > maxInstructionFiles {
		l.problem(files, nil, "has %d elements; the most is %d: use patterns", n, maxInstructionFiles)
	}
	if n := len(l.config.Instructions.URLs); n > maxInstructionURLs {
		l.problem(urls, nil, "has %d elements; the most is %d", n, maxInstructionURLs)
	}
	for i, file := range l.config.Instructions.Files {
		l.config.Instructions.Files[i] = l.instructionFile(join(files, strconv.Itoa(i)), file)
	}
	for i, url := range l.config.Instructions.URLs {
		target, err := egress.ParseURL(url)
		if err != nil {
			l.problem(join(urls, strconv.Itoa(i)), nil, "%v", err) // it may hold a password
			continue
		}
		l.config.Instructions.URLs[i] = target.String()
	}
	if l.config.Plugins.Settings[instructionsPlugin].Config != nil {
		l.problem(join("plugins", instructionsPlugin, "config"), nil, "this plugin is configured by [instructions] and project_config; remove it")
	}
}

func (l *loader) instructionFile(key, text string) string {
	name := text
	if rest, ok := strings.CutPrefix(text, "~/"); ok && l.home != "" {
		name = strings.TrimSuffix(l.home, "/") + "/" + rest
	}
	cleaned := path.Clean(name)
	switch {
	case text == "":
		l.problem(key, text, `must be a path or a pattern, like "docs/rules/*.md"`)
	case len(name) > maxInstructionPath:
		l.problem(key, clipped(text), "has %d bytes; the most is %d", len(name), maxInstructionPath)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		l.problem(key, text, "must be UTF-8 without NUL")
	case strings.HasSuffix(name, "/"):
		l.problem(key, text, "is a folder; name files in it, like %q", text+"*.md")
	case strings.HasPrefix(name, "~"):
		l.problem(key, text, "must be absolute, begin with ~/, or be relative to the project's root")
	case strings.Contains(name, `\`) || !doublestar.ValidatePattern(name):
		l.problem(key, text, "is no pattern: it has a backslash, or a bracket or brace that is not closed")
	case strings.Count(name, "{") > 1 || strings.Count(name, ",") > 15:
		l.problem(key, text, "has more than one pair of braces, or more than 15 commas; name several patterns")
	case cleaned == ".." || strings.HasPrefix(cleaned, "../"):
		l.problem(key, text, "leads out of the project; give an absolute path, or one that begins with ~/")
	}
	return cleaned
}

// clipped shortens what is too long to be told.
func clipped(text string) string { return strings.ToValidUTF8(text[:32], "") + "…" }

// projectConfig takes over what PLINTH_DISABLE_PROJECT_CONFIG says.
func (l *loader) projectConfig(text string) {
	switch text {
	case "1", "true":
		l.config.ProjectConfig = false
	case "0", "false":
		l.config.ProjectConfig = true
	default:
		l.problem("project_config", text, "must be 1 or 0")
	}
}
