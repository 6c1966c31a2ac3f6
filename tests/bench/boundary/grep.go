package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/host/fsys/search"
)

// A question is one search; both programs answer it.
type question struct {
	name    string // of the figure it counts for
	pattern string
	fold    bool
	why     string
}

// questions are what agents ask for, and one of each sort that is hard. A figure
// is that of its worst question.
func questions() []question {
	return []question{
		{name: "literal", pattern: rareWord, why: "a rare word"},
		{name: "literal", pattern: knownWord, why: "a word of many files"},
		{name: "regex", pattern: `func \w+Handler\(ctx context\.Context`, why: "a literal narrows it down"},
		{name: "regex", pattern: `[A-Z][a-z]+[0-9]{3}\b`, why: "no literal in it"},
		{name: "regex", pattern: `(TODO|FIXME|HACK): \w+`, why: "alternatives"},
		{name: "regex", pattern: `fixme|deprecated`, fold: true, why: "either case"},
		{name: "regex", pattern: `^package part\d+77$`, why: "whole lines"},
	}
}

func measureGrep(ctx context.Context) error {
	ripgrep, err := exec.LookPath("rg")
	if err != nil {
		return errors.New("the figures compare with ripgrep, and there is no rg here; install it, for example with apt-get install ripgrep")
	}
	folder, err := os.MkdirTemp(os.Getenv("PLINTH_BENCH_DIR"), "plinth-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := plant(folder); err != nil {
		return fmt.Errorf("make the tree: %w", err)
	}
	roots, err := fsys.New(map[string]string{"location": folder}, []string{folder + "/private"})
	if err != nil {
		return err
	}
	c := comparison{ripgrep: ripgrep, folder: folder, roots: roots}
	worst := make(map[string]float64)
	for _, q := range questions() {
		ratio, err := c.ratio(ctx, q)
		if err != nil {
			return fmt.Errorf("%q: %w", q.pattern, err)
		}
		worst[q.name] = max(worst[q.name], ratio)
	}
	figure("grep_over_rg_literal", worst["literal"], "ratio")
	figure("grep_over_rg_regex", worst["regex"], "ratio")
	return nil
}

// comparison asks the host and ripgrep the same over one tree.
type comparison struct {
	ripgrep string
	folder  string
	roots   *fsys.Roots
}

// ratio is the host's median time over that of ripgrep, its process included, in
// alternating runs after one that warms the cache. Both must find the same lines.
func (c comparison) ratio(ctx context.Context, q question) (float64, error) {
	var ours, theirs []float64
	for round := range rounds + 1 {
		began := time.Now()
		mine, err := c.host(ctx, q)
		if err != nil {
			return 0, err
		}
		between := time.Now()
		other, err := c.rg(ctx, q)
		if err != nil {
			return 0, err
		}
		ended := time.Now()
		if mine != other {
			return 0, fmt.Errorf("the host finds %d lines, ripgrep %d", mine, other)
		}
		if round == 0 {
			fmt.Fprintf(os.Stderr, "%s %q (%s): %d lines\n", q.name, q.pattern, q.why, mine)
			continue
		}
		ours = append(ours, between.Sub(began).Seconds())
		theirs = append(theirs, ended.Sub(between).Seconds())
	}
	fmt.Fprintf(os.Stderr, "  host %.0f ms, ripgrep %.0f ms\n", median(ours)*1000, median(theirs)*1000)
	return median(ours) / median(theirs), nil
}

// host searches as a guest's fs.grep does, with a filter that is asked about every
// file, those of a folder together.
func (c comparison) host(ctx context.Context, q question) (lines int, err error) {
	result, err := c.roots.Grep(ctx, fsys.GrepQuery{
		Selection: fsys.Selection{Root: "location", Filter: allow},
		Pattern:   q.pattern, Options: search.Options{IgnoreCase: q.fold},
	})
	if err == nil && (result.More || result.Unreadable > 0) {
		err = fmt.Errorf("the tree is not searched whole: more %v, %d unreadable", result.More, result.Unreadable)
	}
	return result.Matches, err
}

func allow(_ context.Context, identities []string) ([]fsys.Access, error) {
	return slices.Repeat([]fsys.Access{fsys.Allowed}, len(identities)), nil
}

func (c comparison) rg(ctx context.Context, q question) (lines int, err error) {
	arguments := []string{"--no-config", "--no-heading", "--color=never", "--line-number", "--column"}
	if q.fold {
		arguments = append(arguments, "--ignore-case")
	}
	out, err := exec.CommandContext(ctx, c.ripgrep, append(arguments, "--regexp", q.pattern, c.folder)...).Output()
	return bytes.Count(out, []byte("\n")), err
}
