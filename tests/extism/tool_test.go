package extism

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
)

// asTool calls a plugin as the tool that the host takes it for, by either engine.
func asTool(t *testing.T, engine, oracle host) {
	t.Helper()
	for which, module := range map[string]bridge.Module{"engine": engine, "SDK": oracle} {
		asked := new(operations)
		answer, err := bridge.NewCaller(module).Call(context.Background(), bridge.Call{
			Entry: abi.ExportTool, Message: abi.EncodeMessage([]byte(`{}`), nil), Operations: asked,
		})
		if err != nil {
			t.Errorf("the %s: %v", which, err)
			continue
		}
		text, _, err := abi.DecodeMessage(answer)
		if err != nil {
			t.Error(err)
		}
		want := `{"ok":{"content":[{"type":"text","text":"done by Extism"}]}}`
		if difference := cmp.Diff(want, string(text)); difference != "" || len(asked.asked) != 1 {
			t.Errorf("the %s asked %q; the answer (-want +got):\n%s", which, asked.asked, difference)
		}
	}
}
