package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

// What one source tells at most; what goes beyond is named.
const (
	maxFiles = 32
	maxTotal = 256 << 10 // bytes
)

// gathering collects the files of one source in order.
type gathering struct {
	location abi.Location
	told     map[string]bool // paths that this source or one before it tells
	files    []instruction
	bytes    int
	left     []string // paths of what there was no room for
	more     int      // files that are not even known by name
}

func newGathering(location abi.Location, told map[string]bool) *gathering {
	return &gathering{location: location, told: told}
}

// room reports whether a text of so many bytes can be told, and keeps the path when
// it cannot.
func (g *gathering) room(path string, size int64) bool {
	if len(g.files) < maxFiles && int64(g.bytes)+size <= maxTotal {
		return true
	}
	g.left = append(g.left, path)
	return false
}

func (g *gathering) put(file instruction) {
	g.files = append(g.files, file)
	g.bytes += len(file.text)
}

// wording is what a source says around its files.
type wording struct {
	key     string
	lead    string // before the files; may be empty
	changed string
	removed string
}

var (
	projectWording = wording{key: instructionsKey,
		changed: "The instruction files have changed. These are all that apply now; they supersede every instruction file told earlier.\n\n",
		removed: "The instruction files told earlier no longer apply: none of them is there any more."}
	configuredWording = wording{key: configuredKey,
		changed: "The instruction files that the user's configuration names have changed. These are all of them that apply now; they supersede those told earlier.\n\n",
		removed: "The instruction files that the user's configuration named no longer apply: none of them is there any more."}
	remoteWording = wording{key: remoteKey,
		changed: "The instructions from the web that the user's configuration names have changed. These are all of them that apply now; they supersede those told earlier.\n\n",
		removed: "The instructions from the web that the user's configuration named no longer apply."}
	nestedWording = wording{key: nestedKey,
		lead:    "These instruction files are in folders of files that were read. Each holds for its own folder and what is below.\n\n",
		changed: "The instruction files in folders of files that were read have changed. These are all of them that apply now; they supersede those told earlier.\n\n",
		removed: "The instruction files in folders of files that were read no longer apply: none of them is there any more."}
)

// state is what the source answers of its files; without any it is absent.
func (g *gathering) state(o abi.ContextObserve, w wording) (abi.SourceState, error) {
	files := g.files
	if note := g.note(); note != "" {
		files = append(files, instruction{digest: sha256Hex(note), text: note})
	}
	if len(files) == 0 {
		return source.Absent(w.key), nil
	}
	texts := source.Texts{Baseline: w.lead + render(files), Removed: w.removed}
	if previous, ok := readValue(o.Previous[w.key]); ok && !slices.EqualFunc(previous, files, same) {
		texts.Update = w.changed + texts.Baseline
	}
	return source.Value(w.key, value(files), texts)
}

// maxNamed is how many files are named that there was no room for.
const maxNamed = 20

// note names what there was no room for, "" when there was room for all.
func (g *gathering) note() string {
	if len(g.left)+g.more == 0 {
		return ""
	}
	named := g.left[:min(len(g.left), maxNamed)]
	text := fmt.Sprintf("(%d more instruction files are left out: at most %d files of %d bytes together are told here.", len(g.left)+g.more, maxFiles, maxTotal)
	if len(named) > 0 {
		text += " Read them with a tool where they matter: " + strings.Join(named, ", ")
		if len(named) < len(g.left)+g.more {
			text += ", …"
		}
	}
	return text + ")"
}

func render(files []instruction) string {
	texts := make([]string, len(files))
	for i, file := range files {
		texts[i] = file.text
		if file.path != "" {
			texts[i] = "Instructions from: " + file.path + "\n" + file.text
		}
	}
	return strings.Join(texts, "\n\n")
}
