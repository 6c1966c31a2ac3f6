package extism

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/wasm"
)

// conformanceGuests are those of tests/conformance that other toolchains than Go build;
// that package runs all of them, and Go's, by both hosts.
func conformanceGuests() []string { return []string{"assemblyscript", "rust", "tinygo"} }

// fixture is a call of a conformance guest; tests/conformance/guests/README.md says
// what it answers.
type fixture struct {
	name, entry, body string
	traps             bool
}

func fixtures(half string) []fixture {
	if half == "codec" {
		return codecFixtures()
	}
	return toolFixtures()
}

func toolFixtures() []fixture {
	tool := func(name, input string) string {
		return `{"tool":"` + name + `","input":` + input + `,"call":{"id":"c","message":"m"},"session":{"id":"s","agent":"a"},
			"location":{"directory":"/a","root":"/","git":true,"platform":"linux","utc_offset":60}}`
	}
	const previous = `"now_ms":1,"previous":{"conformance/guest/session":{"a":[1e400]}}`
	return []fixture{
		{name: "echo", entry: abi.ExportTool, body: tool("echo", `{"kéy 🙂":["\u0000\"\\",12345678901234567890,-0.0,1e400,null,{}]}`)},
		{name: "echo much", entry: abi.ExportTool, body: tool("echo", `"`+strings.Repeat("0123456789abcdé", 20_001)+`"`)},
		{name: "fail", entry: abi.ExportTool, body: tool("fail", `{"kind":"conflict","message":"because\n🙂"}`)},
		{name: "bytes", entry: abi.ExportTool, body: tool("files", `{"sizes":[3,0,65537,1]}`)},
		{name: "settings", entry: abi.ExportTool, body: tool("settings", `{}`)},
		{name: "bytes of an operation", entry: abi.ExportTool, body: tool("read", `{"path":"a"}`)},
		{name: "operation", entry: abi.ExportTool, body: tool("ask", `{"op":"later","request":{"a":[]}}`)},
		{name: "operation without a name", entry: abi.ExportTool, body: tool("ask", `{"op":"","request":{}}`)},
		{name: "count", entry: abi.ExportTool, body: tool("count", `{}`)},
		{name: "no such tool", entry: abi.ExportTool, body: tool("other", `{}`)},
		{name: "no body", entry: abi.ExportTool, body: `[`},
		{name: "trap", entry: abi.ExportTool, body: tool("trap", `{}`), traps: true},
		{name: "sources", entry: abi.ExportContext, body: `{"session":{"id":"s"},` + previous + `}`},
		{name: "sources fail", entry: abi.ExportContext, body: `{"session":{"id":"fail"},"now_ms":1}`},
	}
}

func codecFixtures() []fixture {
	const provider = `"provider":"conformance"`
	frames := `[{"event":"text","data":"ü"},{"event":"tool","data":"{}"},{"event":"finish","data":"stop"}]`
	return []fixture{
		{name: "encode", entry: abi.ExportProviderEncode, body: `{` + provider + `,"request":{"purpose":"turn","model":"m","messages":[]}}`},
		{name: "encode refused", entry: abi.ExportProviderEncode, body: `{` + provider + `,"request":{"purpose":"turn","model":"none","messages":[]}}`},
		{name: "decode", entry: abi.ExportProviderDecode, body: `{` + provider + `,"state":{"frames":7},"frames":` + frames + `,"end":true}`},
		{name: "decode refused", entry: abi.ExportProviderDecode, body: `{` + provider + `,"frames":[{"event":"x","data":""}],"end":false}`},
		{name: "classify", entry: abi.ExportProviderClassify, body: `{` + provider + `,"status":429,"headers":{"retry-after":"7"},"body":"b"}`},
		{name: "classify another's", entry: abi.ExportProviderClassify, body: `{"provider":"other","status":429,"body":"b"}`},
		{name: "transform", entry: abi.ExportTransform, body: `{"transform":"edit","purpose":"turn","tools":[{"name":"drop","description":"","input":{}}],
			"messages":[{"id":"m","role":"user","parts":[{"id":"p","type":"text","text":"ünï"}]}]}`},
		{name: "transform fails", entry: abi.ExportTransform, body: `{"transform":"edit","purpose":"fail"}`},
	}
}

// TestConformanceGuests has whole plugins answer messages of the ABI, byte for byte the
// same on both hosts. What is right tests/conformance knows.
func TestConformanceGuests(t *testing.T) {
	for _, language := range conformanceGuests() {
		for _, half := range []string{"tools", "codec"} {
			t.Run(language+" "+half, func(t *testing.T) {
				module, err := os.ReadFile("../conformance/guests/dist/extism-" + language + "-" + half + ".wasm")
				if err != nil {
					t.Fatal(err)
				}
				spec := wasm.Spec{Wasm: module, Entries: entries(t, module), CheckInit: bridge.CheckInit}
				if spec.Init, err = bridge.Init("conformance/guest", configOf(half)); err != nil {
					t.Fatal(err)
				}
				engine, oracle := hosts(t, spec)
				for _, test := range fixtures(half) {
					t.Run(test.name, func(t *testing.T) { compareFixture(t, engine, oracle, test) })
				}
			})
		}
	}
}

func configOf(half string) json.RawMessage {
	if half == "tools" {
		return json.RawMessage(`{"greeting":"héllo"}`)
	}
	return nil
}

func compareFixture(t *testing.T, engine, oracle host, test fixture) {
	t.Helper()
	message := abi.EncodeMessage([]byte(`{"deadline_ms":9876,"meta":{"plugin":"p"},"body":`+test.body+`}`), nil)
	got := compare(t, engine, oracle, test.entry, string(message))
	if test.traps {
		if got.Kind != wasm.KindTrap {
			t.Errorf("it ends as %q", got.Kind)
		}
		return
	}
	body, _, err := abi.DecodeMessage([]byte(got.Output))
	var answer abi.Answer[json.RawMessage]
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if got.Kind != "" || err != nil || (answer.OK == nil) == (answer.Error == nil) {
		t.Errorf("it ends as %q and answers %.200q: %v", got.Kind, got.Output, err)
	}
}
