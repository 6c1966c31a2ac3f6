package meter_test

import (
	"context"
	"flag"
	"hash/maphash"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// long says whether the whole of the long suites is asked for: by the
// environment, or by the number of checks that `make verify-long` asks of all
// random tests.
func long() bool {
	checks := flag.Lookup("rapid.checks")
	n, _ := strconv.Atoi(checks.Value.String())
	return n >= 1000 || os.Getenv("PLINTH_SPEC") == "whole"
}

// TestSpecification runs the specification's scripts on original and metered
// modules side by side, on the compiler and the interpreter. The long run has
// more quanta, and modules that are only encoded anew; under the race detector
// the short one takes every fourth script.
func TestSpecification(t *testing.T) {
	spectest, files := scripts(t)
	var agreed atomic.Int64
	t.Cleanup(func() { t.Logf("%d commands agreed", agreed.Load()) })
	for i, file := range files {
		if raced && !long() && i%4 != 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRun(t, spectest)
			run.script(readScript(t, file))
			agreed.Add(int64(run.agreed))
		})
	}
}

// run is one script on all sides. The first side runs the originals.
type run struct {
	t      *testing.T
	sides  []*side
	named  []map[string]api.Module
	last   []api.Module
	seed   maphash.Seed
	agreed int
}

func newRun(t *testing.T, spectest string) *run {
	r := &run{t: t, seed: maphash.MakeSeed()}
	forms := []sideOptions{
		{name: "original", form: asWritten},
		{name: "metered, quantum 1", form: metered, quantum: 1},
	}
	if long() {
		forms = append(forms,
			sideOptions{name: "encoded anew", form: reencoded},
			sideOptions{name: "metered, quantum 7", form: metered, quantum: 7},
			sideOptions{name: "metered, quantum 20,000", form: metered, quantum: 20_000})
	}
	for _, interpreter := range []bool{false, true} {
		cache := wazero.NewCompilationCache()
		t.Cleanup(func() { cache.Close(context.Background()) })
		for _, o := range forms {
			o.interpreter, o.cache = interpreter, cache
			if interpreter {
				o.name += ", interpreted"
			}
			s := newSide(t, o)
			t.Cleanup(func() { s.close(t) })
			r.sides = append(r.sides, s)
		}
	}
	for _, s := range r.sides {
		if _, err := s.instantiate("spectest", readFile(t, spectest)); err != nil {
			t.Fatalf("%s: spectest: %v", s.name, err)
		}
		r.named = append(r.named, make(map[string]api.Module))
	}
	r.last = make([]api.Module, len(r.sides))
	return r
}

func (r *run) script(s script) {
	for i, c := range s.Commands {
		as := ""
		if i+1 < len(s.Commands) && s.Commands[i+1].Type == "register" {
			as = s.Commands[i+1].As
		}
		if c.Type == "register" || c.ModuleType == "text" {
			continue
		}
		outcomes := make([]outcome, len(r.sides))
		for i := range r.sides {
			outcomes[i] = r.command(i, s, c, as)
		}
		r.compare(c, outcomes)
	}
	for _, s := range r.sides[1:] {
		if got, want := s.memories(r.seed), r.sides[0].memories(r.seed); got != want {
			r.t.Errorf("memories at the end: %s has\n%s\nthe original\n%s", s.name, got, want)
		}
	}
}

// compare holds the sides to each other: to the original on the same engine in
// everything, since the engines give NaNs different signs, and the metered ones
// in what they used.
func (r *run) compare(c command, outcomes []outcome) {
	original := len(r.sides) / 2 // the first of each engine
	fuel := int64(-1)
	for i, o := range outcomes {
		if s := r.sides[i]; s.quantum != 0 && c.Type != "assert_exhaustion" { // how deep that gets is the engine's
			if fuel < 0 {
				fuel = o.fuel
			}
			if o.fuel != fuel {
				r.t.Errorf("line %d: %s used %d, another %d", c.Line, s.name, o.fuel, fuel)
				return
			}
		}
		want := outcomes[i/original*original]
		if o.results != want.results || o.failure != want.failure {
			r.t.Errorf("line %d, %s, %s: got %+v, want %+v", c.Line, c.Type, r.sides[i].name, o, want)
			return
		}
	}
	r.agreed++
}

// command does one command on one side and judges it by the script.
func (r *run) command(i int, s script, c command, as string) outcome {
	side := r.sides[i]
	fail := func(format string, args ...any) {
		r.t.Helper()
		r.t.Errorf("line %d, %s, %s: "+format, append([]any{c.Line, c.Type, side.name}, args...)...)
	}
	switch c.Type {
	case "module":
		m, err := side.instantiate(as, readFile(r.t, filepath.Join(s.folder, c.Filename)))
		if err != nil {
			fail("%v", err)
			r.t.FailNow()
		}
		r.last[i] = m
		if c.Name != "" {
			r.named[i][c.Name] = m
		}
		return outcome{}
	case "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
		return r.refused(side, s, c, fail)
	case "action", "assert_return", "assert_trap", "assert_exhaustion":
		m := r.last[i]
		if c.Action.Module != "" {
			m = r.named[i][c.Action.Module]
		}
		return r.act(side, m, c, fail)
	}
	fail("unknown command")
	return outcome{}
}

// refused does a command that demands that a module is not accepted.
func (r *run) refused(side *side, s script, c command, fail func(string, ...any)) outcome {
	wasm := readFile(r.t, filepath.Join(s.folder, c.Filename))
	if c.Type == "assert_malformed" {
		if _, err := binary.Decode(wasm, looseLimits()); err == nil {
			fail("decoded")
		}
	}
	before := side.fuel()
	_, err := side.instantiate("", wasm)
	// wazero holds with the script that such a module has changed the table.
	accepted := c.Type == "assert_uninstantiable" && c.Text == "out of bounds table access"
	if (err == nil) != accepted {
		fail("%s: got %v", c.Text, err)
	}
	o := outcome{fuel: side.fuel() - before, failure: strconv.FormatBool(err != nil)}
	if c.Type == "assert_uninstantiable" {
		o.failure = failureKind(err)
	}
	return o
}

func (r *run) act(side *side, m api.Module, c command, fail func(string, ...any)) outcome {
	if c.Action.Type == "get" {
		value := m.ExportedGlobal(c.Action.Field).Get()
		if len(c.Expected) == 1 && !c.Expected[0].matches(r.t, []uint64{value}) {
			fail("global %s is %#x", c.Action.Field, value)
		}
		return outcome{results: strconv.FormatUint(value, 16)}
	}
	var args []uint64
	for _, arg := range c.Action.Args {
		args = append(args, arg.words(r.t)...)
	}
	results, o := side.call(m, c.Action.Field, args)
	if want := failureOf(c); o.failure != want {
		fail("%s ended with %q, want %q", c.Action.Field, o.failure, want)
	}
	at := 0
	for _, want := range c.Expected {
		if o.failure != "" {
			break
		}
		if end := at + want.width(); end > len(results) || !want.matches(r.t, results[at:end]) {
			fail("%s answered %x, want %v", c.Action.Field, results, c.Expected)
			break
		}
		at += want.width()
	}
	return o
}

// failureOf is how wazero calls the failure a command demands.
func failureOf(c command) string {
	switch c.Type {
	case "assert_exhaustion":
		return "stack overflow"
	case "assert_trap":
		switch text := c.Text; {
		case text == "undefined element", text == "out of bounds table access", strings.HasPrefix(text, "uninitialized"):
			return "invalid table access"
		default:
			return text
		}
	}
	return ""
}
