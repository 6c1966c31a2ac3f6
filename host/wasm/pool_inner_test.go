package wasm

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// However much of memory instances begin with, what is counted for them is taken
// back when they are gone.
func TestPoolCountsWhatInstancesHave(t *testing.T) {
	p := newPool(Limits{PoolMiB: 1}.WithDefaults(), false)
	p.settle(200 << 10)
	for n := range 20 {
		if err := p.enter(context.Background(), "", time.Second); err != nil {
			t.Fatal(err)
		}
		if i, _ := p.take(""); i != nil {
			t.Fatal("an instance comes from nowhere")
		}
		begun := &instance{bytes: int64(n%5) * 100 << 10}
		p.started(begun)
		if p.held != begun.bytes {
			t.Errorf("%d bytes are counted, %d are there", p.held, begun.bytes)
		}
		p.leave("", begun, false)
		if p.held != 0 {
			t.Fatalf("%d bytes are counted when all are gone", p.held)
		}
	}
}

// What was granted before an instance's size was known is counted once it is.
func TestPoolSettles(t *testing.T) {
	p := newPool(Limits{PoolMiB: 1}.WithDefaults(), false)
	for range 3 {
		if err := p.enter(context.Background(), "", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	p.settle(300 << 10)
	if p.held != 900<<10 || p.may("") {
		t.Errorf("%d bytes are counted, and another may begin: %v", p.held, p.may(""))
	}
	p.leave("", nil, false)
	if p.held != 600<<10 || !p.may("") {
		t.Errorf("%d bytes are counted, and another may begin: %v", p.held, p.may(""))
	}
}

func TestLimitedBuffer(t *testing.T) {
	var kept bytes.Buffer
	l := &limitedBuffer{buffer: &kept, left: 10}
	for range 3 {
		if n, err := l.Write([]byte("1234567")); n != 7 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if got := kept.String(); got != strings.Repeat("1234567", 2)[:10] {
		t.Errorf("it keeps %q", got)
	}
}
