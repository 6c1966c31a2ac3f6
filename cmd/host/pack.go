package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/host/plugin"
)

// packedPlugin is what plinth plugin pack made.
type packedPlugin struct {
	File    string `json:"file"`
	ID      string `json:"id"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Bytes   int    `json:"bytes"`
}

func (c *cli) packCommand() *cobra.Command {
	var output string
	var asJSON bool
	command := &cobra.Command{
		Use:   "pack FOLDER",
		Short: "Make one file of a plugin's folder",
		Long: `Make one file of a plugin's folder: its module, with the manifest, the schemas and the
goldens in it. The same folder gives the same bytes, and their SHA-256 is what a host
calls the plugin by. What only its author needs, [dev], stays out.`,
		Example: `  plinth plugin pack ./weather -o weather-1.2.0.wasm`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			made, err := packInto(args[0], output)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(made)
			}
			_, err = fmt.Fprintf(c.out, "%s  %s %s  %d bytes  sha256 %s\n", plain(made.File), made.ID, made.Version, made.Bytes, made.Digest)
			return err
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "", "file to write (default: the plugin's name and .wasm, in this folder)")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// packInto packs a folder into a file; without one, into one of the plugin's name here.
func packInto(folder, file string) (packedPlugin, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return packedPlugin{}, &exitError{exitUsage, err}
	}
	packed, err := plugin.Pack(folder)
	if err != nil {
		return packedPlugin{}, &exitError{exitUsage, err}
	}
	candidate, err := plugin.Packed(folder, packed, false)
	if err != nil {
		return packedPlugin{}, err
	}
	if _, err := plugin.Inspect(candidate); err != nil {
		return packedPlugin{}, err
	}
	if file == "" {
		_, name, _ := strings.Cut(candidate.Manifest.ID, "/")
		file = name + ".wasm"
	}
	if file, err = filepath.Abs(file); err != nil {
		return packedPlugin{}, &exitError{exitUsage, err}
	}
	if within, err := sameFolder(filepath.Dir(file), folder); err != nil || within {
		if err == nil {
			err = fmt.Errorf("%s lies in the plugin's own folder, which has one module; name another place with -o", file)
		}
		return packedPlugin{}, &exitError{exitUsage, err}
	}
	if err := writeWhole(file, packed); err != nil {
		return packedPlugin{}, err
	}
	return packedPlugin{File: file, ID: candidate.Manifest.ID, Version: candidate.Manifest.Version, Digest: candidate.Digest, Bytes: len(packed)}, nil
}

func sameFolder(a, b string) (bool, error) {
	first, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second), err
}

// writeWhole makes or replaces a file in one step: a host that watches the folder never
// sees half of it.
func writeWhole(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".plinth-pack-")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
