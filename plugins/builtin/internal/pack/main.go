// Command pack makes one file of a plugin of this repository, as plinth plugin pack
// does for others: it is needed before there is a plinth, which has these files in it.
// Their goldens stay outside, where tests prove them and no host has to.
//
//	pack -manifest plugin.toml -module guest.wasm -o plugin.wasm
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/plinthhost/plinth/abi/pack"
	"github.com/plinthhost/plinth/abi/v1"
)

func main() {
	manifest := flag.String("manifest", "plugin.toml", "the manifest; schemas are looked for beside it")
	module := flag.String("module", "", "the module as the compiler wrote it")
	output := flag.String("o", "", "the file to write")
	flag.Parse()
	if err := run(*manifest, *module, *output); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(manifestFile, moduleFile, outputFile string) error {
	text, err := os.ReadFile(manifestFile)
	if err != nil {
		return err
	}
	if err := check(text); err != nil {
		return fmt.Errorf("%s: %w", manifestFile, err)
	}
	beside := func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(manifestFile), name)) }
	manifest, err := pack.Inlined(text, beside, "dev", "golden")
	if err != nil {
		return fmt.Errorf("%s: %w", manifestFile, err)
	}
	module, err := os.ReadFile(moduleFile)
	if err != nil {
		return err
	}
	packed, err := pack.WithManifest(module, manifest)
	if err != nil {
		return fmt.Errorf("%s: %w", moduleFile, err)
	}
	return os.WriteFile(outputFile, packed, 0o644)
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
