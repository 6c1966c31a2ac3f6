// Command pack makes one file of a plugin: the module with its manifest inside, and
// in it the JSON Schemas that plugin.toml names by file.
//
//	pack -manifest plugin.toml -module guest.wasm -o plugin.wasm
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/plinthhost/plinth/abi/pack"
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
	manifest, err := inlined(manifestFile)
	if err != nil {
		return err
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
