package plugin

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

func TestEveryLimitOfAManifestIsInTheTable(t *testing.T) {
	var l abi.ManifestLimits
	known := map[string]bool{}
	for i, limit := range limits() {
		*limit.of(&l) = int64(i + 1)
		known[limit.key] = true
	}
	value := reflect.ValueOf(l)
	for i := range value.NumField() {
		if key := value.Type().Field(i).Tag.Get("toml"); !known[key] || value.Field(i).Int() != int64(i+1) {
			t.Errorf("limits.%s is not in the table, or out of order", key)
		}
	}
}

func TestLimitsReachTheEngine(t *testing.T) {
	manifest := abi.Manifest{Limits: abi.ManifestLimits{MemoryMiB: 1, Instances: 2, PoolMiB: 3, WaitMS: 4, StartMS: 5, Fuel: 6, StackKiB: 7, OutputKiB: 8, LogKiB: 9, Operations: 10}}
	want := wasm.Limits{MemoryMiB: 1, Instances: 2, PoolMiB: 3, Wait: 4 * time.Millisecond, Start: 5 * time.Millisecond, Fuel: 6,
		StackKiB: 7, OutputBytes: 8 << 10, LogBytes: 9 << 10, Operations: 10}
	if diff := cmp.Diff(want, engineLimits(manifest, abi.ManifestLimits{})); diff != "" {
		t.Error(diff)
	}
	want.MemoryMiB, want.Fuel = 100, 200
	if diff := cmp.Diff(want, engineLimits(manifest, abi.ManifestLimits{MemoryMiB: 100, Fuel: 200})); diff != "" {
		t.Errorf("the operator's: %s", diff)
	}
	codec := abi.Manifest{Providers: []abi.ManifestProvider{{}}}
	if got := engineLimits(codec, abi.ManifestLimits{}).MemoryMiB; got != memoryProvider {
		t.Errorf("a codec has %d MiB", got)
	}
}

func TestLimitsOfTheOperatorAreBounded(t *testing.T) {
	for text, values := range map[string]map[string]int64{
		"memory_mib: it is 513; it must be from 1 to 512":                   {"memory_mib": 513},
		"stack_kib: it is -1":                                               {"stack_kib": -1},
		"memory: there is no such limit; known here: memory_mib, instances": {"memory": 1},
	} {
		if _, err := operatorLimits("acme/x", values); err == nil || !strings.Contains(err.Error(), `plugins."acme/x".limits.`+text) {
			t.Errorf("%v: %v", values, err)
		}
	}
	if l, err := operatorLimits("acme/x", map[string]int64{"memory_mib": 512}); err != nil || l.MemoryMiB != 512 {
		t.Errorf("%+v, %v", l, err)
	}
}
