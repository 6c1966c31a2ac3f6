package memory_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/plinthhost/plinth/host/wasm/memory"
)

// modelled is an instance beside the bytes it must have.
type modelled struct {
	*guest
	h        *house
	compiled wazero.CompiledModule
	image    *memory.Image
	pictured []byte // the image's
	model    []byte
}

const (
	least = 3
	most  = 24
)

// TestMemoryAgainstModel does at random what an engine and its guests do.
func TestMemoryAgainstModel(t *testing.T) {
	onAll(t, func(t *testing.T, h *house) {
		compiled := h.compile(t, module(least, unbounded))
		rapid.Check(t, func(r *rapid.T) {
			m := &modelled{h: h, compiled: compiled, model: make([]byte, least*page)}
			m.open(t)
			defer m.end()
			r.Repeat(map[string]func(*rapid.T){
				"write":    m.write,
				"fill":     m.fill,
				"grow":     m.growth,
				"restore":  m.restoration,
				"snapshot": m.snapshot,
				"reopen":   func(*rapid.T) { m.reopen(t) },
				"":         m.compare,
			})
		})
		equal(t, "memories", h.pool.Stats().Memories, 0)
		equal(t, "images", h.pool.Stats().Images, 0)
		equal(t, "used", h.pool.Stats().Budget.Used, 0)
	})
}

func (m *modelled) open(t *testing.T) {
	owned, err := m.h.pool.New(least*page, most*page)
	must(t, err)
	instance, err := m.h.runtime.InstantiateModule(owned.Context(context.Background()), m.compiled, wazero.NewModuleConfig().WithName(""))
	must(t, err)
	m.guest = &guest{t: t, module: instance, memory: owned}
}

func (m *modelled) end() {
	m.close()
	if m.image != nil {
		must(m.t, m.image.Close())
	}
}

func (m *modelled) write(r *rapid.T) {
	for at, value := range rapid.MapOfN(rapid.IntRange(0, len(m.model)-1), rapid.Byte(), 1, 20).Draw(r, "bytes") {
		m.poke(uint64(at), value)
		m.model[at] = value
	}
}

// fill writes a stretch, as a host does that hands over a message.
func (m *modelled) fill(r *rapid.T) {
	from := rapid.IntRange(0, len(m.model)-1).Draw(r, "from")
	length := rapid.IntRange(0, len(m.model)-from).Draw(r, "length")
	message := bytes.Repeat([]byte{rapid.Byte().Draw(r, "value")}, length)
	if !m.module.Memory().Write(uint32(from), message) {
		r.Fatalf("%d bytes at %d of %d cannot be written", length, from, len(m.model))
	}
	copy(m.model[from:], message)
}

func (m *modelled) growth(r *rapid.T) {
	pages, now := rapid.IntRange(0, 10).Draw(r, "pages"), len(m.model)/page
	expected := int32(now)
	if now+pages > most {
		expected = -1
	} else {
		m.model = append(m.model, make([]byte, pages*page)...)
	}
	if got := m.grow(uint64(pages)); got != expected {
		r.Fatalf("grow by %d from %d: %d", pages, now, got)
	}
}

func (m *modelled) snapshot(r *rapid.T) {
	taken, err := m.memory.Snapshot(m.module.Memory())
	must(r, err)
	if m.image != nil {
		must(r, m.image.Close())
	}
	m.image, m.pictured = taken, bytes.Clone(m.model)
}

func (m *modelled) restoration(r *rapid.T) {
	if m.image == nil {
		r.Skip("nothing to restore to")
	}
	must(r, m.memory.Restore(m.module.Memory(), m.image))
	m.model = bytes.Clone(m.pictured)
}

// reopen goes on with a new instance, made from the image if there is one.
func (m *modelled) reopen(t *testing.T) {
	m.close()
	m.open(t)
	m.model = make([]byte, least*page)
	if m.image != nil {
		m.restore(m.image)
		m.model = bytes.Clone(m.pictured)
	}
}

func (m *modelled) compare(r *rapid.T) {
	if int(m.pages())*page != len(m.model) || int(m.module.Memory().Size()) != len(m.model) {
		r.Fatalf("%d pages for the guest, %d bytes for the host, expected %d", m.pages(), m.module.Memory().Size(), len(m.model))
	}
	if got := m.memory.Bytes(); !bytes.Equal(got, m.model) {
		for i := range got {
			if got[i] != m.model[i] {
				r.Fatalf("byte %d of %d is %d, expected %d", i, len(got), got[i], m.model[i])
			}
		}
	}
	all, stats := m.h.pool.Stats(), m.memory.Stats()
	used := all.Budget.Used - all.ImageBytes
	if stats.Charged < stats.Size || stats.Resident > max(stats.Charged, stats.Size) || used != stats.Charged {
		r.Fatalf("%+v, while the budget counts %d", stats, used)
	}
}
