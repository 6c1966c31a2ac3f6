package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

func observeEnvironment(location abi.Location) (abi.SourceState, error) {
	git := "no"
	if location.Git {
		git = "yes"
	}
	facts := fmt.Sprintf("Working directory: %s\nProject root: %s\nGit repository: %s\nPlatform: %s",
		location.Directory, location.Root, git, location.Platform)
	return source.Value(environmentKey, place(location), source.Texts{
		Baseline: "The environment you work in:\n" + facts,
		Update:   "The environment you work in is now:\n" + facts,
	})
}

// place is the value of core/environment.
func place(location abi.Location) json.RawMessage {
	value := jsonscan.AppendString([]byte(`{"directory":`), location.Directory)
	value = jsonscan.AppendString(jsonscan.AppendField(value, "root"), location.Root)
	value = jsonscan.AppendBool(jsonscan.AppendField(value, "git"), location.Git)
	value = jsonscan.AppendString(jsonscan.AppendField(value, "platform"), location.Platform)
	return append(value, '}')
}

// observeDate tells the calendar day where the user is.
func observeDate(o abi.ContextObserve) (abi.SourceState, error) {
	zone := time.FixedZone("", o.Location.UTCOffset*60)
	now := time.UnixMilli(o.NowMS).In(zone)
	day := now.Format("Mon Jan 02 2006")
	return source.Value(dateKey, json.RawMessage(now.Format(`{"date":"2006-01-02"}`)), source.Texts{
		Baseline: "Today's date: " + day,
		Update:   "Today's date is now: " + day,
	})
}

// modelValue is the value of core/model.
type modelValue struct {
	Model string `json:"model"` // PROVIDER/MODEL
}

// observeModel tells which model it is. What was told stands while there is none.
func observeModel(o abi.ContextObserve) (abi.SourceState, error) {
	model := o.Model
	if model == "" {
		told, ok := source.Previous[modelValue](o, modelKey)
		if !ok {
			return source.Absent(modelKey), nil
		}
		model = told.Model
	}
	return source.Value(modelKey, json.RawMessage(append(jsonscan.AppendString([]byte(`{"model":`), model), '}')), source.Texts{
		Baseline: "You run on the model " + model + ".",
		Update:   "You now run on the model " + model + ". Earlier answers may be another one's.",
	})
}
