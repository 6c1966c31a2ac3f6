package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/plugin"
)

// Names of the commands in a manifest.
const (
	KeyBuild = "dev.build"
	KeyTest  = "dev.test"
)

// ErrNoCommand is a manifest without the command that is wanted.
var ErrNoCommand = errors.New("the manifest has no such command")

// Result is what a build left.
type Result struct {
	Took time.Duration // of the command
	// Candidate is the packed plugin. Where goldens are still to be recorded it is no
	// whole one: Missing are their output files, as the manifest names them.
	Candidate plugin.Candidate
	Missing   []string
	Report    plugin.Report
}

// Run builds the plugin in a folder, whose manifest is given, by its dev.build, and looks
// at the module that is there then. The compiler's output goes to output as it is. Errors
// are a *CommandError, ErrNoCommand, those of Look, or why ctx ended.
func Run(ctx context.Context, folder string, manifest abi.Manifest, output io.Writer) (Result, error) {
	if manifest.Dev == nil || manifest.Dev.Build == "" {
		return Result{}, fmt.Errorf("%s: %s: %w; add build = \"…\" to [dev], a command that leaves the module beside it",
			filepath.Join(folder, plugin.ManifestName), KeyBuild, ErrNoCommand)
	}
	began := time.Now()
	if err := Command(ctx, folder, KeyBuild, manifest.Dev.Build, nil, output); err != nil {
		return Result{}, err
	}
	took := time.Since(began)
	result, err := Look(folder)
	result.Took = took
	return result, err
}

// Look packs what is in a plugin's folder and holds the module to its manifest: there is
// exactly one, and it exports and imports what it must. Errors are of type
// *plugin.ManifestError, *plugin.SourceError, *plugin.GoldenError or *wasm.AdmissionError.
func Look(folder string) (result Result, err error) {
	if result.Candidate, result.Missing, err = plugin.Draft(folder); err != nil {
		return result, err
	}
	result.Report, err = plugin.Examine(result.Candidate)
	return result, err
}
