// Command sdk measures what the SDKs make of one tool: for each language the tool that
// plinth plugin new writes, which does the same in all of them, built as its manifest says.
// It prints lines "figure NAME VALUE UNIT" and writes the table of docs/reference/sdks.md.
// A language whose compiler is missing keeps the row that it has.
//
//	sdk                     all languages
//	sdk LANGUAGE=FOLDER...  these, each with the plugin in a folder in the place of the template's
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// page has the table.
const page = "docs/reference/sdks.md"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-sdk:", err)
		os.Exit(1)
	}
}

func figure(name string, value float64, unit string) {
	fmt.Printf("figure sdk.%s %.4g %s\n", name, value, unit)
}

func run(ctx context.Context, args []string) error {
	folder, err := os.MkdirTemp("", "plinth-sdk-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := preferWasmCargo(filepath.Join(folder, "bin")); err != nil {
		return err
	}
	var tools []*tool
	given := map[string]string{}
	for _, arg := range args {
		language, plugin, ok := strings.Cut(arg, "=")
		if !ok || !slices.Contains(scaffold.Languages(), language) {
			return fmt.Errorf("%q is not LANGUAGE=FOLDER with a language of %s", arg, strings.Join(scaffold.Languages(), ", "))
		}
		given[language] = plugin
	}
	for _, language := range scaffold.Languages() {
		plugin, is := given[language]
		if !is && len(given) > 0 {
			continue
		}
		if !is {
			plugin = filepath.Join(folder, language)
			if err := write(plugin, language); err != nil {
				measure.Note("%s is not measured: %v", language, err)
				continue
			}
		}
		made, err := build(ctx, plugin, language)
		if err != nil {
			measure.Note("%s is not measured: %v", language, err)
			continue
		}
		tools = append(tools, made)
	}
	if len(tools) == 0 {
		return errors.New("no language can be measured")
	}
	runtime.GOMAXPROCS(1) // a core for all that is measured
	results, err := measureAll(ctx, filepath.Join(folder, "cache"), tools)
	if err != nil {
		return err
	}
	rows := map[string]string{}
	for i, tool := range tools {
		r := results[i]
		figure("size_kb_"+tool.language, r.size, "KB")
		figure("compile_ms_"+tool.language, r.compile, "ms")
		figure("start_ms_"+tool.language, r.start, "ms")
		figure("call_us_"+tool.language, r.call, "us")
		figure("calls_per_s_"+tool.language, 1e6/r.call, "1/s")
		rows[tool.language] = r.row(tool.language)
	}
	return rewrite(page, rows)
}
