package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A hundred tools are two in a request, of at most 1.5 KB, and can be found and called.
func TestAHundredTools(t *testing.T) {
	r := newRig(t, stdio(t, "ledger", "hundred"), stdio(t, "local", "usual"))
	names := r.names()
	if !slices.Contains(names, findName) || !slices.Contains(names, callName) || !slices.Contains(names, "local_echo") || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "ledger_") }) {
		t.Fatalf("%q\n%s", names, r.log.String())
	}
	small := newRig(t, stdio(t, "local", "usual")).size()
	if added := r.size() - small; added > 1500 {
		t.Errorf("a hundred tools add %d bytes to a request", added)
	}
	if description := r.tool(findName).Definition().Description; !strings.Contains(description, "ledger (100 tools)") {
		t.Error(description)
	}
	found := r.call(findName, `{"query":"ledger_thing_42"}`)
	if !strings.HasPrefix(found, "ledger_thing_42\nDoes the thing number 42") || !strings.Contains(found, `"record"`) {
		t.Error(found)
	}
	found = r.call(findName, `{"query":"record of the ledger"}`)
	if n := strings.Count(found, "Input: "); n != maxFound || !strings.HasSuffix(found, "There are more; narrow the query.") || len(found) > maxFoundBytes+100 {
		t.Errorf("%d tools in %d bytes: %s", n, len(found), found)
	}
	if got := r.call(findName, `{"query":"zeppelin"}`); !strings.HasPrefix(got, `not_found: No tool fits "zeppelin"`) {
		t.Error(got)
	}
	h := &host{}
	if got := r.callAs(t.Context(), h, callName, `{"tool":"ledger_thing_42","arguments":{"record":7}}`); got != `thing_42 {"record":7}` || !slices.Equal(h.asked, []string{"ledger_thing_42"}) {
		t.Errorf("%s, asked %q", got, h.asked)
	}
	for input, want := range map[string]string{
		`{"tool":"ledger_thing_42","arguments":{"record":"x"}}`: "invalid_input: Invalid arguments of ledger_thing_42: /record: got string, want integer",
		`{"tool":"ledger_thing_400","arguments":{}}`:            `not_found: There is no tool "ledger_thing_400" to be called this way; find one with mcp_find`,
		`{"tool":"local_echo","arguments":{"text":"x"}}`:        `invalid_input: local_echo is among your tools; call it itself, without mcp_call`,
	} {
		if got := r.call(callName, input); got != want {
			t.Errorf("%s: %s", input, got)
		}
	}
}

// What the rules deny is not found, and what a person refuses does not run.
func TestPermissionsOfToolsThatAreFound(t *testing.T) {
	r := newRig(t, stdio(t, "ledger", "hundred"))
	h := &host{deny: map[string]bool{"ledger_thing_1": true}}
	if got := r.callAs(t.Context(), h, findName, `{"query":"ledger_thing_1"}`); strings.Contains(got, "ledger_thing_1\n") {
		t.Error(got)
	}
	if got := r.callAs(t.Context(), h, callName, `{"tool":"ledger_thing_1","arguments":{"record":1}}`); !strings.HasPrefix(got, "error: ") || strings.Contains(got, "thing_1 {") {
		t.Error(got)
	}
}

// Servers are described whole as long as all together are not too long, in the order of
// their names; the search leaves with the last that needs it.
func TestManyServers(t *testing.T) {
	one := stdio(t, "one", "usual")
	one.Describe = -1
	r := newRig(t, one)
	if got := r.names(); !slices.Equal(got, []string{callName, findName}) {
		t.Fatalf("%q", got)
	}
	one.Describe = 0
	if err := r.Configure(t.Context(), []Server{one}); err != nil {
		t.Fatal(err)
	}
	r.until("no search", func() bool { return slices.Contains(r.left, Index) })
	if got := r.names(); len(got) != 12 {
		t.Errorf("%q", got)
	}
}

func TestServersBeyondTheLimitAreSearched(t *testing.T) {
	h := &Hub{options: Options{Publisher: &rig{}}, servers: map[string]*server{}}
	for i := range 4 {
		name := fmt.Sprintf("s%d", i)
		tool := remote{name: "t"}
		tool.definition.Name, tool.definition.Description = name+"_t", strings.Repeat("x", MaxDescribed/3)
		h.servers[name] = &server{config: Server{Name: name}, listed: true, catalog: catalog{tools: []remote{tool}}}
	}
	whole, searched := h.shelves()
	if len(whole) != 2 || len(searched) != 2 || searched[0].config.Name != "s2" {
		t.Errorf("%d are described, %d searched", len(whole), len(searched))
	}
}
