package transform_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
	"github.com/plinthhost/plinth/sdk-plugins/go/transform"
)

func TestEdits(t *testing.T) {
	transform.Register("all", func(request abi.TransformApply) ([]abi.Edit, error) {
		if request.Purpose == "title" {
			return nil, nil
		}
		added, err1 := transform.AppendSystem("a", "text")
		changed, err2 := transform.Replace("tools", "read", "other words")
		set, err3 := transform.Set("generation", "temperature", 0.5)
		return []abi.Edit{added, changed, transform.Drop("tools", "bash"), set}, errors.Join(err1, err2, err3)
	})
	apply := func(name, purpose string) (abi.TransformEdits, error) {
		return plinthtest.Call[abi.TransformEdits](t, abi.ExportTransform, abi.TransformApply{Transform: name, Purpose: purpose})
	}
	got, err := apply("all", "turn")
	want := []abi.Edit{
		{Part: "system", Op: "append", ID: "a", Value: []byte(`"text"`)},
		{Part: "tools", Op: "replace", ID: "read", Value: []byte(`"other words"`)},
		{Part: "tools", Op: "drop", ID: "bash"},
		{Part: "generation", Op: "set", ID: "temperature", Value: []byte(`0.5`)},
	}
	if err != nil || !reflect.DeepEqual(got.Edits, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := apply("all", "title"); err != nil || got.Edits == nil || len(got.Edits) != 0 {
		t.Errorf("no edits: %+v, %v", got, err)
	}
	if _, err := apply("none", "turn"); err == nil || err.Error() != `not_found: this plugin has no transform "none"` {
		t.Errorf("%v", err)
	}
}
