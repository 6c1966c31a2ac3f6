package plinthtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// Golden is the input file of a golden: a call's body with what surrounds it.
type Golden struct {
	// Config is given to plinth_init before the call.
	Config json.RawMessage `json:"config,omitempty"`
	Body   json.RawMessage `json:"body"`
	// Operations are the operations the call makes, in order, all of them.
	Operations []GoldenOperation `json:"operations,omitempty"`
}

// GoldenOperation is one recorded operation. Answer is {"ok": …} or {"error": …};
// Text, or Base64, are the raw bytes its $bytes refers to.
type GoldenOperation struct {
	Op      string          `json:"op"`
	Request json.RawMessage `json:"request"`
	Answer  json.RawMessage `json:"answer"`
	Text    string          `json:"text,omitempty"`
	Base64  string          `json:"base64,omitempty"`
}

// Goldens checks every [[golden]] of folder/plugin.toml: the answer, as JSON, must
// be what the output file holds. With update, or when Updating, the output files are
// written instead.
func Goldens(t *testing.T, folder string, update bool) {
	update = update || Updating()
	manifest, err := os.ReadFile(filepath.Join(folder, "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	goldens := goldenTables(string(manifest))
	if len(goldens) == 0 {
		t.Fatalf("%s/plugin.toml names no [[golden]]", folder)
	}
	for _, golden := range goldens {
		t.Run(filepath.Base(golden["input"]), func(t *testing.T) { golden.check(t, folder, update) })
	}
}

// table holds the keys of one [[golden]].
type table map[string]string

// goldenTables reads just these tables, which hold plain strings: the manifest's
// one strict reader is the host's.
func goldenTables(manifest string) (tables []table) {
	var current table
	for line := range strings.Lines(manifest) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			current = nil
			if strings.HasPrefix(line, "[[golden]]") {
				current = table{}
				tables = append(tables, current)
			}
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && current != nil {
			current[strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return tables
}

func (g table) check(t *testing.T, folder string, update bool) {
	export, ok := goldenExports()[g["export"]]
	if !ok {
		t.Fatalf("a golden's export is %q; it is one of tool, context, provider_encode, provider_decode, provider_classify, transform", g["export"])
	}
	encoded, err := os.ReadFile(filepath.Join(folder, g["input"]))
	if err != nil {
		t.Fatal(err)
	}
	var input Golden
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&input); err != nil {
		t.Fatalf("%s: %v", g["input"], err)
	}
	if input.Config != nil {
		if err := Configure(t, input.Config); err != nil {
			t.Fatalf("%s: plinth_init: %v", g["input"], err)
		}
	}
	done := input.serve(t)
	answer := Invoke(t, export, input.Body)
	done()
	compare(t, filepath.Join(folder, g["output"]), answer, update)
}

func goldenExports() map[string]string {
	return map[string]string{
		"tool": abi.ExportTool, "context": abi.ExportContext, "transform": abi.ExportTransform,
		"provider_encode": abi.ExportProviderEncode, "provider_decode": abi.ExportProviderDecode, "provider_classify": abi.ExportProviderClassify,
	}
}

// serve replays the recorded operations; done checks that all were asked for.
func (g Golden) serve(t *testing.T) (done func()) {
	next := 0
	before := guest.SetOperations(func(operation string, request []byte) []byte {
		body, _, err := abi.DecodeMessage(request)
		if err != nil {
			return guest.Fail(err)
		}
		if next == len(g.Operations) {
			t.Errorf("operation %d, %s %s, is not recorded", next+1, operation, body)
			return guest.Fail(&abi.Error{Kind: abi.KindUnavailable, Message: "not recorded"})
		}
		recorded := g.Operations[next]
		next++
		if recorded.Op != operation || !sameJSON(t, recorded.Request, body) {
			t.Errorf("operation %d is %s %s, recorded is %s %s", next, operation, body, recorded.Op, recorded.Request)
		}
		raw := []byte(recorded.Text)
		if recorded.Base64 != "" {
			if raw, err = base64.StdEncoding.DecodeString(recorded.Base64); err != nil {
				t.Errorf("operation %d: %v", next, err)
			}
		}
		return abi.EncodeMessage(recorded.Answer, raw)
	})
	return func() {
		guest.SetOperations(before)
		if next != len(g.Operations) {
			t.Errorf("%d of %d recorded operations were asked for", next, len(g.Operations))
		}
	}
}

func compare(t *testing.T, file string, answer json.RawMessage, update bool) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, answer, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	if update {
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(t, want, answer) {
		t.Errorf("the answer is not what %s holds (go test -update writes it)\ngot %s\nwant %s", file, pretty.Bytes(), want)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var left, right any
	if err := json.Unmarshal(a, &left); err != nil {
		t.Fatalf("%v in %s", err, a)
	}
	if err := json.Unmarshal(b, &right); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return reflect.DeepEqual(left, right)
}
