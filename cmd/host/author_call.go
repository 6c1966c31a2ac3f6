package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/author/call"
	"github.com/plinthhost/plinth/host/plugin"
)

// calling is what plinth plugin call was told.
type calling struct {
	export, root, config, save string
	asJSON                     bool
}

// calledPlugin is what plinth plugin call --json prints.
type calledPlugin struct {
	Export     string          `json:"export"`
	Answer     json.RawMessage `json:"answer,omitempty"`  // {"ok": …} or {"error": …}
	Problem    string          `json:"problem,omitempty"` // why there is no answer
	Operations []string        `json:"operations"`        // in order
	Fuel       int64           `json:"fuel"`
	DurationNS int64           `json:"duration_ns"`
	Memory     uint32          `json:"memory"` // in bytes
	Saved      *call.Saved     `json:"saved,omitempty"`
}

func (c *cli) authorCall() *cobra.Command {
	var how calling
	command := &cobra.Command{
		Use:   "call FOLDER|FILE [TOOL] [INPUT|FILE|-]",
		Short: "Make one call of a plugin, without a host",
		Long: `Make one call of a plugin in the engine that hosts it: of a tool with its input in JSON,
or, with --export, of anything else with a file that has {"body": …}, and config and
operations if need be, as a golden's input. What the plugin reads comes from --root, of
which nothing is changed; other operations are answered as the file has recorded them, or
refused. Log and progress are shown as they come. "-" reads the standard input.
It ends with 1 when the plugin answers an error.`,
		Example: `  plinth plugin call ./words words '{"path": "todo.txt"}' --root ~/notes
  plinth plugin call ./codec --export provider_encode testdata/encode.json
  plinth plugin call ./words words '{"path": "todo.txt"}' --root ~/notes --save todo`,
		Args: usage(cobra.RangeArgs(1, 3)),
		RunE: func(command *cobra.Command, args []string) error {
			return c.call(command.Context(), args, how)
		},
	}
	flags := command.Flags()
	flags.StringVar(&how.export, "export", "tool", "what is called: "+strings.Join(plugin.Exports(), ", "))
	flags.StringVar(&how.root, "root", "", "folder whose files the plugin may read, as its session's directory (default: none)")
	flags.StringVar(&how.config, "config", "", "its settings, a JSON object")
	flags.StringVar(&how.save, "save", "", "write the call as a golden of this name into the plugin's folder")
	jsonFlag(command, &how.asJSON)
	return command
}

func (c *cli) call(ctx context.Context, args []string, how calling) error {
	folder, candidate, err := callable(args[0], how.save)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	wanted, err := c.wanted(candidate.Manifest, args[1:], how)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	wanted.Log = func(level, line string) { fmt.Fprintf(c.errors, "%s: %s\n", oneLine(level, 10), oneLine(line, 2000)) }
	wanted.Progress = func(text string) { fmt.Fprintf(c.errors, "progress: %s\n", oneLine(text, 2000)) }
	engine, err := c.authorEngine()
	if err != nil {
		return err
	}
	result, err := call.Run(ctx, engine, candidate, wanted)
	if err = errors.Join(err, engine.Close()); err != nil && !result.Began {
		return err
	}
	told := calledPlugin{Export: how.export, Answer: result.Answer, Operations: []string{}, Fuel: result.Fuel, DurationNS: int64(result.Duration), Memory: result.Memory}
	for _, made := range result.Operations {
		told.Operations = append(told.Operations, made.Name)
	}
	if err == nil && how.save != "" {
		saved, failed := call.Save(folder, how.save, how.export, wanted, result)
		if failed != nil {
			return failed
		}
		told.Saved = &saved
	}
	if how.asJSON {
		if err != nil {
			told.Problem = err.Error()
		}
		if failed := c.printJSON(told); failed != nil {
			return failed
		}
	} else {
		c.tellCall(told, result)
	}
	if err == nil && result.Error != nil {
		err = fmt.Errorf("the plugin answers %s: %s", oneLine(string(result.Error.Kind), 100), oneLine(result.Error.Message, 2000))
	}
	return err
}

// callable reads the plugin that is to be called. Of a folder, goldens may still be without
// an answer.
func callable(path, save string) (folder string, candidate plugin.Candidate, err error) {
	if folder, err = filepath.Abs(path); err != nil {
		return "", candidate, err
	}
	if info, failed := os.Stat(folder); failed == nil && info.IsDir() {
		built, err := build.Look(folder)
		return folder, built.Candidate, err
	}
	if save != "" {
		return "", candidate, fmt.Errorf("--save writes into a plugin's folder; %s is none", plain(path))
	}
	candidate, err = given(path)
	return "", candidate, err
}

// wanted is the call that the arguments behind the plugin name.
func (c *cli) wanted(manifest abi.Manifest, args []string, how calling) (wanted call.Call, err error) {
	entry, ok := plugin.Entry(how.export)
	if !ok {
		return wanted, fmt.Errorf("--export is %q; it must be one of %s", how.export, strings.Join(plugin.Exports(), ", "))
	}
	if how.root != "" {
		if wanted.Folder, err = filepath.Abs(how.root); err == nil {
			wanted.Folder, err = filepath.EvalSymlinks(wanted.Folder)
		}
		if err != nil {
			return wanted, fmt.Errorf("--root: %w", err)
		}
		if info, err := os.Stat(wanted.Folder); err == nil && !info.IsDir() {
			return wanted, fmt.Errorf("--root: %s is a file; name the folder that it is in", wanted.Folder)
		}
	}
	if entry == abi.ExportTool && len(args) > 0 && slices.ContainsFunc(manifest.Tools, func(tool abi.ManifestTool) bool { return tool.Name == args[0] }) {
		input := json.RawMessage("{}")
		if len(args) > 1 {
			if input, err = c.textOf(args[1]); err != nil {
				return wanted, err
			}
		}
		wanted.Golden, err = call.Tool(manifest, args[0], input, wanted.Folder)
	} else {
		wanted.Golden, err = c.bodyOf(manifest, how.export, args)
	}
	if how.config != "" {
		wanted.Config = json.RawMessage(how.config)
	}
	wanted.Entry = entry
	return wanted, err
}

// textOf is an argument, or the standard input.
func (c *cli) textOf(argument string) (json.RawMessage, error) {
	if argument != "-" {
		if !strings.HasPrefix(strings.TrimSpace(argument), "{") {
			return nil, fmt.Errorf("the input %q is no JSON object; write one, like '{\"path\": \"todo.txt\"}', or say - and give a file to the standard input", clipped(argument, 200))
		}
		return json.RawMessage(argument), nil
	}
	text, err := io.ReadAll(io.LimitReader(c.in, plugin.MaxGoldenBytes+1))
	if err == nil && len(text) > plugin.MaxGoldenBytes {
		err = fmt.Errorf("the standard input has more than %d bytes", plugin.MaxGoldenBytes)
	}
	return text, err
}

// bodyOf is the call of a golden's input file.
func (c *cli) bodyOf(manifest abi.Manifest, export string, args []string) (plugin.Golden, error) {
	switch {
	case export == "tool" && len(args) == 0, export == "tool" && filepath.Ext(args[0]) != ".json" && args[0] != "-":
		names := make([]string, len(manifest.Tools))
		for i, tool := range manifest.Tools {
			names[i] = tool.Name
		}
		if len(names) == 0 {
			return plugin.Golden{}, fmt.Errorf("%s has no tools; name with --export what is to be called", manifest.ID)
		}
		return plugin.Golden{}, fmt.Errorf("name one of the tools of %s: %s", manifest.ID, strings.Join(names, ", "))
	case len(args) != 1:
		return plugin.Golden{}, errors.New(`name the file of the call, {"body": …}, or - for the standard input`)
	case args[0] == "-":
		text, err := c.textOf("-")
		if err != nil {
			return plugin.Golden{}, err
		}
		return plugin.ReadCall("standard input", text)
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return plugin.Golden{}, err
	}
	return plugin.ReadCall(args[0], text)
}

func (c *cli) tellCall(told calledPlugin, result call.Result) {
	var output abi.ToolOutput
	if told.Export == "tool" && result.OK != nil && json.Unmarshal(result.OK, &output) == nil {
		for _, content := range output.Content {
			if content.Type == "text" {
				fmt.Fprintln(c.out, plain(content.Text))
			} else {
				fmt.Fprintf(c.out, "file  %s  %s\n", oneLine(content.Name, 200), oneLine(content.Mime, 100))
			}
		}
		for _, more := range []struct{ what, value string }{{"title", output.Title}, {"structured", string(output.Structured)}, {"metadata", string(output.Metadata)}} {
			if more.value != "" {
				fmt.Fprintf(c.out, "%s  %s\n", more.what, clipped(more.value, 2000))
			}
		}
	} else if result.OK != nil {
		fmt.Fprintln(c.out, plain(pretty(result.OK)))
	}
	fmt.Fprintf(c.out, "%s  %d fuel  %s  %s\n", briefly(result.Duration), told.Fuel, mebibytes(int64(told.Memory)), plural(len(told.Operations), "operation"))
	if told.Saved != nil {
		fmt.Fprintf(c.out, "wrote %s and %s\n", told.Saved.Input, told.Saved.Output)
	}
}

// pretty is JSON with a line for each member.
func pretty(text json.RawMessage) string {
	var lines bytes.Buffer
	if json.Indent(&lines, text, "", "  ") != nil {
		return string(text)
	}
	return lines.String()
}
