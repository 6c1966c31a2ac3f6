package docs

import (
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// TestEvents holds docs/reference/events.md to the payloads of package session: each
// event with the tables its projection writes, each of its fields, and the fields of
// what they hold.
func TestEvents(t *testing.T) {
	s := newShapes(t, "session")
	all := table{head: []string{"type", "version", "kernel tables it writes", "means"}, written: 1}
	written := projected(t)
	tables := map[string]table{}
	for _, name := range eventTypes(t) {
		payload, err := session.Decode(store.Event{Aggregate: "ses_x", Type: name, Version: 1, Data: []byte("{}")})
		if err != nil {
			t.Errorf("%s has a payload and cannot be decoded: %v", name, err)
			continue
		}
		encoded, err := session.Encoder{IDs: session.NewIDs(stillClock{}), Clock: stillClock{}}.Encode(session.System(), payload)
		if err != nil {
			t.Errorf("%s cannot be encoded: %v", name, err)
			continue
		}
		if payload.EventType() != name {
			t.Errorf("%s is decoded as %s", name, payload.EventType())
		}
		if _, seen := written[name]; !seen {
			t.Errorf("%s does not happen in everyEvent", name)
		}
		all.rows = append(all.rows, []string{"[" + code(name) + "](#" + anchor(name) + ")", strconv.Itoa(encoded[0].Version), orNone(written[name])})
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

// eventTypes lists the inventory in its order. It has what the methods EventType of
// package session answer, and nothing else.
func eventTypes(t *testing.T) (names []string) {
	t.Helper()
	payloads := map[string]bool{}
	for _, file := range parseFolder(t, "session") {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			switch function.Name.Name {
			case "EventType":
				payloads[text(function.Body.List[0].(*ast.ReturnStmt).Results[0])] = true
			case "kindOf":
				for _, clause := range function.Body.List[0].(*ast.SwitchStmt).Body.List {
					names = append(names, text(clause.(*ast.CaseClause).List[0]))
				}
			}
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d events were found: %v", len(names), names)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(payloads)), slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("the payloads and the inventory differ:\n%s", diff)
	}
	return names
}
