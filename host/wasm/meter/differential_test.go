package meter_test

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/host/wasm/binary"
	"github.com/plinthhost/plinth/host/wasm/meter"
)

// tested counts what a run of generated modules came across, to show that it is
// not always the same little.
type tested struct {
	modules, calls, answers, traps, yields int
	loops, exempt, folded, bulk, start     int
}

// trial is one generated module on all sides: on each engine the original first.
type trial struct {
	t     testing.TB
	sides []*trialSide
	seed  maphash.Seed
}

type trialSide struct {
	*side
	module api.Module
	told   string // to the host
}

// differ compares a module with what becomes of it, on both engines: what every
// call answers, how it ends, memory, globals, what the host was told. What is
// used is the same for all quanta and on both engines.
func differ(t testing.TB, module generated, count *tested) {
	t.Helper()
	decoded, err := binary.Decode(module.wasm, looseLimits())
	if err != nil {
		t.Fatalf("generated: %v", err)
	}
	rewritten, report, err := meter.Rewrite(decoded, meter.Options{})
	if err != nil {
		t.Fatalf("rewrite: %v", err)
	}
	if _, err := binary.Decode(rewritten, looseLimits()); err != nil {
		t.Fatalf("rewritten: %v", err)
	}
	count.modules++
	count.loops += report.Loops
	count.exempt += report.Exempt
	count.folded += report.Folded
	count.bulk += report.Bulk
	if report.Start {
		count.start++
	}
	tr := &trial{t: t, seed: maphash.MakeSeed()}
	defer tr.close()
	var outcomes []outcome
	for _, interpreter := range []bool{false, true} {
		cache := wazero.NewCompilationCache()
		defer cache.Close(context.Background())
		for _, quantum := range []int64{0, 1, 50, 20_000} {
			o := sideOptions{quantum: quantum, interpreter: interpreter, cache: cache, name: fmt.Sprintf("quantum %d, interpreter %t", quantum, interpreter)}
			treated, start := module.wasm, false
			if quantum != 0 {
				treated, start = rewritten, report.Start
			}
			outcomes = append(outcomes, tr.open(o, treated, start))
		}
	}
	if !tr.same("instantiation", outcomes) || outcomes[0].failure != "" {
		return
	}
	for i, call := range module.calls {
		for j := range tr.sides {
			outcomes[j] = tr.call(j, call)
		}
		count.calls++
		if outcomes[0].failure == "" {
			count.answers++
		} else {
			count.traps++
		}
		if !tr.same(fmt.Sprintf("call %d of %s%x", i, call.function, call.args), outcomes) {
			return
		}
	}
	for _, s := range tr.sides {
		for _, a := range s.accounts {
			count.yields += a.yields
		}
	}
}

func (tr *trial) close() {
	for _, s := range tr.sides {
		s.close(tr.t)
	}
}

// open makes a side and instantiates the module on it.
func (tr *trial) open(o sideOptions, wasm []byte, start bool) outcome {
	tr.t.Helper()
	s := &trialSide{side: newSide(tr.t, o)}
	tr.sides = append(tr.sides, s)
	tell := func(_ context.Context, a int32, b int64) { s.told += fmt.Sprintf("%d,%d;", a, b) }
	ask := func(_ context.Context, a int32) int32 {
		s.told += fmt.Sprintf("%d?", a)
		return a*31 + 7
	}
	_, err := s.runtime.NewHostModuleBuilder("host").
		NewFunctionBuilder().WithFunc(tell).Export("tell").
		NewFunctionBuilder().WithFunc(ask).Export("ask").Instantiate(context.Background())
	if err != nil {
		tr.t.Fatal(err)
	}
	s.module, err = s.instantiateTreated("", wasm, start)
	o2 := outcome{failure: failureKind(err), fuel: s.fuel()}
	if o2.failure == "other" {
		tr.t.Fatalf("%s: instantiate: %v", s.name, err)
	}
	return o2
}

// call calls one side and answers all that can be seen of it afterwards.
func (tr *trial) call(i int, call generatedCall) outcome {
	tr.t.Helper()
	s := tr.sides[i]
	s.module.ExportedGlobal("gas").(api.MutableGlobal).Set(gasPerCall)
	_, o := s.side.call(s.module, call.function, call.args)
	if o.failure == "other" {
		tr.t.Fatalf("%s: %s failed in a way of its own", s.name, call.function)
	}
	for g := range len(valueTypes()) {
		global := s.module.ExportedGlobal(fmt.Sprintf("g%d", g+1))
		value := []uint64{global.Get()}
		comparably(value, []api.ValueType{global.Type()})
		o.results += fmt.Sprintf(" %x", value)
	}
	o.results += s.memories(tr.seed) + s.told
	return o
}

// same reports sides that differ from the first, and metered ones that used
// something else.
func (tr *trial) same(what string, outcomes []outcome) bool {
	tr.t.Helper()
	fuel := int64(-1)
	for i, o := range outcomes {
		s := tr.sides[i]
		if o.results != outcomes[0].results || o.failure != outcomes[0].failure {
			tr.t.Errorf("%s: %s gives\n%+v, want\n%+v", what, s.name, o, outcomes[0])
			return false
		}
		if s.quantum == 0 {
			continue
		}
		if fuel < 0 {
			fuel = o.fuel
		}
		if o.fuel != fuel {
			tr.t.Errorf("%s: %s used %d, another %d", what, s.name, o.fuel, fuel)
			return false
		}
	}
	return true
}

// TestGeneratedModules compares modules of random bytes from a fixed seed. The
// count of each sort shows that the generator makes it.
func TestGeneratedModules(t *testing.T) {
	random := rand.New(rand.NewPCG(2026, 11))
	modules := 60
	if long() {
		modules = 3_000
	}
	var count tested
	for range modules {
		bytes := make([]byte, 400+random.IntN(3000))
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		if differ(t, generate(bytes), &count); t.Failed() {
			t.Fatalf("bytes %x", bytes)
		}
	}
	t.Logf("%+v", count)
	for name, n := range map[string]int{
		"answers": count.answers, "traps": count.traps, "yields": count.yields, "loops": count.loops,
		"exempt functions": count.exempt, "folded functions": count.folded, "bulk operations": count.bulk, "start functions": count.start,
	} {
		if n < modules/20 {
			t.Errorf("only %d %s in %d modules", n, name, modules)
		}
	}
}

// TestShrinkingModules is the same with bytes that rapid makes smaller when
// something differs.
func TestShrinkingModules(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		bytes := rapid.SliceOfN(rapid.Byte(), 0, 1500).Draw(r, "bytes")
		failed := !t.Run("module", func(t *testing.T) { differ(t, generate(bytes), new(tested)) })
		if failed {
			r.Fatalf("see above")
		}
	})
}

func FuzzRewrite(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		bytes := make([]byte, 200+random.IntN(800))
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		differ(t, generate(bytes[:min(len(bytes), 4096)]), new(tested))
	})
}
