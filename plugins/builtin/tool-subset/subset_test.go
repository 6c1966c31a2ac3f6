package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

func TestToolsOfAnAgent(t *testing.T) {
	for _, c := range []struct{ config, agent, want string }{
		{`{}`, "build", "bash read structured_output web_get web_put"},
		{`{"agents":{"plan":{"only":["read"]}}}`, "build", "bash read structured_output web_get web_put"},
		{`{"agents":{"plan":{"only":["read"]}}}`, "plan", "read structured_output"},
		{`{"agents":{"plan":{"only":[]}}}`, "plan", "structured_output"},
		{`{"agents":{"plan":{"without":["web_*"]}}}`, "plan", "bash read structured_output"},
		{`{"agents":{"plan":{"only":["web_*","bash"],"without":["web_put"]}}}`, "plan", "bash structured_output web_get"},
		{`{"agents":{"*":{"without":["bash"]},"plan":{"only":["bash"]}}}`, "build", "read structured_output web_get web_put"},
		{`{"agents":{"*":{"without":["bash"]},"plan":{"only":["bash"]}}}`, "plan", "bash structured_output"},
		{`{"agents":{"*":{"without":["*"]}}}`, "", "structured_output"},
	} {
		if err := plinthtest.Configure(t, json.RawMessage(c.config)); err != nil {
			t.Fatal(err)
		}
		request := abi.TransformApply{Transform: "tool-subset", Purpose: "turn", Agent: c.agent}
		left := map[string]bool{}
		var names []string
		for _, name := range []string{"bash", "read", "structured_output", "web_get", "web_put"} {
			request.Tools, names, left[name] = append(request.Tools, abi.ToolDefinition{Name: name}), append(names, name), true
		}
		got, err := plinthtest.Call[abi.TransformEdits](t, abi.ExportTransform, request)
		if err != nil {
			t.Fatal(err)
		}
		for _, edit := range got.Edits {
			if edit.Part != "tools" || edit.Op != abi.EditDrop || !left[edit.ID] {
				t.Errorf("%+v", edit)
			}
			left[edit.ID] = false
		}
		var kept []string
		for _, name := range names {
			if left[name] {
				kept = append(kept, name)
			}
		}
		if strings.Join(kept, " ") != c.want {
			t.Errorf("%s of %s: %v, want %s", c.config, c.agent, kept, c.want)
		}
	}
}

func TestBadSubsetsAreNamed(t *testing.T) {
	for config, want := range map[string]string{
		`{"agents":{"plan":{}}}`:                   `agents."plan" has neither only nor without`,
		`{"agents":{"plan":{"only":["a","x*y"]}}}`: `agents."plan" has the tool "x*y"`,
		`{"agents":{"plan":{"without":[""]}}}`:     `agents."plan" has the tool ""`,
		`{"agents":{"plan":{"except":["a"]}}}`:     `unknown field "except"`,
	} {
		if err := plinthtest.Configure(t, json.RawMessage(config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", config, err, want)
		}
	}
}
