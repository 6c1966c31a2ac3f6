package main

import (
	"fmt"
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

// maxPlaces bounds the folders that are looked into before each turn.
const maxPlaces = 512

// gatherNested tells the instruction files beside files that tools read, and in the
// folders above those that core/instructions does not cover: the outer ones first.
func gatherNested(g *gathering, o abi.ContextObserve) error {
	covered, inside := upward(o.Location)
	if !inside || configured.WithoutProject {
		return nil
	}
	places := map[string]bool{}
	for _, folder := range covered {
		places[folder] = true
	}
	var folders []string
	for _, folder := range o.Directories {
		for ; !places[folder]; folder = above(folder) {
			places[folder] = true
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	if len(folders) > maxPlaces {
		host.Log("warn", fmt.Sprintf("files were read in %d folders; instructions are looked for in the first %d", len(folders), maxPlaces))
		folders = folders[:maxPlaces]
	}
	for _, folder := range folders {
		if err := g.beside("project", folder, projectNames); err != nil {
			return err
		}
	}
	return nil
}
