// Package scaffold makes the folder of a new plugin: sources, manifest, tests and recorded
// calls of a template, and the SDK beside them in .plinth, so that nothing has to be
// published or fetched from Plinth. The templates are plugins of this repository, in
// plugins/templates, under a name that is put in the place of theirs.
package scaffold

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Kinds are what a plugin can be made to offer.
func Kinds() []string { return []string{"tool", "context", "provider", "transform"} }

// Languages are what a plugin can be written in.
func Languages() []string { return []string{"rust", "tinygo", "go", "assemblyscript"} }

// A Plugin is one to be made.
type Plugin struct {
	Language string // of Languages
	Kind     string // of Kinds
	ID       string // OWNER/NAME, as PluginID answers it
	Version  string // of the program, which is noted with the SDK
}

// What stands in the templates for the plugin's name. A crate is called by it with an
// underscore in the place of each hyphen.
const (
	templateID    = "example/new-plugin"
	templateName  = "new-plugin"
	templateCrate = "new_plugin"
)

// The templates' way to the SDK, and that of a plugin made of them.
const (
	tree      = "../../.."
	sdkFolder = ".plinth/sdk"
)

// The commands by which a template for TinyGo is built, and by which the Go toolchain
// builds the same sources.
const (
	buildTinyGo = "tinygo build -target=wasip1 -buildmode=c-shared -no-debug -opt=z "
	buildGo     = "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags=-w "
)

// Files answers what the plugin's folder is to hold, by names relative to it.
func Files(p Plugin) (map[string][]byte, error) {
	family, ok := families()[p.Language]
	if !ok {
		return nil, fmt.Errorf("there is no language %q; use one of %s", p.Language, strings.Join(Languages(), ", "))
	}
	if !slices.Contains(Kinds(), p.Kind) {
		return nil, fmt.Errorf("there is no kind %q; use one of %s", p.Kind, strings.Join(Kinds(), ", "))
	}
	if err := checkName(p.Language, p.ID); err != nil {
		return nil, err
	}
	templates, err := unpack(templatesArchive)
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{}
	for name, text := range templates {
		if inside, ok := strings.CutPrefix(name, family+"-"+p.Kind+"/"); ok {
			content[p.named(inside)] = []byte(p.named(string(text)))
		}
	}
	if len(content) == 0 {
		return nil, fmt.Errorf("there is no template of a %s in %s", p.Kind, p.Language)
	}
	sdk, err := sdkOf(family, p.Version)
	maps.Copy(content, sdk)
	return content, err
}

// families says which SDK and templates a language has: TinyGo and Go share theirs.
func families() map[string]string {
	return map[string]string{"rust": "rust", "tinygo": "go", "go": "go", "assemblyscript": "assemblyscript"}
}

// named is a template's text for the plugin.
func (p Plugin) named(text string) string {
	_, name, _ := strings.Cut(p.ID, "/")
	text = strings.NewReplacer(
		templateID, p.ID, templateName, name, templateCrate, strings.ReplaceAll(name, "-", "_"),
		"github.com/plinthhost/plinth/plugins/templates/go-"+p.Kind, "example.test/"+name,
		tree, "./"+sdkFolder,
	).Replace(text)
	if p.Language == "go" {
		text = strings.ReplaceAll(text, buildTinyGo, buildGo)
	}
	return text
}

// sdkOf answers the files of an SDK in a plugin's folder, and the note of which it is.
func sdkOf(family, version string) (map[string][]byte, error) {
	files, err := unpack(family)
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{}
	for name, text := range files {
		content[path.Join(sdkFolder, name)] = text
	}
	note, err := noteOf(family, version)
	content[noteFile] = note
	return content, err
}

// PluginID is the id that a name on the command line stands for: OWNER/NAME, or NAME with
// the owner example.
func PluginID(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	owner, _, _ := strings.Cut(templateID, "/")
	return owner + "/" + name
}

var errNames = errors.New("a name has lower-case letters, digits and single hyphens, begins with a letter, and has at most 40 characters, like word-count")

// checkName keeps to what a plugin's id, a tool, a provider, a transform and a package of
// the language can all be called.
func checkName(language, id string) error {
	owner, name, _ := strings.Cut(id, "/")
	for _, part := range []string{owner, name} {
		if len(part) == 0 || len(part) > 40 || part[0] < 'a' || part[0] > 'z' || strings.HasSuffix(part, "-") || strings.Contains(part, "--") ||
			strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return fmt.Errorf("%q is no name for a plugin: %w", id, errNames)
		}
	}
	if owner == "core" || owner == "mcp" {
		return fmt.Errorf("%q is no name for a plugin: the owner %s is the host's own; use one of yours", id, owner)
	}
	if language == "rust" && slices.Contains(takenByRust(), name) {
		return fmt.Errorf("%q is no name for a plugin in Rust: a crate cannot be called %s; add a word, like %s-tool", id, name, name)
	}
	return nil
}

// takenByRust are its keywords, its own crates and those that the template depends on.
func takenByRust() []string {
	return strings.Fields(`abstract alloc as async await become box break const continue core crate do dyn else enum extern
		false final fn for gen if impl in let loop macro match mod move mut override plinth priv proc-macro pub ref return
		schemars self serde serde-json static std struct super test trait true try type typeof unsafe unsized use virtual
		where while yield`)
}
