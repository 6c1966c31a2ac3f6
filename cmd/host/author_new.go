package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"github.com/plinthhost/plinth/host/author/scaffold"
)

// madePlugin is what plinth plugin new made.
type madePlugin struct {
	ID       string   `json:"id"`
	Language string   `json:"language"`
	Kind     string   `json:"kind"`
	Folder   string   `json:"folder"`
	Files    []string `json:"files"` // in the folder, ascending, without those of the SDK
	Next     []string `json:"next"`  // commands
}

func (c *cli) authorNew() *cobra.Command {
	var language, kind, folder string
	var asJSON bool
	command := &cobra.Command{
		Use:   "new NAME",
		Short: "Make the folder of a new plugin, which builds and passes its tests",
		Long: `Make the folder of a new plugin: sources, a manifest with comments, tests, recorded
calls, a README, and the SDK in .plinth, so that it builds anywhere. NAME is OWNER/NAME,
or NAME with the owner example. Nothing that is there is overwritten.`,
		Example: `  plinth plugin new --lang rust --kind tool word-count
  plinth plugin new --lang tinygo --kind context acme/branch --dir ~/plugins/branch`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			made, err := create(language, kind, args[0], folder)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(made)
			}
			return c.tellMade(made)
		},
	}
	command.Flags().StringVar(&language, "lang", "", "what it is written in: "+strings.Join(scaffold.Languages(), ", "))
	command.Flags().StringVar(&kind, "kind", "tool", "what it offers: "+strings.Join(scaffold.Kinds(), ", "))
	command.Flags().StringVar(&folder, "dir", "", "folder to make (default: the plugin's name, in this folder)")
	jsonFlag(command, &asJSON)
	return command
}

func create(language, kind, name, folder string) (madePlugin, error) {
	id := scaffold.PluginID(name)
	if language == "" {
		return madePlugin{}, &exitError{exitUsage, fmt.Errorf("name the language with --lang: one of %s", strings.Join(scaffold.Languages(), ", "))}
	}
	content, err := scaffold.Files(scaffold.Plugin{Language: language, Kind: kind, ID: id, Version: version})
	if err != nil {
		return madePlugin{}, &exitError{exitUsage, err}
	}
	_, short, _ := strings.Cut(id, "/")
	if folder == "" {
		folder = short
	}
	word, err := syntax.Quote(folder, syntax.LangPOSIX)
	if err != nil {
		return madePlugin{}, &exitError{exitUsage, fmt.Errorf("--dir: %w", err)}
	}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return madePlugin{}, &exitError{exitUsage, err}
	}
	if err := scaffold.Create(absolute, content); err != nil {
		if errors.Is(err, scaffold.ErrExists) {
			err = &exitError{exitUsage, err}
		}
		return madePlugin{}, err
	}
	made := madePlugin{ID: id, Language: language, Kind: kind, Folder: absolute,
		Next: []string{"cd " + word, "plinth plugin test", "plinth plugin add . --grant-all"}}
	if kind == "tool" {
		made.Next = append(made.Next, `plinth run --allow read 'call `+short+` {"path": "README.md"}'`)
	}
	for file := range content {
		if !strings.HasPrefix(file, ".plinth/") {
			made.Files = append(made.Files, file)
		}
	}
	slices.Sort(made.Files)
	return made, nil
}

func (c *cli) tellMade(made madePlugin) error {
	fmt.Fprintf(c.out, "%s  a %s in %s, in %s\n", made.ID, made.Kind, made.Language, plain(made.Folder))
	for _, file := range made.Files {
		fmt.Fprintf(c.out, "  %s\n", file)
	}
	_, err := fmt.Fprintf(c.out, "next:\n  %s\n", plain(strings.Join(made.Next, "\n  ")))
	return err
}
