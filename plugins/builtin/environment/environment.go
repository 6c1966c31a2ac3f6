package main

import (
	"fmt"
	"time"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

// place is the value of core/environment.
type place struct {
	Directory string `json:"directory"`
	Root      string `json:"root"`
	Git       bool   `json:"git"`
	Platform  string `json:"platform"`
}

func observeEnvironment(location abi.Location) (abi.SourceState, error) {
	git := "no"
	if location.Git {
		git = "yes"
	}
	facts := fmt.Sprintf("Working directory: %s\nProject root: %s\nGit repository: %s\nPlatform: %s",
		location.Directory, location.Root, git, location.Platform)
	return source.Value(environmentKey,
		place{Directory: location.Directory, Root: location.Root, Git: location.Git, Platform: location.Platform},
		source.Texts{
			Baseline: "The environment you work in:\n" + facts,
			Update:   "The environment you work in is now:\n" + facts,
		})
}

// today is the value of core/date: the calendar day where the user is.
type today struct {
	Date string `json:"date"`
}

func observeDate(o abi.ContextObserve) (abi.SourceState, error) {
	zone := time.FixedZone("", o.Location.UTCOffset*60)
	now := time.UnixMilli(o.NowMS).In(zone)
	day := now.Format("Mon Jan 02 2006")
	return source.Value(dateKey, today{Date: now.Format(time.DateOnly)}, source.Texts{
		Baseline: "Today's date: " + day,
		Update:   "Today's date is now: " + day,
	})
}
