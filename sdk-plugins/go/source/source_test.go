package source_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

type count struct {
	N int `json:"n"`
}

func TestSources(t *testing.T) {
	var fail error
	var before count
	var had bool
	source.Register(func(o abi.ContextObserve) ([]abi.SourceState, error) {
		before, had = source.Previous[count](o, "a/b/n")
		state, err := source.Value("a/b/n", count{N: before.N + 1}, source.Texts{Baseline: "b", Update: "u", Removed: "r"})
		return []abi.SourceState{state, source.Unavailable("a/b/u"), source.Absent("a/b/a")}, errors.Join(err, fail)
	})
	observe := func(previous string) ([]abi.SourceState, error) {
		body := map[string]any{}
		if previous != "" {
			body["previous"] = map[string]any{"a/b/n": raw(previous)}
		}
		got, err := plinthtest.Call[abi.ContextObserved](t, abi.ExportContext, body)
		return got.Sources, err
	}
	got, err := observe(`{"n":4}`)
	want := []abi.SourceState{
		{Key: "a/b/n", State: "value", Value: []byte(`{"n":5}`), Baseline: "b", Update: "u", Removed: "r"},
		{Key: "a/b/u", State: "unavailable"}, {Key: "a/b/a", State: "absent"},
	}
	if err != nil || !reflect.DeepEqual(got, want) || !had {
		t.Errorf("%+v, %v", got, err)
	}
	for _, previous := range []string{"", `{"n":"four"}`} {
		if _, err := observe(previous); err != nil || had || before != (count{}) {
			t.Errorf("previous %q: %v %+v %v", previous, had, before, err)
		}
	}
	fail = errors.New("no sample")
	if _, err := observe(""); err == nil || err.Error() != "failed: no sample" {
		t.Errorf("%v", err)
	}
}

func TestAValueNeedsABaseline(t *testing.T) {
	if _, err := source.Value("a/b/n", 1, source.Texts{Update: "u"}); err == nil {
		t.Error("no error")
	}
}

// raw is JSON as it is.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }
