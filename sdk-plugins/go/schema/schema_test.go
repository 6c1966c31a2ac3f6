package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/sdk-plugins/go/schema"
)

// compact is a schema on one line.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return line.String()
}

type (
	base struct {
		ID   string `json:"id" doc:"its name"`
		Note string `json:"note"`
	}
	other struct{ Hint *string }
	inner struct{ X int }
	tree  struct {
		Left, Right *tree `json:",omitempty"`
		Inner       inner
	}
	forest map[string]forest
	colour struct{}
)

func (colour) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type": "string", "maxLength": 6}`)
}
func (*colour) UnmarshalJSON([]byte) error { return nil }

func TestTypesBecomeSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"nothing": {schema.Of[struct{}](), `{"type":"object","properties":{},"additionalProperties":false}`},
		"names": {schema.Of[struct {
			B      string `json:"b"`
			A      int
			hidden int
			Gone   chan int `json:"-"`
			Dash   bool     `json:"-,"` //nolint:staticcheck // the rule of encoding/json that is tested
		}](), `{"type":"object","properties":{"b":{"type":"string"},"A":{"type":"integer"},"-":{"type":"boolean"}},"required":["b","A","-"],"additionalProperties":false}`},
		"optional": {schema.Of[struct {
			Empty string     `json:"empty,omitempty"`
			Zero  time.Time  `json:"zero,omitzero"`
			Ref   *float64   `json:"ref"`
			Each  []*float32 `json:"each"`
		}](), `{"type":"object","properties":{"empty":{"type":"string"},"zero":{"type":"string","format":"date-time"},"ref":{"type":"number"},` +
			`"each":{"type":"array","items":{"type":"number"}}},"required":["each"],"additionalProperties":false}`},
		"tags": {schema.Of[struct {
			Unit  string         `json:"unit" doc:"Of the temperature" enum:"celsius,kelvin"`
			Days  int            `json:"days" min:"1" max:"14"`
			Small uint8          `json:"small" max:"9"`
			Ratio float64        `json:"ratio" min:"0.5"`
			Name  string         `json:"name" min:"1" max:"80" pattern:"^[a-z]+$"`
			Tags  []string       `json:"tags" max:"3" enum:"a,b"`
			Sizes []int          `json:"sizes" enum:"1,2"`
			More  map[string]any `json:"more" max:"2"`
		}](), `{"type":"object","properties":{"unit":{"type":"string","enum":["celsius","kelvin"],"description":"Of the temperature"},` +
			`"days":{"type":"integer","minimum":1,"maximum":14},"small":{"type":"integer","minimum":0,"maximum":9},"ratio":{"type":"number","minimum":0.5},` +
			`"name":{"type":"string","minLength":1,"maxLength":80,"pattern":"^[a-z]+$"},"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"maxItems":3},` +
			`"sizes":{"type":"array","items":{"type":"integer","enum":[1,2]}},"more":{"type":"object","additionalProperties":{},"maxProperties":2}},` +
			`"required":["unit","days","small","ratio","name","tags","sizes","more"],"additionalProperties":false}`},
		"values": {schema.Of[struct {
			Bytes  []byte
			Four   [4]int8
			Raw    json.RawMessage
			Number json.Number
			Text   int64 `json:",string"`
			Colour colour
			Long   uint64
		}](), `{"type":"object","properties":{"Bytes":{"type":"string","contentEncoding":"base64"},` +
			`"Four":{"type":"array","items":{"type":"integer","minimum":-128,"maximum":127},"minItems":4,"maxItems":4},"Raw":{},"Number":{"type":"number"},` +
			`"Text":{"type":"string"},"Colour":{"type":"string","maxLength":6},"Long":{"type":"integer","minimum":0}},` +
			`"required":["Bytes","Four","Raw","Number","Text","Colour","Long"],"additionalProperties":false}`},
		"embedded": {schema.Of[struct {
			base
			*inner `json:"named"`
			other
			Note int `json:"note,omitempty"`
		}](), `{"type":"object","properties":{"id":{"type":"string","description":"its name"},"Hint":{"type":"string"},"note":{"type":"integer"}},` +
			`"required":["id"],"additionalProperties":false}`},
		"recursion": {schema.Of[tree](), `{"type":"object","properties":{"Left":{"$ref":"#/$defs/tree"},"Right":{"$ref":"#/$defs/tree"},` +
			`"Inner":{"type":"object","properties":{"X":{"type":"integer"}},"required":["X"],"additionalProperties":false}},"required":["Inner"],"additionalProperties":false,` +
			`"$defs":{"tree":{"type":"object","properties":{"Left":{"$ref":"#/$defs/tree"},"Right":{"$ref":"#/$defs/tree"},` +
			`"Inner":{"type":"object","properties":{"X":{"type":"integer"}},"required":["X"],"additionalProperties":false}},"required":["Inner"],"additionalProperties":false}}}`},
		"recursive map": {schema.Of[forest](), `{"type":"object","additionalProperties":{"$ref":"#/$defs/forest"},` +
			`"$defs":{"forest":{"type":"object","additionalProperties":{"$ref":"#/$defs/forest"}}}}`},
	} {
		if got := compact(t, c.got); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// Two texts can differ by what a file is written with: the form is part of the promise.
func TestTheTextIsIndented(t *testing.T) {
	want := "{\n  \"type\": \"object\",\n  \"properties\": {\n    \"X\": {\n      \"type\": \"integer\"\n    }\n  },\n" +
		"  \"required\": [\n    \"X\"\n  ],\n  \"additionalProperties\": false\n}\n"
	if got := string(schema.Of[inner]()); got != want {
		t.Errorf("got %q", got)
	}
}

type (
	Deep   struct{ A, B, C, D string }
	Deeper struct {
		Deep
		A int `json:"A"`
	}
	Left  struct{ Both, OnlyLeft, Named string }
	Right struct {
		Both  string
		Named string `json:"Named"`
	}
	mixed struct {
		Deeper
		Left
		*Right
		C float64
	}
)

// What encoding/json writes of a value are the properties, however structs embed each other.
func TestPropertiesAreThoseOfEncodingJSON(t *testing.T) {
	encoded, err := json.Marshal(mixed{Right: &Right{}})
	if err != nil {
		t.Fatal(err)
	}
	var written map[string]any
	if err := json.Unmarshal(encoded, &written); err != nil {
		t.Fatal(err)
	}
	var made struct{ Properties map[string]map[string]any }
	if err := json.Unmarshal(schema.Of[mixed](), &made); err != nil {
		t.Fatal(err)
	}
	want, got := slices.Sorted(maps.Keys(written)), slices.Sorted(maps.Keys(made.Properties))
	if !slices.Equal(got, want) {
		t.Errorf("got %v, encoding/json writes %v", got, want)
	}
	if made.Properties["A"]["type"] != "integer" || made.Properties["C"]["type"] != "number" {
		t.Errorf("%v", made.Properties)
	}
}

type itself struct{}

func (*itself) UnmarshalJSON([]byte) error { return nil }

func TestWhatHasNoSchemaIsNamed(t *testing.T) {
	for want, of := range map[string]func() []byte{
		"A[]: JSON has nothing for a chan":     schema.Of[struct{ A []chan int }],
		"A: schema_test.itself decodes itself": schema.Of[struct{ A itself }],
		`the tag max:"x" is no limit of a int`: schema.Of[struct {
			A int `max:"x"`
		}],
		`the tag min:"1.5" is no limit of a int`: schema.Of[struct {
			A int `min:"1.5"`
		}],
		`the tag min:"1" is no limit of a bool`: schema.Of[struct {
			A bool `min:"1"`
		}],
		`"b" of the tag enum is no number`: schema.Of[struct {
			A int `enum:"1,b"`
		}],
		"the tag enum is for texts and numbers": schema.Of[struct {
			A bool `enum:"true"`
		}],
		`the tag pattern:"(" wants a text`: schema.Of[struct {
			A string `pattern:"("`
		}],
		"JSON has nothing for a func": schema.Of[func()],
	} {
		func() {
			defer func() {
				text, _ := recover().(string)
				if !strings.HasPrefix(text, "schema of ") || !strings.Contains(text, want) {
					t.Errorf("got %q, want %q", text, want)
				}
			}()
			of()
		}()
	}
}
