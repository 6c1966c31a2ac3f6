package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
)

// authored is the absolute path of the plugin's folder that an argument names, by default
// the one we are in, with its manifest. A manifest that is refused is answered beside the
// error as far as it can be read.
func authored(args []string) (folder string, manifest abi.Manifest, err error) {
	if folder = "."; len(args) > 0 {
		folder = args[0]
	}
	if folder == "" {
		return "", manifest, &exitError{exitUsage, errors.New("the path of the plugin's folder is empty; name the folder that has plugin.toml")}
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", manifest, &exitError{exitUsage, err}
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return "", manifest, &exitError{exitUsage, fmt.Errorf("%s is a file; name the folder that has plugin.toml", folder)}
	}
	if manifest, err = plugin.ManifestOf(folder); err != nil {
		err = &exitError{exitUsage, err}
	}
	return folder, manifest, err
}

// authorEngine is an engine as the host's, over the host's own cache: what one of them has
// compiled the other does not compile again.
func (c *cli) authorEngine() (*wasm.Engine, error) {
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	return plugin.NewEngine(plugin.EngineOptions{Compiler: c.compiler, CacheDir: filepath.Join(loaded.Data, cacheName)}, hclog.NewNullLogger())
}

// tellGoldens prints a line for each golden, and what differs where one failed.
func tellGoldens(out io.Writer, results []golden.Result) {
	passed := 0
	for _, result := range results {
		verdict := "FAIL"
		switch {
		case result.Written:
			verdict = "wrote"
		case result.Passed:
			verdict = "ok"
		}
		if result.Passed {
			passed++
		}
		fmt.Fprintf(out, "%-5s %s", verdict, oneLine(result.Input, 200))
		if result.Memory > 0 {
			fmt.Fprintf(out, "  %s  %d fuel  %s", briefly(result.Duration()), result.Fuel, mebibytes(int64(result.Memory)))
		}
		fmt.Fprintln(out)
		if result.Problem != "" {
			fmt.Fprintf(out, "      %s\n", oneLine(result.Problem, 1000))
		}
		if !result.Passed {
			for _, line := range result.Log {
				fmt.Fprintf(out, "      log %s\n", clipped(line, 1000))
			}
		}
		for _, difference := range result.Differences {
			tellDifference(out, "      ", difference.Path, difference.Want, difference.Got)
		}
	}
	if len(results) == 0 {
		fmt.Fprintln(out, "no goldens; plinth plugin record makes one of a call")
		return
	}
	fmt.Fprintf(out, "%d of %d goldens passed\n", passed, len(results))
}

// tellDifference prints where two values part: what was before and what is there now.
func tellDifference(out io.Writer, indent, path, before, now string) {
	if path == "" {
		path = "(all of it)"
	}
	for _, line := range []string{path, "  - " + before, "  + " + now} {
		fmt.Fprintf(out, "%s%s\n", indent, clipped(line, 1000))
	}
}

// clipped is plain text on one line with its spaces, cut to a length in characters.
func clipped(text string, length int) string {
	runes := []rune(plainLine(text))
	if len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return string(runes)
}

// briefly is a time in a few digits.
func briefly(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// mebibytes is a number of bytes for people.
func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
