package memory_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

// longGuest is an instance without an engine: it has pages, and touches them.
type longGuest struct {
	m     *memory.Memory
	image *memory.Image
	saved []byte
}

func (g *longGuest) Size() uint32 { return uint32(len(g.m.Bytes())) }

func (g *longGuest) Grow(pages uint32) (uint32, bool) {
	before := g.Size()
	return before / page, g.m.Reallocate(uint64(before)+uint64(pages)*page) != nil
}

// call writes the pages of one call and reads as many others.
func (g *longGuest) call(pages []int) (sum byte) {
	view := g.m.Bytes()
	for _, at := range pages {
		view[at*4096+at%4096]++
		sum += view[len(view)-1-at*4096]
	}
	return sum
}

func newLongGuest(b *testing.B, pool *memory.Pool, size int64) *longGuest {
	m, err := pool.New(size, 2*size)
	must(b, err)
	g := &longGuest{m: m}
	m.Reallocate(uint64(size))
	random := rand.New(rand.NewPCG(1, 2))
	view := m.Bytes()
	for i := range view {
		view[i] = byte(random.Uint32())
	}
	g.saved = bytes.Clone(view)
	g.image, err = m.Snapshot(g)
	must(b, err)
	b.Cleanup(func() {
		must(b, m.Close())
		must(b, g.image.Close())
	})
	must(b, m.Restore(g, g.image))
	return g
}

// calls are the pages of 64 calls: the same every time, or a quarter of them out
// of four times as many.
func calls(size int64, touched int, varied bool) [][]int {
	random := rand.New(rand.NewPCG(3, 4))
	candidates := random.Perm(int(size / 4096))
	hot := candidates[:min(touched, len(candidates))]
	others := candidates[:min(4*touched, len(candidates))]
	list := make([][]int, 64)
	for i := range list {
		for n, at := range hot {
			if varied && n%4 == 0 {
				at = others[random.IntN(len(others))]
			}
			list[i] = append(list[i], at)
		}
	}
	return list
}

// methods restore after a call. The first is what all are measured against.
func methods() []method {
	restore := func(b *testing.B, g *longGuest) { must(b, g.m.Restore(g, g.image)) }
	return []method{
		{"copy", nil, func(_ *testing.B, g *longGuest) { copy(g.m.Bytes(), g.saved) }, false},
		{"compare", func(p *memory.Pool) { p.Lacks(true, true, false) }, restore, false},
		{"unmap", nil, func(b *testing.B, g *longGuest) { must(b, g.m.Forget()) }, false},
		{"pagemap", func(p *memory.Pool) { p.Lacks(false, true, false) }, restore, false},
		{"restore", nil, restore, false},
		{"restore-varied", nil, restore, true},
	}
}

type method struct {
	name    string
	lack    func(*memory.Pool)
	restore func(*testing.B, *longGuest)
	varied  bool
}

// BenchmarkRestore is a call that touches pages and its restore, by image size in
// KiB, pages written (as many are read) and method.
func BenchmarkRestore(b *testing.B) {
	for _, size := range []int64{128 << 10, 1 << 20, 2 << 20, 3328 << 10, 8 << 20} {
		for _, touched := range []int{4, 16, 64} {
			if int64(touched)*4096 > size {
				continue
			}
			for _, method := range methods() {
				b.Run(fmt.Sprintf("%dK/%d/%s", size>>10, touched, method.name), func(b *testing.B) {
					method.measure(b, size, touched)
				})
			}
		}
	}
}

func (m method) measure(b *testing.B, size int64, touched int) {
	pool := newPool(b)
	if m.lack != nil {
		m.lack(pool)
	}
	g, list := newLongGuest(b, pool, size), calls(size, touched, m.varied)
	b.ReportAllocs()
	next := 0
	for b.Loop() {
		g.call(list[next%len(list)])
		m.restore(b, g)
		next++
	}
	b.StopTimer()
	if !bytes.Equal(g.m.Bytes(), g.saved) {
		b.Fatal("not restored")
	}
	b.ReportMetric(float64(pool.Stats().Scans)/float64(next), "scans/op")
}

// BenchmarkRestoreInNoise has another goroutine make garbage, so that faults come
// from elsewhere too.
func BenchmarkRestoreInNoise(b *testing.B) {
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		var kept [64][]byte
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				kept[i%len(kept)] = make([]byte, 10<<10+i%4096)
			}
		}
	})
	for _, size := range []int64{2 << 20, 3328 << 10} {
		b.Run(fmt.Sprintf("%dK", size>>10), func(b *testing.B) {
			method{restore: methods()[4].restore}.measure(b, size, 16)
		})
	}
	close(stop)
	group.Wait()
}

// BenchmarkInstance is the memory's part of a new instance of an image, and of its
// end.
func BenchmarkInstance(b *testing.B) {
	for _, size := range []int64{128 << 10, 2 << 20} {
		b.Run(fmt.Sprintf("%dK", size>>10), func(b *testing.B) {
			pool := newPool(b)
			g := newLongGuest(b, pool, size)
			for b.Loop() {
				m, err := pool.New(size, 2*size)
				must(b, err)
				m.Reallocate(uint64(size))
				must(b, m.Restore(&longGuest{m: m}, g.image))
				must(b, m.Close())
			}
		})
	}
}
