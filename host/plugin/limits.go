package plugin

import (
	"fmt"
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

// checkLimits holds what the operator sets for a plugin to the same bounds.
func checkLimits(id string, operator abi.ManifestLimits) error {
	for _, limit := range limits() {
		if value := *limit.of(&operator); value < 0 || value > limit.most {
			return fmt.Errorf("plugins.%q.limits.%s: it is %d; it must be from 1 to %d, or 0 for the plugin's own", id, limit.key, value, limit.most)
		}
	}
	return nil
}
