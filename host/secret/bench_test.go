package secret_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/secret"
)

// BenchmarkScrub measures a megabyte of JSON without a secret in it, which is what
// nearly all bytes are.
func BenchmarkScrub(b *testing.B) {
	line := `{"id":"evt_01","type":"content_block_delta","delta":{"type":"text_delta","text":"The weather in Oslo is `
	var text strings.Builder
	random := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 1<<20 {
		fmt.Fprintf(&text, "%s%x %d\"}}\n\n", line, random.Uint64(), random.IntN(1e6))
	}
	for _, secrets := range []int{1, 10, 256} {
		var scrubber secret.Scrubber
		for i := range secrets {
			scrubber.Add(secret.NewValue(fmt.Sprintf("sk-proj-%d-%x%x", i, random.Uint64(), random.Uint64())))
		}
		b.Run(fmt.Sprintf("text/secrets=%d", secrets), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if len(scrubber.Scrub(text.String())) != text.Len() {
					b.Fatal("changed")
				}
			}
		})
		b.Run(fmt.Sprintf("stream/secrets=%d", secrets), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if n, err := io.Copy(io.Discard, scrubber.Reader(strings.NewReader(text.String()))); err != nil || n != int64(text.Len()) {
					b.Fatal(n, err)
				}
			}
		})
	}
}
