// Command sdk measures what the SDKs make of one tool: for each language the tool that
// plinth plugin new writes, which does the same in all of them, built as its manifest says.
// It prints lines "figure NAME VALUE UNIT" and writes the table of docs/reference/sdks.md.
// A language whose compiler is missing keeps the row that it has.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// page has the table.
const page = "docs/reference/sdks.md"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench-sdk:", err)
		os.Exit(1)
	}
}

func figure(name string, value float64, unit string) {
	fmt.Printf("figure sdk.%s %.4g %s\n", name, value, unit)
}

func run(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "plinth-sdk-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := preferWasmCargo(filepath.Join(folder, "bin")); err != nil {
		return err
	}
	var tools []*tool
	for _, language := range scaffold.Languages() {
		made, err := build(ctx, filepath.Join(folder, language), language)
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
