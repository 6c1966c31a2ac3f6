package main

import (
	"encoding/json"
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

const sessionKey = "conformance/guest/session"

func registerSources() { source.Register(observe) }

func observe(o abi.ContextObserve) ([]abi.SourceState, error) {
	if o.Session.ID == "fail" {
		return nil, plinth.Errorf(abi.KindUnavailable, "nothing can be seen")
	}
	previous, told := o.Previous[sessionKey]
	if !told {
		previous = json.RawMessage("null")
	}
	texts := source.Texts{Baseline: fmt.Sprintf("The session is %s.", o.Session.ID), Removed: "The session is unknown."}
	if told {
		texts.Update = fmt.Sprintf("The session is now %s.", o.Session.ID)
	}
	state, err := source.Value(sessionKey, map[string]any{
		"session": o.Session, "location": o.Location, "now_ms": o.NowMS, "previous": previous,
	}, texts)
	if err != nil {
		return nil, err
	}
	return []abi.SourceState{
		state, source.Unavailable("conformance/guest/unavailable"), source.Absent("conformance/guest/absent"),
	}, nil
}
