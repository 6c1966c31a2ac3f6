package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/plinthhost/plinth/host/author/build"
	"github.com/plinthhost/plinth/host/author/dev"
	"github.com/plinthhost/plinth/host/author/golden"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/tests/bench/measure"
)

// patience bounds what a save may take, the compiler included.
const patience = 5 * time.Minute

// measureSaves saves a source of a plugin that is developed with a host, and in turns builds
// the same edit by the compiler alone. What dev adds is the time from the save to the
// goldens' result, the new version serving, less that of the compiler.
func measureSaves(ctx context.Context, dir, program string, l language) (err error) {
	environ, err := environment(dir)
	if err != nil {
		return err
	}
	developed, err := newProject(ctx, dir, "developed", program, l)
	if err != nil {
		return err
	}
	alone, err := newProject(ctx, dir, "alone", program, l)
	if err != nil {
		return err
	}
	compile, err := newCompiler(ctx, alone, environ)
	if err != nil {
		return err
	}
	if _, err := compile(0); err != nil { // what comes first builds the dependencies
		return err
	}
	s, err := start(ctx, dir, developed.folder, program, environ)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if _, err := s.saved(ctx); err != nil {
		return err
	}
	var added, own, built, compiled []float64
	for n := 1; n <= measure.Rounds; n++ {
		var bare, took, inside time.Duration
		alone := func() (err error) { bare, err = compile(n); return err }
		inLoop := func() (err error) {
			took, inside, err = s.save(ctx, func() error { return developed.edit(n) })
			return err
		}
		order := []func() error{alone, inLoop}
		if n%2 == 0 { // neither always comes after the other
			slices.Reverse(order)
		}
		for _, one := range order {
			if err := one(); err != nil {
				return err
			}
		}
		measure.Note("%s: save %d took %s, its build %s; the compiler alone %s", l.name, n, took.Round(time.Millisecond), inside.Round(time.Millisecond), bare.Round(time.Millisecond))
		added, own = append(added, measure.Milliseconds(took-bare)), append(own, measure.Milliseconds(took-inside))
		built, compiled = append(built, measure.Milliseconds(inside)), append(compiled, measure.Milliseconds(bare))
	}
	figure("dev.added_ms_"+l.name, measure.Median(added), "ms")
	figure("dev.own_ms_"+l.name, measure.Median(own), "ms") // less the build of that very save
	figure("dev.build_ms_"+l.name, measure.Median(built), "ms")
	figure("dev.machine_compiler_ms_"+l.name, measure.Median(compiled), "ms")
	return measureLoad(ctx, dir, developed.folder, program, l)
}

// newCompiler answers what builds an edit of a plugin by its command alone.
func newCompiler(ctx context.Context, p *project, environ []string) (func(n int) (time.Duration, error), error) {
	manifest, err := plugin.ManifestOf(p.folder)
	if err != nil {
		return nil, err
	}
	return func(n int) (time.Duration, error) {
		if err := p.edit(n); err != nil {
			return 0, err
		}
		command := exec.CommandContext(ctx, "sh", "-c", manifest.Dev.Build)
		command.Dir, command.Env, command.Stdout, command.Stderr = p.folder, environ, os.Stderr, os.Stderr
		began := time.Now()
		if err := command.Run(); err != nil {
			return 0, fmt.Errorf("%s: %w", manifest.Dev.Build, err)
		}
		return time.Since(began), nil
	}, nil
}

// session is a host with an author.
type session struct {
	host, author *exec.Cmd
	events       *bufio.Scanner
}

// start has a host serve and an author develop a plugin with it.
func start(ctx context.Context, dir, folder, program string, environ []string) (*session, error) {
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		return nil, err
	}
	s := &session{}
	command := func(args ...string) (*exec.Cmd, *bufio.Scanner, error) {
		command := exec.CommandContext(ctx, program, append([]string{"--config", config, "--data", data, "--log-level", "error"}, args...)...)
		command.Env, command.Dir, command.Stderr = environ, dir, os.Stderr
		command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
		output, err := command.StdoutPipe()
		if err != nil {
			return nil, nil, err
		}
		lines := bufio.NewScanner(output)
		lines.Buffer(nil, 1<<20)
		return command, lines, command.Start()
	}
	host, lines, err := command("serve", "--listen", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.host = host
	if !lines.Scan() {
		return nil, errors.Join(errors.New("the host does not start"), s.stop())
	}
	if s.author, s.events, err = command("plugin", "dev", folder, "--grant-all", "--json"); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// save makes an edit, and answers how long it took until it was through, and how long the
// build of it.
func (s *session) save(ctx context.Context, edit func() error) (took, build time.Duration, err error) {
	began := time.Now()
	if err := edit(); err != nil {
		return 0, 0, err
	}
	done, err := s.saved(ctx)
	return time.Since(began), time.Duration(done.BuildNS), err
}

// saved waits until a save is through: the new version serves and has passed its goldens.
func (s *session) saved(ctx context.Context) (dev.Event, error) {
	timer := time.AfterFunc(patience, func() { _ = s.author.Process.Kill() })
	defer timer.Stop()
	serves := false
	for s.events.Scan() {
		var event dev.Event
		if err := json.Unmarshal(s.events.Bytes(), &event); err != nil {
			return event, err
		}
		switch event.Kind {
		case dev.KindRefused, dev.KindNote:
			return event, errors.New(event.Text)
		case dev.KindServing:
			if serves = event.Served.Active; !serves {
				return event, errors.New(event.Served.Reason)
			}
		case dev.KindGoldens:
			if len(event.Goldens) == 0 || !golden.Passed(event.Goldens) {
				return event, fmt.Errorf("the goldens do not pass: %+v", event.Goldens)
			}
		case dev.KindDone:
			if !serves {
				return event, errors.New("no host serves it")
			}
			return event, nil
		default: // of what comes in between nothing is asked
		}
	}
	return dev.Event{}, errors.Join(errors.New("plinth plugin dev has ended"), s.events.Err(), ctx.Err())
}

// stop ends both.
func (s *session) stop() error {
	var err error
	for _, one := range []*exec.Cmd{s.author, s.host} {
		if one == nil {
			continue
		}
		err = errors.Join(err, one.Process.Signal(syscall.SIGTERM))
		if _, waited := one.Process.Wait(); waited != nil {
			err = errors.Join(err, waited)
		}
	}
	return err
}

// measureLoad is what the engine alone needs to have such a module run.
func measureLoad(ctx context.Context, dir, folder, program string, l language) error {
	built, err := build.Look(folder)
	if err != nil {
		return err
	}
	load, err := measure.OverRounds(func(round int) (float64, error) {
		engine, err := plugin.NewEngine(plugin.EngineOptions{CacheDir: filepath.Join(dir, fmt.Sprint("cache", round)),
			Compiler: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, program, "compile-module") }}, hclog.NewNullLogger())
		if err != nil {
			return 0, err
		}
		began := time.Now()
		_, err = golden.Run(ctx, engine, built)
		took := time.Since(began)
		return measure.Milliseconds(took), errors.Join(err, engine.Close())
	})
	if err != nil {
		return err
	}
	figure("dev.machine_load_ms_"+l.name, load, "ms")
	return nil
}
