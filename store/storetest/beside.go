package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/store"
)

func testKV(t *testing.T, h Harness) {
	b := open(t, h)
	ctx := t.Context()
	set := func(namespace, key, value string) {
		t.Helper()
		if err := b.KV.Set(ctx, namespace, key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.KV.Get(ctx, "n", "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get an unknown key: %v", err)
	}
	for _, key := range []string{"a/\xff", "a/é", "b", "a/10", "a/9", "a/Z", "a/a", "a", "a/"} {
		set("n", key, "1")
	}
	set("other", "a/0", "1")
	set("n", "a/9", "two")
	set("n", "b", "")
	for key, want := range map[string]string{"a/9": "two", "b": "", "a/\xff": "1"} {
		if got, err := b.KV.Get(ctx, "n", key); err != nil || string(got) != want {
			t.Errorf("get %q: %q %v, want %q", key, got, err, want)
		}
	}
	lists := []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 99, []string{"a", "a/", "a/10", "a/9", "a/Z", "a/a", "a/é", "a/\xff", "b"}},
		{"a/", "", 99, []string{"a/", "a/10", "a/9", "a/Z", "a/a", "a/é", "a/\xff"}},
		{"a/", "a/9", 2, []string{"a/Z", "a/a"}},
		{"a/", "a/", 1, []string{"a/10"}},
		{"a/", "0", 1, []string{"a/"}},
		{"a/", "b", 9, nil},
		{"a/", "", 0, nil},
		{"c", "", 9, nil},
	}
	for _, l := range lists {
		got, err := b.KV.List(ctx, "n", l.prefix, l.after, l.limit)
		if diff := cmp.Diff(l.want, got); diff != "" || err != nil {
			t.Errorf("list %q after %q: %v\n%s", l.prefix, l.after, err, diff)
		}
	}
	for range 2 {
		if err := b.KV.Delete(ctx, "n", "a/9"); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	b.reopen(t)
	if _, err := b.KV.Get(ctx, "n", "a/9"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get a deleted key: %v", err)
	}
	if got, err := b.KV.Get(ctx, "n", "a/Z"); err != nil || string(got) != "1" {
		t.Errorf("get after reopening: %q %v", got, err)
	}
	testNamespaces(t, b)
}

// testNamespaces begins with the namespaces n and other.
func testNamespaces(t *testing.T, b *fixture) {
	ctx := t.Context()
	for _, namespace := range []string{"p:", "p:a", "p:a:1", "p:a-b", "p:a\xff", "q"} {
		for _, key := range []string{"1", "2", "3"} {
			if err := b.KV.Set(ctx, namespace, key, []byte("v")); err != nil {
				t.Fatal(err)
			}
		}
	}
	lists := []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 99, []string{"n", "other", "p:", "p:a", "p:a-b", "p:a:1", "p:a\xff", "q"}},
		{"p:", "", 99, []string{"p:", "p:a", "p:a-b", "p:a:1", "p:a\xff"}},
		{"p:", "p:", 2, []string{"p:a", "p:a-b"}},
		{"p:a:", "", 9, []string{"p:a:1"}},
		{"p:", "0", 1, []string{"p:"}},
		{"p:", "q", 9, nil},
		{"p:", "", 0, nil},
		{"r", "", 9, nil},
	}
	for _, l := range lists {
		got, err := b.KV.Namespaces(ctx, l.prefix, l.after, l.limit)
		if diff := cmp.Diff(l.want, got); diff != "" || err != nil {
			t.Errorf("namespaces %q after %q: %v\n%s", l.prefix, l.after, err, diff)
		}
	}
	for _, step := range []struct {
		limit, removed int
		left           []string
	}{{0, 0, []string{"1", "2", "3"}}, {2, 2, []string{"3"}}, {2, 1, nil}, {2, 0, nil}} {
		removed, err := b.KV.Clear(ctx, "p:a", step.limit)
		if err != nil || removed != step.removed {
			t.Errorf("clear %d: %d, %v", step.limit, removed, err)
		}
		if left, err := b.KV.List(ctx, "p:a", "", "", 9); err != nil || !cmp.Equal(left, step.left) {
			t.Errorf("after clearing %d: %v, %v", step.limit, left, err)
		}
	}
	if got, err := b.KV.Namespaces(ctx, "p:a", "", 9); err != nil || !cmp.Equal(got, []string{"p:a-b", "p:a:1", "p:a\xff"}) {
		t.Errorf("after clearing: %q, %v", got, err)
	}
}

func testBlobs(t *testing.T, h Harness) {
	b := open(t, h)
	ctx := t.Context()
	value := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	digest := sha256.Sum256(value)
	want := hex.EncodeToString(digest[:])
	for _, wrong := range []string{"", "x", "../../plinth.db", want[:63], want[:63] + "G", want} {
		if _, err := b.Blobs.Get(ctx, wrong); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get %q: %v", wrong, err)
		}
		if _, _, err := b.Blobs.Open(ctx, wrong); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("open %q: %v", wrong, err)
		}
	}
	var puts sync.WaitGroup
	for range 16 {
		puts.Go(func() {
			if got, err := b.Blobs.Put(ctx, value); err != nil || got != want {
				t.Errorf("put: %s %v", got, err)
			}
		})
	}
	puts.Wait()
	check := func() {
		t.Helper()
		if got, err := b.Blobs.Get(ctx, want); err != nil || !bytes.Equal(got, value) {
			t.Errorf("get: %d bytes, %v", len(got), err)
		}
		reader, size, err := b.Blobs.Open(ctx, want)
		if err != nil || size != int64(len(value)) {
			t.Fatalf("open: %d bytes, %v", size, err)
		}
		got, err := io.ReadAll(reader)
		if err = errors.Join(err, reader.Close()); err != nil || !bytes.Equal(got, value) {
			t.Errorf("read: %d bytes, %v", len(got), err)
		}
	}
	check()
	b.reopen(t)
	check()
	if empty, err := b.Blobs.Put(ctx, nil); err != nil {
		t.Errorf("put nothing: %v", err)
	} else if got, err := b.Blobs.Get(ctx, empty); err != nil || len(got) != 0 {
		t.Errorf("get nothing: %d bytes, %v", len(got), err)
	}

	b.SpoilBlob(t, want)
	if _, err := b.Blobs.Get(ctx, want); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("get spoiled: %v", err)
	}
	if _, _, err := b.Blobs.Open(ctx, want); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("open spoiled: %v", err)
	}
	if _, err := b.Blobs.Put(ctx, value); err != nil {
		t.Errorf("put again: %v", err)
	}
	check()
	testSpoiledEvent(t, b)
}

// testSpoiledEvent: an event whose data is damaged is an error, never wrong data.
func testSpoiledEvent(t *testing.T, b *fixture) {
	e := large(20 << 10)
	b.append(t, "ses_spoiled", store.Any(), e)
	digest := sha256.Sum256(e.Data)
	b.SpoilBlob(t, fmt.Sprintf("%x", digest))
	if _, err := b.Read(t.Context(), "ses_spoiled", -1, 1); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("read: %v", err)
	}
}
