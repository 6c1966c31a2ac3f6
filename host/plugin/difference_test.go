package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferencesNameTheirPlace(t *testing.T) {
	long := strings.Repeat("x", 300)
	tests := []struct {
		name, got, want string
		says            []string
	}{
		{"equal", `{"a":[1,{"b":null}],"c":"é"}`, `{ "c": "\u00e9", "a": [1, {"b": null}] }`, nil},
		{"numbers by value", `[1,1.50,1e2,-0]`, `[1.0,1.5,100.0,0]`, []string{"[3]: got -0, want 0"}},
		{"whole numbers exactly", `9007199254740993`, `9007199254740992`, []string{"(all of it): got 9007199254740993, want 9007199254740992"}},
		{"a number and a text", `{"a":"1"}`, `{"a":1}`, []string{`a: got "1", want 1`}},
		{"a member too few", `{"ok":{}}`, `{"ok":{"title":"T"}}`, []string{`ok.title: got nothing, want "T"`}},
		{"a member too many", `{"ok":{"title":null}}`, `{"ok":{}}`, []string{"ok.title: got null, want nothing"}},
		{"null is not absent", `{"a":null}`, `{}`, []string{"a: got null, want nothing"}},
		{"false is not null", `{"a":false}`, `{"a":null}`, []string{"a: got false, want null"}},
		{"arrays", `{"a":[1,2]}`, `{"a":[1,3,{"b":4}]}`, []string{"a[1]: got 2, want 3", `a[2]: got nothing, want {"b":4}`}},
		{"an object for an array", `{"a":{}}`, `{"a":[]}`, []string{"a: got {}, want []"}},
		{"an array for a text", `{"a":[]}`, `{"a":"x"}`, []string{`a: got [], want "x"`}},
		{"error and ok", `{"error":{"kind":"failed","message":"m"}}`, `{"ok":{}}`, []string{`error: got {"kind":"failed","message":"m"}, want nothing`, "ok: got nothing, want {}"}},
		{"long texts from where they part", `"` + long + `A"`, `"` + long + `B"`,
			[]string{`(all of it): got …` + long[:40] + `A", want …` + long[:40] + `B"`}},
		{"a long text that is cut", `"x"`, `"` + long + `"`, []string{`(all of it): got "x", want "` + long[:119] + `…`}},
	}
	for _, test := range tests {
		found, err := compareJSON("", []byte(test.got), []byte(test.want))
		if err != nil {
			t.Fatal(err)
		}
		var says []string
		for _, difference := range found {
			says = append(says, difference.String())
		}
		if diff := cmp.Diff(test.says, says); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	found, err := compareJSON("all", []byte("["+strings.Repeat("1,", 50)+"1]"), []byte("[]"))
	if err != nil || len(found) != maxDifferences || found[19].Path != "all[19]" {
		t.Errorf("%d differences, %v", len(found), err)
	}
}

func TestWhatIsNoJSONCannotBeCompared(t *testing.T) {
	for _, pair := range [][2]string{{"", "{}"}, {"{}", "{"}} {
		if _, err := compareJSON("", []byte(pair[0]), []byte(pair[1])); err == nil {
			t.Errorf("%q", pair)
		}
	}
}
