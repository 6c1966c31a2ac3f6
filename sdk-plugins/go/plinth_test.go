package plinth_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/plinthtest"
)

type settings struct {
	Level int `json:"level"`
}

func TestConfigure(t *testing.T) {
	var got []settings
	plinth.Configure(func(s settings) error {
		if s.Level > 9 {
			return errors.New("level is at most 9")
		}
		got = append(got, s)
		return nil
	})
	for _, body := range []any{abi.Init{}, map[string]any{"config": nil}, abi.Init{Config: []byte(`{"level":3}`), Operations: []string{"log"}}} {
		if _, err := plinthtest.Call[abi.None](t, abi.ExportInit, body); err != nil {
			t.Errorf("%+v: %v", body, err)
		}
	}
	if len(got) != 3 || got[0].Level != 0 || got[1].Level != 0 || got[2].Level != 3 {
		t.Errorf("%+v", got)
	}
	for config, want := range map[string]string{
		`{"levle":1}`:  `invalid_input: the plugin's configuration: json: unknown field "levle"`,
		`{"level":10}`: "failed: level is at most 9",
	} {
		_, err := plinthtest.Call[abi.None](t, abi.ExportInit, abi.Init{Config: []byte(config)})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
}

func TestPrepareRunsOnceAndMayRefuse(t *testing.T) {
	runs, fail := 0, error(nil)
	plinth.Prepare(func() error { runs++; return fail })
	if err := plinthtest.Configure(t, settings{}); err != nil || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
	fail = errors.New("no table")
	if err := plinthtest.Configure(t, settings{}); err == nil || err.Error() != "failed: no table" {
		t.Errorf("%v", err)
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	for _, export := range []string{abi.ExportInit, abi.ExportTool} {
		for _, message := range []string{"", "\x09\x00\x00\x00{}", "\x02\x00\x00\x00{]"} {
			answer := string(guest.Serve(export, []byte(message)))
			if !strings.Contains(answer, `{"error":{"kind":`) {
				t.Errorf("%s %q: %q", export, message, answer)
			}
		}
	}
}

func TestKindOf(t *testing.T) {
	wrapped := errors.Join(errors.New("while reading"), plinth.Errorf(abi.KindNotFound, "no %s", "file"))
	if kind := plinth.KindOf(nil); kind != "" {
		t.Errorf("no error is of the kind %q", kind)
	}
	if plinth.KindOf(wrapped) != abi.KindNotFound || plinth.KindOf(errors.New("x")) != abi.KindFailed {
		t.Error("the kind is lost")
	}
}
