package docs

import (
	"go/ast"
	"reflect"
	"strconv"
	"testing"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// TestEvents holds docs/reference/events.md to the payloads of package session: each
// event with the tables its projection writes, each of its fields, and the fields of
// what they hold.
func TestEvents(t *testing.T) {
	s := newShapes(t, "session")
	all := table{head: []string{"type", "kernel tables it writes", "means"}, written: 1}
	written := projected(t)
	tables := map[string]table{}
	for _, name := range eventTypes(t) {
		payload, err := session.Decode(store.Event{Aggregate: "ses_x", Type: name, Version: 1, Data: []byte("{}")})
		if err != nil {
			t.Errorf("%s is in event.go and cannot be decoded: %v", name, err)
			continue
		}
		if payload.EventType() != name {
			t.Errorf("%s is decoded as %s", name, payload.EventType())
		}
		if _, seen := written[name]; !seen {
			t.Errorf("%s does not happen in everyEvent", name)
		}
		all.rows = append(all.rows, []string{"[" + code(name) + "](#" + anchor(name) + ")", orNone(written[name])})
		tables[name] = s.fields(reflect.TypeOf(payload))
	}
	tables["events"] = all
	s.mentioned(tables)
	hold(t, "docs/reference/events.md", tables)
}

// anchor is what GitHub makes of a heading that is an event's type.
func anchor(name string) string {
	p := page{prose: []string{"## " + name}}
	for made := range p.anchors() {
		return made
	}
	return ""
}

// eventTypes lists what the methods EventType of session/event.go answer.
func eventTypes(t *testing.T) (names []string) {
	t.Helper()
	for _, file := range parseFolder(t, "session") {
		for _, declaration := range file.Decls {
			method, ok := declaration.(*ast.FuncDecl)
			if !ok || method.Name.Name != "EventType" || method.Body == nil {
				continue
			}
			literal := method.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit)
			name, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d events were found: %v", len(names), names)
	}
	return names
}
