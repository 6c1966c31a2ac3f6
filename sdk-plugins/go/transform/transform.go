// Package transform edits model requests before they are sent. Importing it makes
// the module export plinth_transform_apply. A transform is pure: it may not import
// host operations.
package transform

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// Apply answers the edits of one request. It sees the parts the manifest declares
// to read and may edit those it declares to write.
type Apply func(request abi.TransformApply) ([]abi.Edit, error)

var transforms = map[string]Apply{}

// Register offers apply under a name of the manifest. It panics when the name is
// taken.
func Register(name string, apply Apply) {
	if _, taken := transforms[name]; taken {
		panic("transform " + name + " is registered twice")
	}
	transforms[name] = apply
	guest.Enter(abi.ExportTransform, serve)
	guest.Warm(abi.Call[abi.TransformApply]{Body: abi.TransformApply{System: make([]abi.TextPart, 1)}})
	guest.Warm(abi.TransformEdits{Edits: make([]abi.Edit, 1)})
}

func serve(message []byte) []byte {
	call, _, err := guest.Decode[abi.TransformApply](message)
	if err != nil {
		return guest.Fail(err)
	}
	apply, ok := transforms[call.Body.Transform]
	if !ok {
		return guest.Fail(plinth.Errorf(abi.KindNotFound, "this plugin has no transform %q", call.Body.Transform))
	}
	edits, err := apply(call.Body)
	if edits == nil {
		edits = []abi.Edit{}
	}
	return guest.Answer(abi.TransformEdits{Edits: edits}, nil, err)
}

// AppendSystem adds a part to the end of the system text under a new id.
func AppendSystem(id, text string) (abi.Edit, error) {
	return edit("system", abi.EditAppend, id, text)
}

// Replace changes a text: of the "system" part of that id, of the part of a message
// of that id ("messages"), or the description of the tool of that name ("tools").
func Replace(part, id, text string) (abi.Edit, error) {
	return edit(part, abi.EditReplace, id, text)
}

// Drop takes out a part of "system" by its id or one of "tools" by its name.
func Drop(part, id string) abi.Edit { return abi.Edit{Part: part, Op: abi.EditDrop, ID: id} }

// Set gives a field of "generation", "options" or "headers" a value.
func Set(part, field string, value any) (abi.Edit, error) {
	return edit(part, abi.EditSet, field, value)
}

func edit(part, op, id string, value any) (abi.Edit, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return abi.Edit{}, plinth.Errorf(abi.KindFailed, "encode the edit of %s %s: %v", part, id, err)
	}
	return abi.Edit{Part: part, Op: op, ID: id, Value: encoded}, nil
}
