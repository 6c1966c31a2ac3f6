package pack

import (
	"bytes"
	"errors"
	"testing"
)

// tiny is a module with a custom section "n" and an empty type section.
const tiny = header + "\x00\x03\x01nx" + "\x01\x01\x00"

func TestManifestGoesInAndOut(t *testing.T) {
	if _, err := Manifest([]byte(tiny)); !errors.Is(err, ErrNoManifest) {
		t.Fatalf("a module without a manifest: %v", err)
	}
	long := bytes.Repeat([]byte("manifest "), 50)
	for _, manifest := range [][]byte{[]byte("id = 1"), {}, long} {
		packed, err := WithManifest([]byte(tiny), manifest)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Manifest(packed)
		if err != nil || !bytes.Equal(got, manifest) {
			t.Errorf("got %q, %v; want %q", got, err, manifest)
		}
		if !bytes.HasPrefix(packed, []byte(tiny)) {
			t.Errorf("the rest of the module changed: %q", packed)
		}
		again, err := WithManifest(packed, manifest)
		if err != nil || !bytes.Equal(again, packed) {
			t.Errorf("packing twice: %v\n%q\n%q", err, again, packed)
		}
	}
}

func TestRefusesWhatIsNoModule(t *testing.T) {
	packed, err := WithManifest([]byte(tiny), []byte("m"))
	if err != nil {
		t.Fatal(err)
	}
	for name, module := range map[string]string{
		"empty":         "",
		"component":     "\x00asm\x0d\x00\x01\x00",
		"no length":     header + "\x01",
		"cut section":   header + "\x01\x05\x00",
		"long length":   header + "\x01\x80\x80\x80\x80\x80\x01",
		"cut name":      header + "\x00\x01\x09",
		"two manifests": string(packed) + string(packed[len(tiny):]),
	} {
		if _, err := Manifest([]byte(module)); !errors.Is(err, ErrModule) {
			t.Errorf("%s: Manifest: %v", name, err)
		}
	}
	for _, module := range []string{"", header + "\x01"} {
		if _, err := WithManifest([]byte(module), nil); !errors.Is(err, ErrModule) {
			t.Errorf("WithManifest(%q): %v", module, err)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(tiny))
	f.Add([]byte(header + "\x00\x80"))
	f.Fuzz(func(t *testing.T, module []byte) {
		packed, err := WithManifest(module, []byte("m"))
		if err != nil {
			return
		}
		if got, err := Manifest(packed); err != nil || string(got) != "m" {
			t.Fatalf("got %q, %v", got, err)
		}
	})
}
