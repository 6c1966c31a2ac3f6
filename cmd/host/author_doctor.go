package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/host/author/scaffold"
	"github.com/plinthhost/plinth/host/author/toolchain"
)

// pluginCheckup is what plinth plugin doctor found.
type pluginCheckup struct {
	Programs []toolchain.Program `json:"programs"`
	Folder   string              `json:"folder,omitempty"`
	Findings []toolchain.Finding `json:"findings"`
	Healthy  bool                `json:"healthy"` // nothing is an error
}

func (c *cli) authorDoctor() *cobra.Command {
	var fix, asJSON bool
	command := &cobra.Command{
		Use:   "doctor [FOLDER]",
		Short: "Check the compilers of this machine, and a plugin's folder",
		Long: `Look for the compilers that plugins are built with, and for what is wrong or forgotten
in a plugin's folder: the manifest, the build command and its target, the module, the
goldens, the SDK. Each finding says what, where, and the fix. Nothing is built or run.
It ends with 1 when something is an error.`,
		Example: `  plinth plugin doctor
  plinth plugin doctor ./weather`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if fix && len(args) == 0 {
				return &exitError{exitUsage, errors.New("--fix changes a plugin's folder; name it")}
			}
			found := pluginCheckup{Programs: toolchain.Programs(command.Context()), Findings: []toolchain.Finding{}}
			if len(args) == 1 {
				folder, err := filepath.Abs(args[0])
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if fix {
					if err := scaffold.Renew(folder, version); err != nil {
						return fmt.Errorf("the SDK in %s cannot be renewed: %w", folder, err)
					}
				}
				found.Folder = folder
				found.Findings = append(found.Findings, toolchain.Examine(folder, found.Programs)...)
			}
			found.Healthy = !slices.ContainsFunc(found.Findings, func(f toolchain.Finding) bool { return f.Severity == toolchain.Error })
			if asJSON {
				if err := c.printJSON(found); err != nil {
					return err
				}
			} else {
				c.tellPluginCheckup(found)
			}
			if !found.Healthy {
				return errors.New("the plugin cannot be used as it is; the lines above say what to do")
			}
			return nil
		},
	}
	command.Flags().BoolVar(&fix, "fix", false, "put this program's SDK in the place of the folder's")
	jsonFlag(command, &asJSON)
	return command
}

func (c *cli) tellPluginCheckup(found pluginCheckup) {
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	for _, program := range found.Programs {
		state, more := "ok", plain(program.Path)
		switch {
		case !program.Found():
			state, more = "-", program.Fix
		case !program.Well():
			state, more = "bad", oneLine(program.Problem+": "+program.Fix, 300)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", state, program.Name, oneLine(program.Version, 40), program.For, more)
	}
	_ = table.Flush()
	for _, finding := range found.Findings {
		fmt.Fprintf(c.out, "%s  %s: %s\n  fix: %s\n", finding.Severity, oneLine(finding.Where, 200), oneLine(finding.What, 2000), oneLine(finding.Fix, 500))
	}
	if found.Folder != "" && len(found.Findings) == 0 {
		fmt.Fprintf(c.out, "nothing is wrong in %s\n", plain(found.Folder))
	}
}
