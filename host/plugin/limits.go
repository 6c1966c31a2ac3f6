package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// limit is one of the engine's that a manifest may set, from 1 to most.
type limit struct {
	key  string
	most int64
	of   func(l *abi.ManifestLimits) *int64
}

func limits() []limit {
	return []limit{
		{"memory_mib", 512, func(l *abi.ManifestLimits) *int64 { return &l.MemoryMiB }},
		{"instances", 64, func(l *abi.ManifestLimits) *int64 { return &l.Instances }},
		{"pool_mib", 2048, func(l *abi.ManifestLimits) *int64 { return &l.PoolMiB }},
		{"wait_ms", 60_000, func(l *abi.ManifestLimits) *int64 { return &l.WaitMS }},
		{"start_ms", 30_000, func(l *abi.ManifestLimits) *int64 { return &l.StartMS }},
		{"fuel", 1 << 50, func(l *abi.ManifestLimits) *int64 { return &l.Fuel }},
		{"stack_kib", 16 << 10, func(l *abi.ManifestLimits) *int64 { return &l.StackKiB }},
		{"output_kib", 64 << 10, func(l *abi.ManifestLimits) *int64 { return &l.OutputKiB }},
		{"log_kib", 1024, func(l *abi.ManifestLimits) *int64 { return &l.LogKiB }},
		{"operations", 100_000, func(l *abi.ManifestLimits) *int64 { return &l.Operations }},
	}
}

// memoryProvider is the default for codecs, which hold a whole request.
const memoryProvider = 128

// engineLimits are the operator's where there are any, else the manifest's, else
// the engine's own.
func engineLimits(manifest abi.Manifest, operator abi.ManifestLimits) wasm.Limits {
	l := manifest.Limits
	for _, limit := range limits() {
		if value := *limit.of(&operator); value > 0 {
			*limit.of(&l) = value
		}
	}
	if l.MemoryMiB == 0 && len(manifest.Providers) > 0 {
		l.MemoryMiB = memoryProvider
	}
	return wasm.Limits{
		MemoryMiB: int(l.MemoryMiB), Instances: int(l.Instances), PoolMiB: int(l.PoolMiB),
		Wait: time.Duration(l.WaitMS) * time.Millisecond, Start: time.Duration(l.StartMS) * time.Millisecond,
		Fuel: l.Fuel, StackKiB: int(l.StackKiB), OutputBytes: int(l.OutputKiB) << 10, LogBytes: int(l.LogKiB) << 10,
		Operations: int(l.Operations),
	}
}

// operatorLimits reads what the operator sets for a plugin, by the manifest's names
// and within the same bounds.
func operatorLimits(id string, values map[string]int64) (abi.ManifestLimits, error) {
	var l abi.ManifestLimits
	var known []string
	left := maps.Clone(values)
	for _, limit := range limits() {
		value := values[limit.key]
		if value < 0 || value > limit.most {
			return l, fmt.Errorf("plugins.%q.limits.%s: it is %d; it must be from 1 to %d, or 0 for the plugin's own", id, limit.key, value, limit.most)
		}
		*limit.of(&l) = value
		known = append(known, limit.key)
		delete(left, limit.key)
	}
	if unknown := slices.Sorted(maps.Keys(left)); len(unknown) > 0 {
		return l, fmt.Errorf("plugins.%q.limits.%s: there is no such limit; known here: %s", id, unknown[0], strings.Join(known, ", "))
	}
	return l, nil
}
