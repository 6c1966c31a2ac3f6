package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
)

// The names of instruction files, the first one there counts: in a folder of the
// project, and in the user's own.
var (
	projectNames = []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"}
	userNames    = []string{"AGENTS.md", "CLAUDE.md"}
)

// gatherProject tells the user's file first, then the project's from the working
// directory up to the root: the nearest first.
func gatherProject(g *gathering, o abi.ContextObserve) error {
	if err := g.beside("config", "", userNames); err != nil {
		return err
	}
	folders, inside := upward(o.Location)
	if !inside || configured.WithoutProject {
		return nil
	}
	for _, folder := range folders {
		if err := g.beside("project", folder, projectNames); err != nil {
			return err
		}
	}
	return nil
}

// upward answers the folders from the working directory to the project's root, "", as
// paths from there. A working directory outside of the root has none.
func upward(location abi.Location) (folders []string, inside bool) {
	below, inside := strings.CutPrefix(location.Directory+"/", strings.TrimSuffix(location.Root, "/")+"/")
	if !inside {
		return nil, false
	}
	for folder := strings.Trim(below, "/"); folder != ""; folder = above(folder) {
		folders = append(folders, folder)
	}
	return append(folders, ""), true
}

// above is the folder that a folder is in; "" is the root.
func above(folder string) string { return folder[:max(strings.LastIndexByte(folder, '/'), 0)] }
