package session

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true}, {"*", "a/b\nc", true}, {"git *", "git", true}, {"git *", "git push", true}, {"git *", "gitk", false},
		{"*.env", "a/b.env", true}, {"*.env", "a/b.env.local", false}, {"src/?.go", "src/a.go", true}, {"src/?.go", "src/ab.go", false},
		{`a\b`, "a/b", true}, {"read", "read", true}, {"read", "reads", false}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false},
		{"?", "é", true}, {"", "", true}, {"", "a", false},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

func TestDecide(t *testing.T) {
	deny := Rule{Action: "read", Resource: "secret/*", Effect: Deny}
	saved := []Rule{{Action: "read", Resource: "*", Effect: Allow}}
	for _, c := range []struct {
		name      string
		rules     []Rule
		saved     []Rule
		action    string
		resources []string
		want      Effect
		resource  string
	}{
		{"no rule asks", nil, nil, "read", []string{"a"}, Ask, "a"},
		{"no resource is allowed", nil, nil, "read", nil, Allow, ""},
		{"default allows reading", DefaultRules(""), nil, "read", []string{"go.mod"}, Allow, ""},
		{"default asks for env", DefaultRules(""), nil, "read", []string{"a/.env"}, Ask, "a/.env"},
		{"default allows the example", DefaultRules(""), nil, "read", []string{".env.example"}, Allow, ""},
		{"default allows edits", DefaultRules(""), nil, "edit", []string{"main.go", ".gitignore", "a/.github/x"}, Allow, ""},
		{"default asks for hooks", DefaultRules(""), nil, "edit", []string{"main.go", ".git/hooks/pre-commit"}, Ask, ".git/hooks/pre-commit"},
		{"default asks for a repository below", DefaultRules(""), nil, "edit", []string{"sub/.git/config"}, Ask, "sub/.git/config"},
		{"default asks for a file that names a repository", DefaultRules(""), nil, "edit", []string{"sub/.git"}, Ask, "sub/.git"},
		{"a plugin is asked", DefaultRules("acme/x"), nil, "weather", []string{"Oslo"}, Ask, "Oslo"},
		{"last match wins", []Rule{{"read", "a", Deny}, {"read", "*", Allow}}, nil, "read", []string{"a"}, Allow, ""},
		{"deny beats ask of another", append(DefaultRules(""), deny), nil, "read", []string{".env", "secret/x"}, Deny, "secret/x"},
		{"saved beats ask", DefaultRules(""), saved, "read", []string{".env"}, Allow, ""},
		{"saved never beats deny", append(DefaultRules(""), deny), saved, "read", []string{"secret/x"}, Deny, "secret/x"},
		{"allowed and asked asks", DefaultRules(""), nil, "read", []string{"a", ".env"}, Ask, ".env"},
	} {
		t.Run(c.name, func(t *testing.T) {
			effect, resource := Decide(c.rules, c.saved, c.action, c.resources)
			if effect != c.want || resource != c.resource {
				t.Errorf("Decide = %s on %q, want %s on %q", effect, resource, c.want, c.resource)
			}
		})
	}
}

func TestHidden(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []Rule
		want  bool
	}{
		{"denied whole", []Rule{{"bash", "*", Deny}}, true},
		{"a later narrower rule keeps it", []Rule{{"*", "*", Deny}, {"bash", "git*", Allow}}, false},
		{"last one counts", []Rule{{"bash", "*", Allow}, {"bash", "*", Deny}}, true},
		{"a narrow deny keeps it", []Rule{{"bash", "*", Deny}, {"bash", "rm*", Deny}}, false},
		{"no rule", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Hidden(c.rules, "bash"); got != c.want {
				t.Errorf("Hidden = %v, want %v", got, c.want)
			}
		})
	}
}

func TestSavable(t *testing.T) {
	for _, resource := range []string{"*", "a?", `a\b`, "src/*.go"} {
		if got := Savable(resource); got != nil {
			t.Errorf("an always to %q would save %q", resource, got)
		}
	}
	if got := Savable("src/a.go"); len(got) != 1 || got[0] != "src/a.go" {
		t.Errorf("got %q", got)
	}
}
