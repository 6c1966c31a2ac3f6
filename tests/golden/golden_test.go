// Package golden runs the goldens of this repository's plugins through the modules
// that are committed, in the engine that runs them. Natively they run beside each
// plugin's sources.
package golden

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
	"github.com/plinthhost/plinth/tests/warm"
)

const root = "../.."

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// built is a plugin's folder with the module that was built from it.
type built struct {
	folder string
	module string
	// builtin: it is packed, trusted, and of the owner core.
	builtin bool
}

// plugins finds every folder with a manifest below plugins.
func plugins(t *testing.T) map[string]built {
	t.Helper()
	found := map[string]built{}
	for _, group := range []string{"builtin", "examples"} {
		manifests, err := filepath.Glob(filepath.Join(root, "plugins", group, "*", plugin.ManifestName))
		if err != nil || len(manifests) == 0 {
			t.Fatalf("no plugins in %s: %v", group, err)
		}
		for _, manifest := range manifests {
			folder := filepath.Dir(manifest)
			name := filepath.Base(folder)
			one := built{folder: folder, module: filepath.Join(folder, name+".wasm")}
			if group == "builtin" {
				one.builtin, one.module = true, filepath.Join(filepath.Dir(folder), "dist", name+".wasm")
			}
			found[group+"/"+name] = one
		}
	}
	return found
}

func (b built) candidate(t *testing.T) plugin.Candidate {
	t.Helper()
	module, err := os.ReadFile(b.module)
	if err != nil {
		t.Fatalf("%v; run scripts/plugins and commit what it writes", err)
	}
	candidate, err := plugin.Packed(b.module, module, b.builtin)
	if err != nil {
		t.Fatal(err)
	}
	return candidate
}

func newEngine(t *testing.T) *wasm.Engine {
	t.Helper()
	cache := filepath.Join(t.TempDir(), "cache")
	if err := warm.Into(cache); err != nil {
		t.Fatal(err)
	}
	engine, err := plugin.NewEngine(plugin.EngineOptions{CacheDir: cache}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func TestCommittedModulesDoWhatIsRecorded(t *testing.T) {
	engine := newEngine(t)
	for name, one := range plugins(t) {
		t.Run(name, func(t *testing.T) {
			goldens, err := plugin.Goldens(one.folder)
			if err != nil {
				t.Fatal(err)
			}
			candidate := one.candidate(t)
			recorded := map[string]bool{}
			for _, golden := range goldens {
				recorded[golden.Entry] = true
			}
			for _, entry := range entries(candidate.Manifest) {
				if !recorded[entry] {
					t.Errorf("no golden records %s", entry)
				}
			}
			proofs, err := plugin.Prove(t.Context(), engine, candidate, goldens)
			if err != nil || len(proofs) != len(goldens) {
				t.Fatalf("%d of %d goldens were run: %v", len(proofs), len(goldens), err)
			}
			for _, proof := range proofs {
				if proof.Err != nil {
					t.Error(proof.Err)
				}
			}
		})
	}
}

// entries lists what a manifest promises that the module does.
func entries(manifest abi.Manifest) (all []string) {
	if len(manifest.Tools) > 0 {
		all = append(all, abi.ExportTool)
	}
	if len(manifest.Contexts) > 0 {
		all = append(all, abi.ExportContext)
	}
	if len(manifest.Providers) > 0 {
		all = append(all, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
	}
	if len(manifest.Transforms) > 0 {
		all = append(all, abi.ExportTransform)
	}
	return all
}

// A module carries the manifest that stands beside its sources, but for what only
// its author needs.
func TestCommittedModulesCarryTheirManifest(t *testing.T) {
	for name, one := range plugins(t) {
		text, err := os.ReadFile(filepath.Join(one.folder, plugin.ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		source, err := plugin.DecodeManifest(one.folder, text, os.DirFS(one.folder))
		if err != nil {
			t.Fatal(err)
		}
		source.Dev, source.Goldens = nil, nil
		sameSchema := cmp.Comparer(func(a, b string) bool { return compact(a) == compact(b) })
		if diff := cmp.Diff(source, one.candidate(t).Manifest, sameSchema); diff != "" {
			t.Errorf("%s was packed with another manifest; run scripts/plugins and commit what it writes: %s", name, diff)
		}
	}
}

// compact is JSON without its white space, and other text as it is.
func compact(text string) string {
	var short bytes.Buffer
	if json.Compact(&short, []byte(text)) != nil {
		return text
	}
	return short.String()
}
