package plugin

import (
	"encoding/json"
	"fmt"
	"slices"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session/schema"
)

// ToolOf is the tool of the manifest that a call is of; false where it is of none.
func ToolOf(manifest abi.Manifest, call Golden) (abi.ManifestTool, bool) {
	var body abi.ToolExecute
	if call.Entry != abi.ExportTool || json.Unmarshal(call.Body, &body) != nil {
		return abi.ManifestTool{}, false
	}
	i := slices.IndexFunc(manifest.Tools, func(tool abi.ManifestTool) bool { return tool.Name == body.Tool })
	if i < 0 {
		return abi.ManifestTool{}, false
	}
	return manifest.Tools[i], true
}

// CheckOutput holds what a call answered as ok to the schema that the manifest promises of
// the tool, as a session does. A call of anything else has none.
func CheckOutput(manifest abi.Manifest, call Golden, ok json.RawMessage) error {
	tool, is := ToolOf(manifest, call)
	if !is || tool.Output == "" {
		return nil
	}
	var output abi.ToolOutput
	if err := json.Unmarshal(ok, &output); err != nil {
		return fmt.Errorf("the answer of %s cannot be read: %w", tool.Name, err)
	}
	if output.Structured == nil {
		return fmt.Errorf("the answer of %s has no structured output, so the call fails in a session; answer one, or take output out of its [[tool]]", tool.Name)
	}
	compiled, err := schema.Compile([]byte(tool.Output))
	if err != nil {
		return fmt.Errorf("tool %s: the schema of its output: %w", tool.Name, err)
	}
	if err := compiled.Check(output.Structured); err != nil {
		return fmt.Errorf("the structured output of %s does not fit its output schema, so the call fails in a session: %w", tool.Name, err)
	}
	return nil
}
