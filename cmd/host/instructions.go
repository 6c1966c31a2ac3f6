package main

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/plugin"
)

// instructionsPlugin tells the model what instruction files say.
const instructionsPlugin = "core/environment"

// instructing adds to the settings of the builtin plugin what the operator configured
// of instructions: what to tell, and what it may reach for it.
func instructing(all map[string]plugin.Settings, c config.Config) {
	told := map[string]any{}
	if !c.ProjectConfig {
		told["without_project"] = true
	}
	settings := all[instructionsPlugin]
	if files := c.Instructions.Files; len(files) > 0 {
		told["files"] = instructionFiles(files)
		settings.Files = slices.DeleteFunc(slices.Clone(files), func(name string) bool { return !path.IsAbs(name) })
	}
	if urls := c.Instructions.URLs; len(urls) > 0 {
		told["urls"] = urls
		settings.URLs = urls
	}
	if len(told) > 0 {
		settings.Config = told
		all[instructionsPlugin] = settings
	}
}

// instructionFiles are the files as the plugin's settings have them.
func instructionFiles(names []string) []map[string]any {
	files := make([]map[string]any, len(names))
	for i, name := range names {
		root := "project"
		if path.IsAbs(name) {
			root = "operator"
		}
		files[i] = map[string]any{"root": root, "path": name}
		if base, pattern := doublestar.SplitPattern(name); strings.ContainsAny(pattern, "*?[{") {
			if base == "." {
				base = ""
			}
			files[i]["path"], files[i]["pattern"] = base, pattern
		}
	}
	return files
}
