// Package transform edits model requests before they are sent. Importing it makes
// the module export plinth_transform_apply. A transform is pure: it may not import
// host operations.
package transform

import (
	"encoding/json"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
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
}

func serve(message []byte) []byte {
	body, _, err := abi.DecodeMessage(message)
	if err != nil {
		return guest.Fail(guest.Invalid(err))
	}
	guest.Reserve(8 * len(body)) // itself, the texts without escapes, the new texts, the edits, the answer
	call, err := readApply(body)
	if err != nil {
		return guest.Fail(guest.Invalid(err))
	}
	apply, ok := transforms[call.Transform]
	if !ok {
		return guest.Fail(plinth.Errorf(abi.KindNotFound, "this plugin has no transform %q", call.Transform))
	}
	edits, err := apply(call)
	if err == nil {
		err = check(edits)
	}
	if err != nil {
		return guest.Fail(err)
	}
	return answer(edits)
}

// check finds set values that are no JSON, which the whole answer would not be then.
func check(edits []abi.Edit) error {
	for _, edit := range edits {
		if edit.Op != abi.EditSet {
			continue
		}
		if err := jsonscan.Valid(edit.Value); err != nil {
			return plinth.Errorf(abi.KindFailed, "the edit of %s %s: %v", edit.Part, edit.ID, err)
		}
	}
	return nil
}

// AppendSystem adds a part to the end of the system text under a new id.
func AppendSystem(id, text string) (abi.Edit, error) {
	return words("system", abi.EditAppend, id, text), nil
}

// Replace changes a text: of the "system" part of that id, of the part of a message
// of that id ("messages"), or the description of the tool of that name ("tools").
func Replace(part, id, text string) (abi.Edit, error) {
	return words(part, abi.EditReplace, id, text), nil
}

// Drop takes out a part of "system" by its id or one of "tools" by its name.
func Drop(part, id string) abi.Edit { return abi.Edit{Part: part, Op: abi.EditDrop, ID: id} }

// Set gives a field of "generation", "options" or "headers" a value.
func Set(part, field string, value any) (abi.Edit, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return abi.Edit{}, plinth.Errorf(abi.KindFailed, "encode the edit of %s %s: %v", part, field, err)
	}
	return abi.Edit{Part: part, Op: abi.EditSet, ID: field, Value: encoded}, nil
}

// words is an edit whose value is a text.
func words(part, op, id, text string) abi.Edit {
	value := make([]byte, 0, len(text)+len(text)/16+8) // with room for escapes
	return abi.Edit{Part: part, Op: op, ID: id, Value: jsonscan.AppendString(value, text)}
}
