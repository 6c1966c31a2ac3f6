package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/abi/pack"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/host/wasm"
)

func TestInspect(t *testing.T) {
	folder := whole(t)
	candidate, err := At(folder)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Inspect(candidate)
	if err != nil {
		t.Fatal(err)
	}
	want := Report{ID: "acme/gold", Version: "1.0.0", Description: "A test", Digest: candidate.Digest, Bytes: len(candidate.Wasm),
		Tools: []ReportTool{{Name: "a", Description: "d", Effects: []string{}}}, Contexts: []string{}, Providers: []string{}, Transforms: []ReportTransform{},
		Requests: trust.Requests(candidate.Manifest), Requires: []string{}, Limits: map[string]int64{"fuel": 5}, Isolation: "restore", Settings: true, Goldens: 1,
		Module: ReportModule{Functions: 3, MemoryPages: 64, Imports: []string{}, Exports: []string{"memory memory", "plinth_abi_1 ()->()",
			"plinth_alloc (i32)->(i32)", "plinth_tool_execute (i32,i32)->(i64)"}}}
	if diff := cmp.Diff(want, report); diff != "" || len(report.Requests) != 2 {
		t.Error(diff)
	}
	// A file gives the same, whatever it is called.
	file := filepath.Join(t.TempDir(), "gold.bin")
	if err := os.WriteFile(file, candidate.Wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	if candidate, err = At(file); err != nil {
		t.Fatal(err)
	}
	if again, err := Inspect(candidate); err != nil || cmp.Diff(report, again) != "" || candidate.Origin != file {
		t.Errorf("%v %s", err, cmp.Diff(report, again))
	}
	broken, err := pack.WithManifest([]byte("\x00asm\x01\x00\x00\x00\x05\x03\x01\x03\x01"), []byte(manifest("acme/a", toolTable("a"))))
	if err != nil {
		t.Fatal(err)
	}
	candidate, err = Packed("p.wasm", broken, false)
	if err != nil {
		t.Fatal(err)
	}
	var refused *wasm.AdmissionError
	if _, err := Inspect(candidate); !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), "p.wasm: parse at byte ") {
		t.Errorf("%v", err)
	}
	if _, err := At(filepath.Join(folder, "none")); err == nil || err.Error() != filepath.Join(folder, "none")+": no such file or directory" {
		t.Errorf("%v", err)
	}
}
