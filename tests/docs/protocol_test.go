package docs

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/client/protocol"
)

// TestProtocol holds docs/reference/protocol.md to the frames, the methods and the
// routes.
func TestProtocol(t *testing.T) {
	s := newShapes(t, "client/protocol")
	delete(s.values, "Code") // errors.md has them
	s.values["Code"] = nil
	tables := map[string]table{"methods": methods(t), "routes": routes(t)}
	covered := map[string]bool{}
	for name, frame := range map[string]any{
		"hello": protocol.Hello{}, "sub": protocol.Sub{}, "ack": protocol.Ack{}, "unsub": protocol.Unsub{}, "req": protocol.Req{}, "pong": protocol.Pong{},
		"welcome": protocol.Welcome{}, "subscribed": protocol.Subscribed{}, "ev": protocol.Ev{}, "mark": protocol.Mark{}, "live": protocol.Live{},
		"d": protocol.Delta{}, "reset": protocol.Reset{}, "end": protocol.End{}, "res": protocol.Res{}, "err": protocol.ErrFrame{},
		"ping": protocol.Ping{}, "bye": protocol.Bye{},
	} {
		tables["frame "+name] = s.fields(reflect.TypeOf(frame), "t")
		covered[reflect.TypeOf(frame).Name()] = true
	}
	s.mentioned(tables)
	for _, name := range frameTypes(t) {
		if !covered[name] {
			t.Errorf("protocol.%s is a frame; name it in this test", name)
		}
	}
	hold(t, "docs/reference/protocol.md", tables)
}

// frameTypes lists the structs whose first field is T, the kind of a frame.
func frameTypes(t *testing.T) (names []string) {
	t.Helper()
	for _, file := range parseFolder(t, "client/protocol") {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok || len(fields.Fields.List) == 0 {
				return true
			}
			if first := fields.Fields.List[0]; len(first.Names) == 1 && first.Names[0].Name == "T" && spec.Name.IsExported() {
				names = append(names, spec.Name.Name)
			}
			return true
		})
	}
	if len(names) == 0 {
		t.Fatal("no frame was found")
	}
	return names
}

// methods makes the table of what a req can ask, from the constants' comments.
func methods(t *testing.T) table {
	t.Helper()
	w := table{head: []string{"method", "params", "result", "HTTP"}, written: 1}
	for _, c := range constants(t, "client/protocol") {
		if !named("Method")(c) {
			continue
		}
		params, result, ok := strings.Cut(c.comment, " → ")
		if !ok {
			t.Errorf("the comment of protocol.%s is not PARAMS → RESULT", c.name)
		}
		w.rows = append(w.rows, []string{code(c.value), params, result})
	}
	return w
}

// routes makes the table of what the host's own description says of its routes.
func routes(t *testing.T) table {
	t.Helper()
	home := newHome(t)
	host := home.serve(t)
	response, err := host.local.Get("http://localhost/v1/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var described struct {
		Paths map[string]map[string]struct {
			Summary     string `json:"summary"`
			Description string `json:"description"`
		} `json:"paths"`
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &described); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	w := table{head: []string{"route", "scope", "what it does"}}
	for _, path := range slices.Sorted(maps.Keys(described.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(described.Paths[path])) {
			operation := described.Paths[path][method]
			scope := strings.TrimSuffix(strings.TrimPrefix(operation.Description, "Needs the scope "), ".")
			w.rows = append(w.rows, []string{code(fmt.Sprintf("%s %s", strings.ToUpper(method), path)), orNone(code(scope)), operation.Summary})
		}
	}
	if len(w.rows) == 0 {
		t.Fatal("the description has no routes")
	}
	return w
}
