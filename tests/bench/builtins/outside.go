package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"

	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/process"
	"github.com/plinthhost/plinth/session"
)

// callsOutside is how many calls a round makes on each side.
const callsOutside = 20

// measureCommands compares core/bash, in the sandbox where the system has one, with a
// program that starts the same shell.
func measureCommands(ctx context.Context) error {
	folder, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	processes, err := process.New(process.Options{Sandbox: process.Sandbox{Mode: process.ModeAuto, Write: []string{os.TempDir()}}})
	if err != nil {
		return err
	}
	bench, err := newWorkbench(ctx, "core/bash", folder, &bridge.Reach{Services: &bridge.Services{Clock: session.SystemClock{}, Processes: processes},
		Grants: bridge.Grants{Process: true}})
	if err != nil {
		return errors.Join(err, processes.Close())
	}
	const command = "printf '%s\\n' one two three"
	err = bench.compare(ctx, "bash", callsOutside, fmt.Sprintf(`{"command":%q}`, command), func() (string, error) {
		shell := exec.Command(processes.Shell(), "-c", command)
		shell.Dir = folder
		text, err := shell.CombinedOutput()
		return fmt.Sprintf("%s\nCommand exited with code %d.", text, shell.ProcessState.ExitCode()), err
	})
	return errors.Join(err, bench.engine.Close(), processes.Close())
}

// page is about 50 KiB of a web page.
var page = "<html><head><title>Here</title></head><body>" + strings.Repeat("<p>A paragraph with <b>some</b> words &amp; a <a href=\"/x\">link</a>.</p>\n", 700) + "</body></html>"

// measurePages compares core/webfetch, which vets where it goes, with a program that asks
// the same server. Neither makes anything of the page; what that takes beside is
// webfetch_markdown_us.
func measurePages(ctx context.Context) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page)
	}))
	defer server.Close()
	folder, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fetcher, err := egress.NewFetcher(egress.FetcherOptions{Limits: egress.Limits{Requests: 1 << 20}})
	if err != nil {
		return err
	}
	bench, err := newWorkbench(ctx, "core/webfetch", folder, &bridge.Reach{Services: &bridge.Services{Clock: session.SystemClock{}},
		Grants: bridge.Grants{Fetcher: fetcher, AnyURL: true}})
	if err != nil {
		return errors.Join(err, fetcher.Close())
	}
	err = bench.compare(ctx, "webfetch", callsOutside, fmt.Sprintf(`{"url":%q,"format":"html"}`, server.URL), func() (string, error) {
		response, err := http.Get(server.URL)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	})
	if err == nil {
		err = bench.alone(ctx, "webfetch", "webfetch_markdown_us", fmt.Sprintf(`{"url":%q}`, server.URL))
	}
	return errors.Join(err, bench.engine.Close(), fetcher.Close())
}
