package session

import (
	"testing"

	"pgregory.net/rapid"
)

// What several lists decide together is no more than what each of them decides.
func TestSeveralListsOfRulesDecideTogether(t *testing.T) {
	order := map[Effect]int{Allow: 0, Ask: 1, Deny: 2}
	words := rapid.SampledFrom([]string{"*", "a", "b", "a*", "*b", "?", "a *"})
	rule := rapid.Custom(func(t *rapid.T) Rule {
		return Rule{Action: words.Draw(t, "action"), Resource: words.Draw(t, "resource"),
			Effect: rapid.SampledFrom([]Effect{Allow, Ask, Deny}).Draw(t, "effect")}
	})
	rapid.Check(t, func(t *rapid.T) {
		policies := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Policy {
			return Policy{Configured: rapid.SliceOfN(rule, 0, 4).Draw(t, "configured"), Own: rapid.SliceOfN(rule, 0, 2).Draw(t, "own")}
		}), 0, 3).Draw(t, "policies")
		saved := []Rule{{Action: "a", Resource: "a", Effect: Allow}}
		action := rapid.SampledFrom([]string{"a", "b", "ab"}).Draw(t, "action")
		resources := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 0, 3).Draw(t, "resources")
		want := Allow
		for _, policy := range policies {
			effect, _ := policy.Decide(saved, action, resources)
			if configured, _ := Decide(policy.Configured, saved, action, resources); configured == Deny && effect != Deny {
				t.Fatal("a session's own rules beat a configured deny")
			}
			if order[effect] > order[want] {
				want = effect
			}
		}
		if got, _ := DecideAll(policies, saved, action, resources); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

func TestAChildIsNeverAllowedMoreThanItsParent(t *testing.T) {
	rule := func(action, resource string, effect Effect) Rule {
		return Rule{Action: action, Resource: resource, Effect: effect}
	}
	defaults := DefaultRules("")
	build, general := defaults, defaults
	plan := append(DefaultRules(""), rule("edit", "*", Deny), rule("edit", ".plinth/plans/*", Allow))
	explore := append(DefaultRules(""), rule("*", "*", Deny), rule("read", "*", Allow))
	careful := append(DefaultRules(""), rule("*", "*", Ask)) // a session whose person wants to be asked
	for _, c := range []struct {
		name             string
		child, parent    []Rule
		action, resource string
		want             Effect
	}{
		{"build gives general what it has", general, build, "edit", "main.go", Allow},
		{"plan gives nobody an edit", general, plan, "edit", "main.go", Deny},
		{"plan gives its own exception", general, plan, "edit", ".plinth/plans/a.md", Allow},
		{"explore keeps its own limits", explore, build, "edit", "main.go", Deny},
		{"a question of the parent is the child's", general, careful, "edit", "main.go", Ask},
		{"and does not loosen what the child must not", explore, careful, "edit", "main.go", Deny},
		{"nor free it of being asked", explore, careful, "read", "main.go", Ask},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := DecideAll([]Policy{{Configured: c.child}, {Configured: c.parent}}, nil, c.action, []string{c.resource}); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	saved := []Rule{rule("edit", "main.go", Allow)}
	if got, _ := DecideAll([]Policy{{Configured: general}, {Configured: careful}}, saved, "edit", []string{"main.go"}); got != Allow {
		t.Errorf("%s after an approval, want allow", got)
	}
}
