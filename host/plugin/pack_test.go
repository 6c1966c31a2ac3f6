package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/abi/pack"
	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/wasm"
)

// whole is a plugin's folder with all that is packed.
func whole(t *testing.T) string {
	t.Helper()
	folder := recorded(t, `{"body": {"tool": "a"}}`, `{"ok":{}}`)
	tables := strings.Replace(toolTable("a"), `'{"type":"object"}'`, `"in.schema.json"`, 1) + goldenTable +
		"[config]\nschema = '{ \"type\": \"object\" }'\n[dev]\nbuild = \"make\"\nwatch = [\"*.go\"]\n[limits]\nfuel = 5\n" +
		"[[request.http]]\norigins = [\"https://a.example\"]\nmethods = [\"GET\"]\npaths = [\"/**\"]\nreason = \"it's needed\"\n" +
		"[[request.secret]]\nhandle = \"key\"\naudience = \"https://a.example\"\ninject = { kind = \"query\", name = \"k\" }\nreason = \"r\"\n"
	put(t, folder, map[string]string{ManifestName: manifest("acme/gold", tables), "in.schema.json": "{\n  \"type\": \"object\"\n}\n",
		"guest.wasm": string(saying("x").Bytes())})
	return folder
}

func TestAFolderIsPacked(t *testing.T) {
	folder := whole(t)
	packed, err := Pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Pack(folder); err != nil || !bytes.Equal(packed, again) {
		t.Errorf("another time it gives other bytes: %v", err)
	}
	candidate, err := Unpacked(folder)
	if err != nil || !bytes.Equal(candidate.Wasm, packed) || candidate.Origin != folder || candidate.Manifest.Dev == nil {
		t.Fatalf("%v, %+v", err, candidate.Manifest)
	}
	alone, err := Packed("gold.wasm", packed, false)
	if err != nil {
		t.Fatal(err)
	}
	candidate.Manifest.Dev = nil
	if diff := cmp.Diff(candidate.Manifest, alone.Manifest); diff != "" || alone.Digest != candidate.Digest || len(alone.Digest) != 64 {
		t.Errorf("%s, %s: %s", alone.Digest, candidate.Digest, diff)
	}
	// The manifest is what stands in the folder, with its schema in it.
	source, _, err := manifestIn(folder, os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	source.Dev, source.Tools[0].Input, source.Config.Schema = nil, `{"type":"object"}`, `{"type":"object"}`
	if diff := cmp.Diff(source, alone.Manifest); diff != "" {
		t.Error(diff)
	}
	outside, err := Goldens(folder)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := alone.Goldens()
	if diff := cmp.Diff(outside, inside); diff != "" || err != nil || len(inside) != 1 {
		t.Errorf("%v %s", err, diff)
	}
}

// A module that is packed already gets the manifest and files of its folder, and
// nothing else of it changes.
func TestAPackedModuleIsPackedAnew(t *testing.T) {
	folder := whole(t)
	packed, err := Pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	put(t, folder, map[string]string{"guest.wasm": string(packed)})
	if again, err := Pack(folder); err != nil || !bytes.Equal(packed, again) {
		t.Errorf("%v", err)
	}
	put(t, folder, map[string]string{ManifestName: manifest("acme/gold", toolTable("b"))})
	other, err := Pack(folder)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := wasm.Section(other, abi.FilesSection); files != nil || err != nil {
		t.Errorf("it keeps files that nothing names: %v", err)
	}
	bare, err := pack.WithSections(other, pack.Section{Name: abi.ManifestSection})
	if err != nil || !bytes.Equal(bare, saying("x").Bytes()) {
		t.Errorf("the module itself changed: %v", err)
	}
}

// still is a world in which nothing happens by chance. The engine's own for pure calls
// follows from the digest of the whole file.
type still struct{}

func (still) Realtime() time.Time      { return time.Unix(0, 0) }
func (still) Monotonic() time.Duration { return time.Second }
func (still) Sleep(time.Duration) bool { return false }
func (still) Random(p []byte)          { clear(p) }

// What is packed into a module is nothing to its code: calls cost and answer the same.
func TestPackingChangesNoCall(t *testing.T) {
	folder := filepath.Join("..", "..", "plugins", "examples", "house-rules")
	committed, ok, err := one(filepath.Join(folder, "house-rules.wasm"))
	if err != nil || !ok {
		t.Fatal(err)
	}
	unpacked, err := Unpacked(folder)
	if err != nil {
		t.Fatal(err)
	}
	if committed.Digest == unpacked.Digest || len(unpacked.Manifest.Goldens) == 0 || len(committed.Manifest.Goldens) > 0 {
		t.Fatal("the two are the same")
	}
	goldens, err := unpacked.Goldens()
	if err != nil {
		t.Fatal(err)
	}
	engine := newEngine(t)
	var reports [2][]wasm.Result
	for i, candidate := range []Candidate{committed, unpacked} {
		for _, golden := range goldens {
			spec, err := specOf(candidate, golden.Config, abi.ManifestLimits{})
			if err != nil {
				t.Fatal(err)
			}
			spec.Start = func(wasm.Ambient) wasm.Ambient { return still{} }
			module, err := engine.Load(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			result, err := module.Call(t.Context(), wasm.Request{Entry: golden.Entry, Deadline: goldenDeadline, Session: "s", Ambient: still{},
				Input: abi.EncodeMessage([]byte(`{"deadline_ms":1,"meta":{},"body":`+string(golden.Body)+`}`), nil), Operations: &answers{}})
			if err = errors.Join(err, module.Close()); err != nil {
				t.Fatal(err)
			}
			reports[i] = append(reports[i], result)
		}
	}
	for n, before := range reports[0] {
		if after := reports[1][n]; before.Fuel == 0 || before.Fuel != after.Fuel || before.Memory != after.Memory || !bytes.Equal(before.Output, after.Output) {
			t.Errorf("%s: fuel %d, then %d; memory %d, then %d", goldens[n].Input, before.Fuel, after.Fuel, before.Memory, after.Memory)
		}
	}
	proofs, err := Prove(t.Context(), engine, unpacked, goldens)
	if err != nil || len(proofs) != len(goldens) {
		t.Fatal(err)
	}
	for _, proof := range proofs {
		if proof.Err != nil {
			t.Error(proof.Err)
		}
	}
}

func TestFoldersThatAreNotPacked(t *testing.T) {
	large := strings.Repeat(" ", MaxGoldenBytes-20)
	schemas := map[string]string{}
	tables := toolTable("a")
	for _, name := range []string{"b", "c", "d", "e", "f"} {
		tables += strings.Replace(toolTable(name), `'{"type":"object"}'`, `"`+name+`.json"`, 1)
		schemas[name+".json"] = `{"description":"` + strings.Repeat("x", MaxManifestBytes-100) + `"}`
	}
	schemas[ManifestName] = manifest("acme/gold", tables)
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a golden that is not there", map[string]string{ManifestName: manifest("acme/gold", toolTable("a")+strings.ReplaceAll(goldenTable, "out.json", "none.json"))},
			"none.json: no such file or directory"},
		{"a golden that is broken", map[string]string{"in.json": "{"}, "in.json: unexpected EOF; it has config, body and operations"},
		{"a golden that is too large", map[string]string{"in.json": large + strings.Repeat(" ", 21)}, "in.json: it has 4194305 bytes, the limit is 4194304"},
		{"goldens that are too large together", map[string]string{"in.json": large, "out.json": large}, "the files of its goldens have 8388583 bytes together, the limit is 6291456; record less"},
		{"schemas that are too large together", schemas, "plugin.toml: with its schemas it has "},
		{"no module at all", map[string]string{"guest.wasm": "text"}, "parse at byte 0: this is not a WebAssembly module; "},
		{"a component", map[string]string{"guest.wasm": "\x00asm\x0d\x00\x01\x00"}, "parse at byte 4: this is a component, only core modules are run; "},
		{"a cut module", map[string]string{"guest.wasm": "\x00asm\x01\x00\x00\x00\x01\x05"}, "parse at byte 8: a section ends behind the module"},
		{"keys in capitals", map[string]string{ManifestName: manifest("acme/gold", strings.Replace(toolTable("a"), "input", "Input", 1))},
			"plugin.toml:8: tool.Input: there is no such key; all are in small letters"},
	}
	for _, test := range tests {
		folder := whole(t)
		put(t, folder, test.files)
		packed, err := Pack(folder)
		if packed != nil || err == nil || !strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(err.Error(), folder), ":/ "), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.name, err, test.want)
		}
		// Who it is, is known all the same.
		if candidate, _ := Unpacked(folder); candidate.Manifest.ID != "acme/gold" {
			t.Errorf("%s: the manifest is of %q", test.name, candidate.Manifest.ID)
		}
	}
}

func TestPackedFilesThatAreRefused(t *testing.T) {
	packed, err := Pack(whole(t))
	if err != nil {
		t.Fatal(err)
	}
	with := func(section []byte) []byte {
		module, err := pack.WithSections(packed, pack.Section{Name: abi.FilesSection, Content: section})
		if err != nil {
			t.Fatal(err)
		}
		return module
	}
	both := func(content []byte) []byte {
		return pack.EncodeFiles(map[string][]byte{"in.json": content, "out.json": content})
	}
	for _, test := range []struct {
		name   string
		module []byte
		want   string
	}{
		{"none", with(nil), `p.wasm: the module has no file in.json in its section "plinth.files", which a [[golden]] names; pack the plugin anew`},
		{"one missing", with(pack.EncodeFiles(map[string][]byte{"in.json": nil})), `p.wasm: the module has no file out.json in its section`},
		{"damaged", with([]byte("\x09")), "p.wasm: the packed files are damaged: a name at byte 0 is cut; pack the plugin anew"},
		{"one too large", with(both(make([]byte, MaxGoldenBytes+1))), "p.wasm: in.json: it has 4194305 bytes, the limit is 4194304"},
		{"too large together", with(both(make([]byte, MaxGoldenBytes))), "p.wasm: the files of its goldens have 8388623 bytes together, the limit is 6291456"},
		{"the whole too large", append(slices.Clip(packed), make([]byte, MaxPackedBytes)...), fmt.Sprintf("p.wasm: it has %d bytes, the limit is 25165824", len(packed)+MaxPackedBytes)},
	} {
		var source *SourceError
		if _, err := Packed("p.wasm", test.module, false); !errors.As(err, &source) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.name, err, test.want)
		}
	}
}
