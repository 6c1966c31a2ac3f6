package main

import (
	"errors"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
)

// gatherConfigured tells the files that the configuration names, in its order; those
// that fit a pattern by their paths.
func gatherConfigured(g *gathering, o abi.ContextObserve) error {
	_, inside := upward(o.Location)
	for _, file := range configured.Files {
		if file.Root == "project" && (!inside || configured.WithoutProject) {
			continue
		}
		at := abi.Path{Root: file.Root, Path: file.Path}
		if file.Pattern != "" {
			if err := g.fitting(at, file.Pattern); err != nil {
				return err
			}
		} else if _, err := g.add(at); err != nil {
			return err
		}
	}
	return nil
}

// fitting adds the files below a folder that fit a pattern.
func (g *gathering) fitting(folder abi.Path, pattern string) error {
	found, err := host.Glob(abi.FSGlob{Path: folder, Pattern: pattern, Limit: maxFiles + maxNamed})
	shown := g.shown(folder.Root, folder.Path) + "/" + pattern
	switch {
	case err != nil && plinth.KindOf(err) == abi.KindNotFound:
		return nil
	case err != nil && plinth.KindOf(err) == abi.KindDenied:
		g.withhold(shown)
		return nil
	case err == nil && (found.Unreadable > 0 || found.Partial):
		err = errors.New("not all of it can be looked at")
	}
	if err != nil {
		return unreadable(abi.Path{Path: shown}, err)
	}
	for _, file := range found.Files {
		at := abi.Path{Root: folder.Root, Path: file.Path}
		switch found, err := g.add(at); {
		case err != nil:
			return err
		case !found:
			return unreadable(at, errors.New("it was there a moment ago"))
		}
	}
	g.more += found.Matched - len(found.Files)
	if n := found.Asks + found.Denied; n > 0 {
		g.say(shown, fmt.Sprintf("(%d files that fit are there, but the permission rules do not allow them to be read without asking.)", n))
	}
	return nil
}
