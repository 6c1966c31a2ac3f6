package session

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainMatch is Match as its documentation says it, without a thought for its cost.
func plainMatch(pattern, text string) bool {
	pattern, text = strings.ReplaceAll(pattern, `\`, "/"), strings.ReplaceAll(text, `\`, "/")
	without, optional := strings.CutSuffix(pattern, " *")
	return plainGlob([]rune(pattern), []rune(text)) || optional && plainGlob([]rune(without), []rune(text))
}

func plainGlob(pattern, text []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(text) == 0
	case pattern[0] == '*':
		return plainGlob(pattern[1:], text) || len(text) > 0 && plainGlob(pattern, text[1:])
	}
	return len(text) > 0 && (pattern[0] == '?' || pattern[0] == text[0]) && plainGlob(pattern[1:], text[1:])
}

// plainDecide is Decide in the words of the rules: of all resources and of the
// configured rules first, then with what was saved.
func plainDecide(configured, saved []Rule, action string, resources []string) Effect {
	last := func(rules []Rule, resource string) Effect {
		effect := Ask
		for _, rule := range rules {
			if plainMatch(rule.Action, action) && plainMatch(rule.Resource, resource) {
				effect = rule.Effect
			}
		}
		return effect
	}
	all := func(rules []Rule) Effect {
		var effects []Effect
		for _, resource := range resources {
			effects = append(effects, last(rules, resource))
		}
		switch {
		case slices.Contains(effects, Deny):
			return Deny
		case slices.Contains(effects, Ask):
			return Ask
		}
		return Allow
	}
	if all(configured) == Deny {
		return Deny
	}
	return all(slices.Concat(configured, saved))
}

func TestRulesAgainstPlainOnes(t *testing.T) {
	t.Parallel()
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/\\ \né")), 0, 8, -1)
	pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab/\\ \né*?")), 0, 8, -1)
	rules := func(effects ...Effect) *rapid.Generator[[]Rule] {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rule {
			return Rule{Action: rapid.SampledFrom([]string{"read", "edit", "*", "re*"}).Draw(t, "action"),
				Resource: pattern.Draw(t, "resource"), Effect: rapid.SampledFrom(effects).Draw(t, "effect")}
		}), 0, 6)
	}
	t.Run("Match", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			pattern, text := pattern.Draw(t, "pattern"), text.Draw(t, "text")
			if got, want := Match(pattern, text), plainMatch(pattern, text); got != want {
				t.Fatalf("Match(%q, %q) = %v, want %v", pattern, text, got, want)
			}
		})
	})
	t.Run("Decide", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			configured, saved := rules(Allow, Deny, Ask).Draw(t, "configured"), rules(Allow).Draw(t, "saved")
			action, resources := rapid.SampledFrom([]string{"read", "edit"}).Draw(t, "action"), rapid.SliceOfN(text, 0, 4).Draw(t, "resources")
			got, decisive := Decide(configured, saved, action, resources)
			if want := plainDecide(configured, saved, action, resources); got != want {
				t.Fatalf("Decide = %s, want %s", got, want)
			}
			if (got == Allow) != (decisive == "") && !slices.Contains(resources, "") || got != Allow && !slices.Contains(resources, decisive) {
				t.Fatalf("%s is decided by %q", got, decisive)
			}
		})
	})
}

func FuzzMatch(f *testing.F) {
	for _, c := range [][2]string{{"git *", "git"}, {"*.env", "a/b.env"}, {`a\b`, "a/b"}, {"a*b*c", "axbxc"}, {"?", "é"}, {"\xff*", "\xff"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 16 || len(text) > 32 || strings.Count(pattern, "*") > 5 {
			return // the plain matcher takes exponentially long
		}
		if got, want := Match(pattern, text), plainMatch(pattern, text); got != want {
			t.Errorf("Match(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}
