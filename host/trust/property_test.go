package trust_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/trust"
)

// some draws texts of a few, at least one.
func some(t *rapid.T, name string, of ...string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 1, len(of), rapid.ID[string]).Draw(t, name)
}

// requests draws what a manifest asks for, of a world so small that manifests overlap.
func requests(t *rapid.T, name string) abi.ManifestRequest {
	var all abi.ManifestRequest
	count := func(what string) int { return rapid.IntRange(0, 2).Draw(t, name+" "+what) }
	one := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name+" "+what) }
	for range count("http") {
		if rapid.IntRange(0, 4).Draw(t, name+" anywhere") == 0 {
			all.HTTP = append(all.HTTP, abi.ManifestHTTP{Origins: []string{trust.AnyOrigin}})
			continue
		}
		all.HTTP = append(all.HTTP, abi.ManifestHTTP{
			Origins: some(t, name+" origins", "https://a.example", "https://A.example:443", "https://b.example", "http://a.example"),
			Methods: some(t, name+" methods", "GET", "POST"), Paths: some(t, name+" paths", "/x", "/x/*", "/**"),
		})
	}
	for i := range count("secrets") {
		all.Secrets = append(all.Secrets, abi.ManifestSecret{Handle: fmt.Sprint("key-", i), Audience: one("audience", "https://a.example", "https://b.example"),
			Inject: abi.ManifestAuth{Kind: one("kind", "query", "header"), Name: one("place", "k", "l"), Value: one("value", "", "{secret}", "Bearer {secret}")}})
	}
	for range count("fs") {
		all.FS = append(all.FS, abi.ManifestFS{Root: one("root", "location", "project"), Access: one("access", "read", "write")})
	}
	if count("kv") > 0 {
		all.KV = &abi.ManifestKV{}
	}
	if count("process") > 0 {
		all.Process = &abi.ManifestProcess{}
	}
	if count("session") > 0 {
		all.Session = &abi.ManifestSession{Operations: some(t, name+" operations", "todo.get", "todo.set", "task.run")}
	}
	return all
}

// allowed lists all that a manifest can do under grants, as the host would decide it.
func allowed(t *rapid.T, m abi.Manifest, grants []string) map[string]bool {
	narrow, err := trust.Narrow(m, grants)
	if err != nil {
		t.Fatal(err)
	}
	can := map[string]bool{}
	var policy []egress.Grant
	for _, one := range narrow.Request.HTTP {
		if one.Origins[0] == trust.AnyOrigin {
			can["anywhere"] = true
		} else {
			policy = append(policy, egress.Grant{Origins: one.Origins, Methods: one.Methods, Paths: one.Paths})
		}
	}
	compiled, err := egress.NewPolicy(policy...)
	if err != nil {
		t.Fatal(err)
	}
	for _, origin := range []string{"https://a.example", "https://b.example", "http://a.example"} {
		for _, path := range []string{"/", "/x", "/x/1", "/x/1/2", "/y"} {
			target, err := egress.ParseURL(origin + path)
			if err != nil {
				t.Fatal(err)
			}
			for _, method := range []string{"GET", "POST", "PUT"} {
				if compiled.Check(method, target) == nil {
					can[method+" "+origin+path] = true
				}
			}
		}
	}
	for _, one := range narrow.Request.Secrets {
		value := one.Inject.Value
		if value == "" {
			value = "{secret}"
		}
		can[fmt.Sprintf("secret %s to %s in %s %s as %s", one.Handle, one.Audience, one.Inject.Kind, one.Inject.Name, value)] = true
	}
	for _, one := range narrow.Request.FS {
		can["read "+one.Root] = true
		if one.Access == "write" {
			can["write "+one.Root] = true
		}
	}
	can["kv"], can["process"] = narrow.Request.KV != nil, narrow.Request.Process != nil
	if narrow.Request.Session != nil {
		for _, operation := range narrow.Request.Session.Operations {
			can[operation] = true
		}
	}
	return can
}

// Whatever a later version can do without asking, the approved one could; and what is
// neither taken nor told as more was asked before.
func TestAnApprovalNeverWidens(t *testing.T) {
	t.Parallel()
	taken, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		before, after := abi.Manifest{Request: requests(t, "before")}, abi.Manifest{Request: requests(t, "after")}
		if rapid.Bool().Draw(t, "same") {
			after = before
		}
		var granted []string
		for _, key := range trust.Keys(before) {
			if rapid.Bool().Draw(t, "grant "+key) {
				granted = append(granted, key)
			}
		}
		grants, more := trust.Covers(trust.Approval{Requests: trust.Records(before), Granted: granted}, after)
		was, everything, now := allowed(t, before, granted), allowed(t, before, trust.Keys(before)), allowed(t, after, grants)
		for what, is := range now {
			if is && !was[what] {
				t.Fatalf("%s is allowed by %v, and was not by %v", what, grants, granted)
			}
		}
		var rest []string
		for _, key := range trust.Keys(after) {
			unseen := slices.ContainsFunc(more, func(one trust.Request) bool { return one.Key == key })
			if unseen && slices.Contains(grants, key) {
				t.Fatalf("%s is taken, and told as more", key)
			}
			if !unseen {
				rest = append(rest, key)
			}
		}
		for what, is := range allowed(t, after, rest) {
			if is && !everything[what] {
				t.Fatalf("%s is not told as more, and was never asked for", what)
			}
		}
		if cover := slices.Equal(trust.Keys(before), trust.Keys(after)); cover && len(more) == 0 {
			taken += len(grants)
		}
		refused += len(more)
	})
	if taken == 0 || refused == 0 {
		t.Errorf("%d requests were taken, %d refused: the test saw nothing", taken, refused)
	}
}

// A version that asks for the same is allowed the same.
func TestTheSameRequestsAreTakenWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := abi.Manifest{Request: requests(t, "manifest")}
		var granted []string
		for _, key := range trust.Keys(m) {
			if rapid.Bool().Draw(t, "grant "+key) {
				granted = append(granted, key)
			}
		}
		grants, more := trust.Covers(trust.Approval{Requests: trust.Records(m), Granted: granted}, m)
		if len(more) > 0 {
			t.Fatalf("more is asked: %v", more)
		}
		if was, is := allowed(t, m, granted), allowed(t, m, grants); !maps.Equal(was, is) {
			t.Fatalf("allowed %v, was %v", is, was)
		}
	})
}
