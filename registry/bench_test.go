package registry_test

import (
	"fmt"
	"testing"

	"github.com/plinthhost/plinth/registry"
)

// filled has 50 global scopes of 20 tools and one Location that shadows ten.
func filled(b *testing.B) kinds {
	b.Helper()
	k := newKinds()
	for s := range 50 {
		var names []string
		for n := range 20 {
			names = append(names, fmt.Sprintf("tool_%d_%d", s, n))
		}
		if _, err := k.Replace(k.scope(fmt.Sprint(s), "", names...)); err != nil {
			b.Fatal(err)
		}
	}
	var shadows []string
	for n := range 10 {
		shadows = append(shadows, fmt.Sprintf("tool_0_%d", n))
	}
	if _, err := k.Replace(k.scope("project", "/a", shadows...)); err != nil {
		b.Fatal(err)
	}
	return k
}

func BenchmarkPin(b *testing.B) {
	k := filled(b)
	for b.Loop() {
		k.Pin("/a").Release()
	}
}

func BenchmarkLookup(b *testing.B) {
	k := filled(b)
	p := k.Pin("/a")
	defer p.Release()
	for b.Loop() {
		if _, ok := registry.Lookup(p, k.tools, "tool_20_7"); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkAll1000(b *testing.B) {
	k := filled(b)
	p := k.Pin("/a")
	defer p.Release()
	for b.Loop() {
		registry.All(p, k.tools)
	}
}

func BenchmarkReplaceAmong1000(b *testing.B) {
	k := filled(b)
	scope := k.scope("reloaded", "", "one", "two", "three")
	for b.Loop() {
		if _, err := k.Replace(scope); err != nil {
			b.Fatal(err)
		}
	}
}
