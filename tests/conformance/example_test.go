package conformance

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	host "github.com/plinthhost/plinth/host/plugin"
	"github.com/plinthhost/plinth/host/wasm"
)

// replay answers operations as a golden has recorded them.
type replay struct {
	t        *testing.T
	recorded []host.GoldenOperation
}

func (r *replay) Call(_ context.Context, operation string, request []byte) []byte {
	body, _, err := abi.DecodeMessage(request)
	if err != nil || len(r.recorded) == 0 || r.recorded[0].Name != operation {
		r.t.Errorf("it asks for %s with %q (%v)", operation, request, err)
		return abi.EncodeMessage([]byte(`{"error":{"kind":"failed","message":"not recorded"}}`), nil)
	}
	next := r.recorded[0]
	r.recorded = r.recorded[1:]
	sameJSON(r.t, "the request of "+operation, body, next.Request)
	return next.Answer
}

// TestExamplesWithAnUnmodifiedPDK has the engine and Extism's own SDK run what the examples in
// AssemblyScript, built with Extism's PDK as npm has it, record in their goldens.
func TestExamplesWithAnUnmodifiedPDK(t *testing.T) {
	loaders := map[string]loader{
		"engine": func(spec wasm.Spec) (module, error) { return engine.Load(contextOfTests, spec) },
		"SDK":    sdk.load,
	}
	manifests, err := filepath.Glob("../../plugins/examples/*/package.json")
	if err != nil || len(manifests) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, manifest := range manifests {
		folder := filepath.Dir(manifest)
		name := filepath.Base(folder)
		goldens, err := host.Goldens(folder)
		if err != nil || len(goldens) == 0 {
			t.Fatalf("no goldens of %s: %v", name, err)
		}
		read := func() ([]byte, error) { return os.ReadFile(filepath.Join(folder, name+".wasm")) }
		for by, load := range loaders {
			one, err := start(load, read, "", false, abi.ExportTool)
			if err != nil {
				t.Fatal(err)
			}
			for _, golden := range goldens {
				t.Run(name+" by "+by+" "+filepath.Base(golden.Input), func(t *testing.T) { one.repeats(t, golden) })
			}
		}
	}
}

// repeats makes a golden's call.
func (l loaded) repeats(t *testing.T, golden host.Golden) {
	t.Helper()
	message, err := json.Marshal(abi.Call[json.RawMessage]{DeadlineMS: patience.Milliseconds(), Meta: abi.Meta{Plugin: id, Revision: revision}, Body: golden.Body})
	if err != nil {
		t.Fatal(err)
	}
	operations := &replay{t: t, recorded: golden.Operations}
	result, err := l.module.Call(t.Context(), wasm.Request{Entry: golden.Entry, Input: abi.EncodeMessage(message, nil), Deadline: patience,
		Lane: wasm.LaneTool, Operations: operations, Log: func(line string) { t.Errorf("it logs %q", line) }})
	if err != nil {
		t.Fatal(err)
	}
	answer, _, err := abi.DecodeMessage(result.Output)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "the answer", answer, golden.Answer)
	if len(operations.recorded) > 0 {
		t.Errorf("it does not ask for %s", operations.recorded[0].Name)
	}
}
