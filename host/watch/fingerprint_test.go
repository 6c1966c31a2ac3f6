package watch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWholeModule(t *testing.T) {
	whole := module(300)
	custom := func(n int) []byte { return append(module(1)[:8], bytes.Repeat([]byte{0, 1, 0}, n)...) }
	huge := binary.AppendUvarint([]byte("\x00asm\x01\x00\x00\x00\x00"), 1<<62)
	for _, test := range []struct {
		name    string
		content []byte
		want    bool
	}{
		{"whole", whole, true},
		{"the header alone", whole[:8], true},
		{"nothing", nil, false},
		{"half a header", whole[:6], false},
		{"half a magic", whole[:2], false},
		{"half a length", whole[:10], false},
		{"an id alone", whole[:9], false},
		{"a byte too few", whole[:len(whole)-1], false},
		{"a byte too many", append(bytes.Clone(whole), 0), false},
		{"a length beyond all", huge, false},
		{"zeros", make([]byte, 1000), false},
		{"no module", []byte("this is text"), true},
		{"as many sections as are looked at", custom(maxSections - 1), true},
		{"more sections", custom(maxSections + 1)[:8+3*(maxSections+1)-1], true}, // cut, and not seen
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.wasm")
			write(t, path, test.content)
			if got := wholeModule(path, int64(len(test.content))); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestFingerprint changes with whatever changes a plugin, and with nothing else.
func TestFingerprint(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(mkdir(t, folder, "testdata"), "a.json")
	write(t, file, []byte("one"))
	long := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name    string
		do      func()
		changes bool
	}{
		{"nothing", func() {}, false},
		{"a hidden file", func() { write(t, filepath.Join(folder, ".git"), nil) }, false},
		{"a file too deep", func() { write(t, filepath.Join(mkdir(t, folder, "testdata", "deep"), "a"), nil) }, false},
		{"another size", func() { write(t, file, []byte("three")) }, true},
		{"another time", func() {
			if err := os.Chtimes(file, long, long); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"replaced by one that looks the same", func() {
			write(t, file+".new", []byte("other"))
			if err := os.Chtimes(file+".new", long, long); err != nil {
				t.Fatal(err)
			}
			rename(t, file+".new", file)
		}, true},
		{"one file more", func() { write(t, filepath.Join(folder, "b"), nil) }, true},
		{"a link to nowhere", func() { symlink(t, "nowhere", filepath.Join(folder, "link")) }, true},
		{"a link to itself", func() { symlink(t, "loop", filepath.Join(folder, "loop")) }, true},
		{"one file less", func() { remove(t, file) }, true},
	} {
		before := lookAt(folder).state
		test.do()
		if after := lookAt(folder).state; (after != before) != test.changes {
			t.Errorf("%s: changed %v", test.name, after != before)
		}
	}
	if got := lookAt(filepath.Join(folder, "none")).state; got != (fingerprint{}) {
		t.Error("what is not there has a fingerprint")
	}
}

// TestMaxFiles: what a folder has beyond the limit is not looked at.
func TestMaxFiles(t *testing.T) {
	folder := t.TempDir()
	for i := range maxFiles {
		write(t, filepath.Join(folder, fmt.Sprintf("%05d", i)), nil)
	}
	before := lookAt(folder).state
	write(t, filepath.Join(folder, "z"), nil)
	if lookAt(folder).state != before {
		t.Error("more files were looked at")
	}
	write(t, filepath.Join(folder, "04095"), []byte("x"))
	if lookAt(folder).state == before {
		t.Error("fewer files were looked at")
	}
}

// TestLinksThatLoop end.
func TestLinksThatLoop(t *testing.T) {
	f := &folder{path: real(t)}
	symlink(t, "b.wasm", filepath.Join(f.path, "a.wasm"))
	symlink(t, "a.wasm", filepath.Join(f.path, "b.wasm"))
	all := interests{}
	all.of(f)
	if len(all[f.path]) == 0 {
		t.Error("the folder is not watched")
	}
}
