package sqllog

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"

	"github.com/plinthhost/plinth/store"
)

// TestStatements keeps the rules that let one text serve SQLite and PostgreSQL:
// placeholders ascend from $1, and only numbers and bytes are ordered.
func TestStatements(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "statements.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	placeholder := regexp.MustCompile(`\$(\d+)`)
	order := regexp.MustCompile(`(?i)order by (\S+)`)
	allowed := map[string]bool{"e.seq": true, "e.position": true, "key": true, "namespace": true} // the last two are kept as bytes
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		seen++
		highest := 0
		for _, found := range placeholder.FindAllStringSubmatch(literal.Value, -1) {
			number, err := strconv.Atoi(found[1])
			if err != nil || number > highest+1 {
				t.Errorf("placeholder $%s comes after $%d in %s", found[1], highest, literal.Value)
			}
			highest = max(highest, number)
		}
		for _, found := range order.FindAllStringSubmatch(literal.Value, -1) {
			if !allowed[found[1]] {
				t.Errorf("%s is ordered in %s", found[1], literal.Value)
			}
		}
		return true
	})
	if seen < 20 {
		t.Errorf("only %d statements were seen", seen)
	}
}

func TestSameEvent(t *testing.T) {
	base := store.Event{ID: "evt_1", Type: "a", Version: 1, Data: []byte(`{"a":1,"b":[1.50,null]}`)}
	with := func(change func(*store.Event)) store.Event {
		e := base
		change(&e)
		return e
	}
	data := func(text string) func(*store.Event) { return func(e *store.Event) { e.Data = []byte(text) } }
	cases := []struct {
		name string
		e    store.Event
		same bool
	}{
		{"itself", base, true},
		{"another order and spacing", with(data(` {"b":[1.50, null], "a":1}`)), true},
		{"another time and actor", with(func(e *store.Event) { e.Actor, e.Seq, e.Position = "x", 4, 5 }), true},
		{"another number", with(data(`{"a":2,"b":[1.50,null]}`)), false},
		{"a number beyond float64", with(data(`{"a":1.00000000000000000001,"b":[1.50,null]}`)), false},
		{"more after it", with(data(`{"a":1,"b":[1.50,null]} 1`)), false},
		{"no JSON", with(data(`x`)), false},
		{"another id", with(func(e *store.Event) { e.ID = "evt_2" }), false},
		{"another type", with(func(e *store.Event) { e.Type = "b" }), false},
		{"another version", with(func(e *store.Event) { e.Version = 2 }), false},
	}
	for _, c := range cases {
		if got := sameEvent(base, c.e); got != c.same {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestWatchersForget: a closed wake leaves nothing behind.
func TestWatchersForget(t *testing.T) {
	var w Watchers
	one, two, all := w.Watch("a"), w.Watch("a"), w.Watch("")
	one.Close()
	w.Poke("a")
	if len(one.C()) != 0 || len(two.C()) != 1 || len(all.C()) != 1 {
		t.Errorf("poked: %d %d %d", len(one.C()), len(two.C()), len(all.C()))
	}
	two.Close()
	all.Close()
	all.Close()
	if len(w.wakes) != 0 {
		t.Errorf("%d aggregates are still watched", len(w.wakes))
	}
}
