package memory

import "maps"

// PoolStats are a pool's figures. Sizes are in bytes.
type PoolStats struct {
	Budget   Usage // of all pools that share it
	Memories int   // not closed
	Resident int64 // of all memories together, see Stats; images come in addition
	Free     int   // clean ranges of addresses that wait for a memory
	Lost     int   // ranges that could not be cleaned

	Images     int64 // not given back
	ImageBytes int64

	Restores int64 // that succeeded
	Discards int64 // that failed
	Scans    int64 // restores that had to ask the kernel for newly written pages
	Restored int64 // bytes copied back or cleared
	Dropped  int64 // bytes in pages given back because they were not needed for long

	Tracks  bool // written pages can be told from others; else all are compared
	Shrinks bool // a memory that grew can be restored
}

// Stats collects the figures. It looks through all memories, which takes some
// microseconds per MiB; calls go on meanwhile.
func (p *Pool) Stats() PoolStats {
	stats := PoolStats{
		Budget: p.budget.Usage(),
		Images: p.counts.images.Load(), ImageBytes: p.counts.imageBytes.Load(),
		Restores: p.counts.restores.Load(), Discards: p.counts.discards.Load(),
		Scans: p.counts.scans.Load(), Restored: p.counts.bytes.Load(), Dropped: p.counts.dropped.Load(),
		Tracks: p.tracker != nil, Shrinks: p.shrink,
	}
	p.mu.Lock()
	live := maps.Clone(p.live)
	for _, list := range p.free {
		stats.Free += len(list)
	}
	stats.Lost = len(p.lost)
	p.mu.Unlock()
	stats.Memories = len(live)
	for m := range live {
		stats.Resident += m.Stats().Resident
	}
	return stats
}
