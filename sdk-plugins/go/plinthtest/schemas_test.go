package plinthtest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
	"github.com/plinthhost/plinth/sdk-plugins/go/schema"
)

// judge takes what a test of an author would be told.
type judge struct {
	testing.TB
	told []string
}

func (j *judge) Helper()                      {}
func (j *judge) Error(args ...any)            { j.told = append(j.told, fmt.Sprint(args...)) }
func (j *judge) Errorf(text string, a ...any) { j.told = append(j.told, fmt.Sprintf(text, a...)) }

type place struct {
	Place string `json:"place"`
	Days  int    `json:"days"`
}

func check(t *testing.T) string {
	j := &judge{TB: t}
	plinthtest.Schemas(j, map[string][]byte{"place.schema.json": schema.Of[place]()})
	return strings.Join(j.told, "\n")
}

func TestSchemaFilesAreHeldToTypes(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PLINTH_UPDATE", "")
	if told := check(t); !strings.Contains(told, "place.schema.json") || !strings.Contains(told, "plinth plugin test --update") {
		t.Errorf("without the file: %q", told)
	}
	t.Setenv("PLINTH_UPDATE", "1")
	if told := check(t); told != "" {
		t.Errorf("while updating: %q", told)
	}
	t.Setenv("PLINTH_UPDATE", "")
	if told := check(t); told != "" {
		t.Errorf("after updating: %q", told)
	}
	for form, content := range map[string]string{
		"": `{"type":"object", "properties":{"place":{"type":"string"},"days":{"type":"integer"}}, "required":["place","days"], "additionalProperties":false}`,
		"place.schema.json is not what its type gives": `{"type":"object","properties":{"days":{"type":"integer"},"place":{"type":"string"}},"required":["place","days"],"additionalProperties":false}`,
	} {
		if err := os.WriteFile("place.schema.json", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if told := check(t); !strings.HasPrefix(told, form) || form == "" && told != "" {
			t.Errorf("%q, want %q", told, form)
		}
	}
}
