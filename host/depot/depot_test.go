package depot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/depot"
)

func mustOpen(t *testing.T, folder string) *depot.Depot {
	t.Helper()
	d, err := depot.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustPut(t *testing.T, d *depot.Depot, text string) string {
	t.Helper()
	digest, err := d.Put([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

const digestOfA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"

func TestWhatIsPutIsKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data", "plugins")
	d := mustOpen(t, folder)
	a, b := mustPut(t, d, "a"), mustPut(t, d, "b")
	if again := mustPut(t, d, "a"); again != a || a != digestOfA {
		t.Errorf("%s, then %s", a, again)
	}
	put(t, folder, "notes.txt", "x")
	put(t, folder, "x.wasm", "x")
	d = mustOpen(t, folder)
	if all, err := d.List(); err != nil || cmp.Diff([]string{b, a}, all) != "" {
		t.Errorf("%v, %v", all, err)
	}
	if packed, err := d.Get(a); err != nil || string(packed) != "a" {
		t.Errorf("%q, %v", packed, err)
	}
	if has, err := d.Has(b); !has || err != nil {
		t.Errorf("%v, %v", has, err)
	}
	for range 2 {
		if err := d.Remove(b); err != nil {
			t.Error(err)
		}
	}
	if has, err := d.Has(b); has || err != nil {
		t.Errorf("%v, %v", has, err)
	}
	if _, err := d.Get(b); !errors.Is(err, depot.ErrNotFound) || !strings.Contains(err.Error(), b) {
		t.Errorf("%v", err)
	}
	for path, want := range map[string]os.FileMode{folder: 0o700 | os.ModeDir, filepath.Join(folder, a+".wasm"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func put(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A name that is no digest leads to no file, whatever lies there.
func TestNamesThatAreNoDigests(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "plugins")
	d := mustOpen(t, folder)
	put(t, filepath.Dir(folder), "out.wasm", "secret")
	for _, name := range []string{"", "../out", strings.ToUpper(digestOfA), digestOfA[:63], digestOfA + "0"} {
		if _, err := d.Get(name); !errors.Is(err, depot.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
		if has, err := d.Has(name); has || err != nil {
			t.Errorf("%q: %v, %v", name, has, err)
		}
		if err := d.Remove(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "out.wasm")); err != nil {
		t.Error(err)
	}
}

func TestDamageIsFoundAndMended(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "plugins")
	d := mustOpen(t, folder)
	a := mustPut(t, d, "a")
	mustPut(t, d, "bb")
	path := filepath.Join(folder, a+".wasm")
	for _, damage := range []string{"", "b", "aa"} {
		put(t, folder, a+".wasm", damage)
		_, err := d.Get(a)
		var damaged *depot.DamagedError
		if !errors.As(err, &damaged) || damaged.Digest != a || damaged.Path != path ||
			!strings.Contains(err.Error(), path+" is damaged") || !strings.Contains(err.Error(), "add the plugin again") {
			t.Errorf("%q: %v", damage, err)
		}
		found, err := depot.Check(t.Context(), folder)
		if err != nil || found.Plugins != 2 || found.Bytes != 2 || len(found.Damaged) != 1 || found.Damaged[0].Digest != a {
			t.Errorf("%+v, %v", found, err)
		}
		if mustPut(t, d, "a") != a {
			t.Error("another digest")
		}
		if packed, err := d.Get(a); err != nil || string(packed) != "a" {
			t.Errorf("after putting it again: %q, %v", packed, err)
		}
	}
	if found, err := depot.Check(t.Context(), filepath.Join(folder, "none")); err != nil || found.Plugins != 0 {
		t.Errorf("a folder that is not there: %+v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := depot.Check(ctx, folder); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A put that fails leaves neither the name nor a file without one.
func TestAPutThatFails(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "plugins")
	d := mustOpen(t, folder)
	// The name is taken by what a rename cannot replace.
	if err := os.MkdirAll(filepath.Join(folder, digestOfA+".wasm", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if digest, err := d.Put([]byte("a")); err == nil || digest != "" || !strings.HasPrefix(err.Error(), "put plugin ca978112ca1bbdca… into the depot: ") {
		t.Errorf("%q, %v", digest, err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if digest, err := d.Put([]byte("a")); !errors.Is(err, os.ErrNotExist) || digest != "" {
		t.Errorf("%q, %v", digest, err)
	}
	put(t, filepath.Dir(folder), "plugins", "a file")
	if _, err := depot.Open(folder); err == nil || !strings.HasPrefix(err.Error(), "open the depot: ") {
		t.Errorf("%v", err)
	}
}

func TestManyAtATime(t *testing.T) {
	d := mustOpen(t, filepath.Join(t.TempDir(), "plugins"))
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			digest, err := d.Put(fmt.Append(nil, "plugin ", n%4))
			if err == nil {
				_, err = d.Get(digest)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if all, err := d.List(); err != nil || len(all) != 4 {
		t.Errorf("%v, %v", all, err)
	}
}

const childFolder = "PLINTH_DEPOT_CHILD"

// TestKill kills a process that puts plugins. What it answered for is there and whole;
// of the rest nothing is left once the depot is open.
func TestKill(t *testing.T) {
	if folder := os.Getenv(childFolder); folder != "" {
		putForever(folder)
	}
	folder := filepath.Join(t.TempDir(), "plugins")
	acknowledged := map[string]bool{}
	for kill := range 8 {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKill$")
		command.Env = append(os.Environ(), childFolder+"="+folder)
		output, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		var digest string
		for n := 0; ; n++ {
			if _, err := fmt.Fscanln(output, &digest); err != nil {
				break
			}
			if depot.IsDigest(digest) {
				acknowledged[digest] = true
			}
			if n == 3+kill {
				if err := command.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := command.Wait(); err == nil || command.ProcessState.Exited() {
			t.Fatalf("the child ended by itself: %v", err)
		}
		d := mustOpen(t, folder)
		for digest := range acknowledged {
			if _, err := d.Get(digest); err != nil {
				t.Error(err)
			}
		}
		entries, err := os.ReadDir(folder)
		all, listErr := d.List()
		if err := errors.Join(err, listErr); err != nil || len(entries) != len(all) {
			t.Errorf("%d files of %d plugins, %v", len(entries), len(all), err)
		}
		if found, err := depot.Check(t.Context(), folder); err != nil || len(found.Damaged) > 0 {
			t.Errorf("%+v, %v", found, err)
		}
	}
}

// putForever says each digest once it is kept.
func putForever(folder string) {
	d, err := depot.Open(folder)
	for n := 0; err == nil; n++ {
		var digest string
		digest, err = d.Put(bytes.Repeat(fmt.Append(nil, os.Getpid(), " ", n, "\n"), 10_000))
		fmt.Println(digest)
	}
	fmt.Println(err)
	os.Exit(1)
}
