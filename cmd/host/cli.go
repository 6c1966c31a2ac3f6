package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/store/sqlite"
)

// cli is the program with its surroundings.
type cli struct {
	in          io.Reader
	out, errors io.Writer
	environ     []string

	flags  config.Overrides
	server string // address of the host to talk to
	// patience is how long a host may be away: one that starts, and one that a run
	// follows.
	patience time.Duration
	// compiler is how a module that is not built in is compiled apart; nil does it here.
	compiler func(ctx context.Context) *exec.Cmd
}

// Variables that belong to the command line, not to the configuration.
const (
	variableServer = "PLINTH_SERVER"
	variableToken  = "PLINTH_TOKEN"
)

func (c *cli) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "plinth",
		Short: "A host for LLM agent sessions: durable, live, extended by WebAssembly",
		Long: `Plinth hosts LLM agent sessions. Sessions are durable and event-sourced, clients
follow them live, and everything that varies is a sandboxed WebAssembly plugin.`,
		Version: version, SilenceErrors: true, SilenceUsage: true,
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.errors)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exitError{exitUsage, err} })
	set := root.PersistentFlags()
	set.StringVar(&c.flags.File, "config", "", "configuration file (default: config.toml in the configuration folder)")
	set.StringVar(&c.flags.Data, "data", "", "data folder (default: the user's)")
	set.StringVar(&c.flags.LogLevel, "log-level", "", "trace, debug, info, warn or error")
	set.StringVar(&c.server, "server", "", "talk to this host: unix:PATH, or http://HOST:PORT with "+variableToken+" set (default: the host of the data folder)")
	root.AddCommand(c.serveCommand(), c.runCommand(), c.sessionsCommand(), c.inboxCommand(), c.eventsCommand(),
		c.questionsCommand(), c.answerCommand(), c.approvalsCommand(), c.agentsCommand(), c.commandsCommand(), c.skillsCommand(), c.modelsCommand(), c.contextCommand(),
		c.pluginsCommand(), c.pluginCommand(), c.tokenCommand(), c.backupCommand(), c.restoreCommand(), c.doctorCommand(), c.importCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}

// strict makes a word that no command has a mistake of usage, also below commands
// that only hold others: those tell of themselves and would end well.
func strict(command *cobra.Command) {
	if !command.Runnable() {
		command.Args, command.DisableFlagsInUseLine = usage(cobra.NoArgs), true
		command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	}
	for _, below := range command.Commands() {
		strict(below)
	}
}

func (c *cli) load() (config.Config, error) {
	loaded, err := config.Load(config.Sources{Environ: c.environ, Flags: c.flags, Foreign: []string{variableServer, variableToken}})
	if err != nil {
		return config.Config{}, &exitError{exitUsage, err}
	}
	return loaded, nil
}

func (c *cli) logger(level string) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "plinth", Level: hclog.LevelFromString(level), Output: c.errors})
}

func (c *cli) serveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the host until it is told to stop",
		Args:  usage(cobra.NoArgs),
		RunE:  func(command *cobra.Command, _ []string) error { return c.serve(command.Context()) },
	}
	set := command.Flags()
	set.StringVar(&c.flags.Listen, "listen", "", "TCP address, loopback (default: 127.0.0.1:4747); port 0 takes a free one")
	set.StringArrayVar(&c.flags.PluginFolders, "plugins", nil, "folder of plugins; may be repeated")
	set.BoolVar(&c.flags.Development, "dev", false, "grant plugins of the configured folders all that they ask for")
	return command
}

func (c *cli) serve(ctx context.Context) error {
	loaded, err := c.load()
	if err != nil {
		return err
	}
	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	host := &app{config: loaded, reload: c.load, compiler: c.compiler, logger: c.logger(loaded.LogLevel), directory: directory, listen: loaded.Listen, wakes: true,
		fatal: func(err error) { fail(fmt.Errorf("the log cannot be written: %w", err)) }}
	if err := host.start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "plinth %s listens on http://%s and unix:%s\n", version, host.server.Addr(), socketPath(loaded.Data))
	<-ctx.Done()
	cause := context.Cause(ctx)
	err = host.close()
	if !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// connect answers a client of the host that serves the data folder. Where none
// does and embed allows it, one runs inside this command until closed.
func (c *cli) connect(ctx context.Context, embed bool) (*client.Client, func(), error) {
	environ := config.Variables(c.environ)
	address, options := c.server, client.Options{Name: "plinth", Version: version, Token: environ[variableToken]}
	if address == "" {
		address = environ[variableServer]
	}
	if address != "" {
		options.Address = address
		dialled, err := client.Dial(ctx, options)
		if err != nil {
			return nil, nil, err
		}
		return dialled, dialled.Close, nil
	}
	loaded, err := c.load()
	if err != nil {
		return nil, nil, err
	}
	options.Address, options.Token = "unix:"+socketPath(loaded.Data), ""
	if !embed {
		if !listening(socketPath(loaded.Data)) {
			return nil, nil, &exitError{exitUnreachable, fmt.Errorf("no host serves %s; start one with plinth serve", loaded.Data)}
		}
		dialled, err := client.Dial(ctx, options)
		return dialled, dialled.Close, err
	}
	giveUp := time.Now().Add(c.patience)
	for {
		dialled, leave, err := visit(ctx, loaded.Data, options)
		if dialled != nil || err != nil {
			return dialled, leave, err
		}
		dialled, leave, err = c.embedded(ctx, loaded, options)
		var held *sqlite.LockedError
		if !errors.As(err, &held) || time.Now().After(giveUp) {
			return dialled, leave, err
		}
		// Another process has the folder and does not listen yet, or not any more.
		if err := again(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// visit answers a client of the host that listens, nil without one. That host stays
// until leave is called.
func visit(ctx context.Context, data string, options client.Options) (dialled *client.Client, leave func(), err error) {
	guest, err := enter(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	if !listening(socketPath(data)) {
		return nil, nil, guest.Close()
	}
	if dialled, err = client.Dial(ctx, options); err != nil {
		return nil, nil, errors.Join(err, guest.Close())
	}
	return dialled, func() { dialled.Close(); guest.Close() }, nil
}

// embedded runs a host for the time of one command, on the unix socket only. Other
// commands may use it meanwhile; it stays until they are done, or this one is
// interrupted.
func (c *cli) embedded(ctx context.Context, loaded config.Config, options client.Options) (*client.Client, func(), error) {
	directory, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	level := loaded.LogLevel
	if c.flags.LogLevel == "" && level == "info" {
		level = "warn" // the command's own output is what the person asked for
	}
	logger := c.logger(level)
	host := &app{config: loaded, reload: c.load, compiler: c.compiler, logger: logger, directory: directory, fatal: func(err error) { logger.Error("the log cannot be written", "error", err) }}
	if err := host.start(ctx); err != nil {
		return nil, nil, err
	}
	dialled, err := client.Dial(ctx, options)
	if err != nil {
		return nil, nil, errors.Join(err, host.close())
	}
	return dialled, func() {
		dialled.Close()
		err := closing(ctx, loaded.Data, host.close)
		if err != nil {
			logger.Error("closing the host", "error", err)
		}
	}, nil
}

// listening reports whether somebody accepts connections on the socket; a socket
// that a dead host left behind refuses them.
func listening(path string) bool {
	conn, err := net.DialTimeout("unix", path, 2*time.Second)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED)
	}
	return conn.Close() == nil
}

// usage makes a wrong number of arguments a mistake of usage.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return &exitError{exitUsage, fmt.Errorf("%w; see %s --help", err, command.CommandPath())}
		}
		return nil
	}
}
