package main

import (
	"strings"
	"testing"
)

// A schema that refers to itself many times is cut, and is not the end of the guest.
func TestSchemasThatGoRoundAreCut(t *testing.T) {
	properties := make([]string, 0, 8)
	for name := range strings.SplitSeq("abcdefgh", "") {
		properties = append(properties, `"`+name+`":{"$ref":"#/$defs/n"}`)
	}
	node := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
	all := `{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/x"},`, 7) + `{"$ref":"#/$defs/x"}]}`
	got, err := project([]byte(`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"},"x":{"$ref":"#/$defs/x"}},"$defs":{"n":` + node + `,"x":` + all + `}}`))
	if err != nil || len(got) > 200<<10 || strings.Count(string(got), `"object"`) > most || !strings.Contains(string(got), `"h":{"type":"string"}`) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := project([]byte(`{"type":"object","properties":{"a":{"required":7}}}`)); err == nil {
		t.Error("a schema whose required is a number is taken")
	}
}
