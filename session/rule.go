package session

import (
	"fmt"
	"slices"
	"strings"
)

// Rule allows, denies or asks for an action on a resource. Both are patterns: "*"
// stands for any run of characters, "?" for one, and a pattern that ends in " *"
// also matches without that part ("git *" matches "git").
type Rule struct {
	Action   string `json:"action"`
	Resource string `json:"resource"`
	Effect   Effect `json:"effect"`
}

// Effect is what a rule does.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
	Ask   Effect = "ask"
)

// Bounds of a session's own rules.
const (
	maxRules     = 256
	maxRuleBytes = 4096 // of an action and its resource together
)

func checkRules(rules []Rule) error {
	if len(rules) > maxRules {
		return fmt.Errorf("%w: rules has %d entries, the limit is %d", ErrInvalid, len(rules), maxRules)
	}
	for i, r := range rules {
		var reason string
		switch {
		case r.Action == "" || r.Resource == "":
			reason = `needs action and resource; "*" stands for any`
		case len(r.Action)+len(r.Resource) > maxRuleBytes:
			reason = fmt.Sprintf("has %d bytes, the limit is %d", len(r.Action)+len(r.Resource), maxRuleBytes)
		case r.Effect != Allow && r.Effect != Deny && r.Effect != Ask:
			reason = fmt.Sprintf("has the effect %q; it must be allow, deny or ask", clip(string(r.Effect)))
		default:
			continue
		}
		return fmt.Errorf("%w: rules[%d] %s", ErrInvalid, i, reason)
	}
	return nil
}

// DefaultRules come before the operator's. What a plugin that is not builtin asks
// under an action of its own is asked, whatever builtins are trusted with.
func DefaultRules(plugin string) []Rule {
	everything := Allow
	if plugin != "" {
		everything = Ask
	}
	rules := []Rule{
		{Action: "*", Resource: "*", Effect: everything},
		{Action: "external_directory", Resource: "*", Effect: Ask},
		{Action: "doom_loop", Resource: "*", Effect: Ask},
		{Action: "budget", Resource: "*", Effect: Ask},
		{Action: "read", Resource: "*.env", Effect: Ask},
		{Action: "read", Resource: "*.env.*", Effect: Ask},
		{Action: "read", Resource: "*.env.example", Effect: Allow},
	}
	// What lies there runs later, as the user and outside of any sandbox: hooks, and
	// programs that the configuration names.
	for _, resource := range []string{".git", ".git/*", "*/.git", "*/.git/*"} {
		rules = append(rules, Rule{Action: "edit", Resource: resource, Effect: Ask})
	}
	return rules
}

// Decide answers the effect on all resources together. The last configured rule
// that matches wins; a saved approval turns ask into allow and never beats a deny.
// The strictest resource decides; without resources the answer is allow. The
// resource answered is the one that decided.
func Decide(configured, saved []Rule, action string, resources []string) (Effect, string) {
	effect, decisive := Allow, ""
	for _, resource := range resources {
		switch one := lastMatch(configured, action, resource); {
		case one == Deny:
			return Deny, resource
		case one == Ask && lastMatch(saved, action, resource) != Allow && effect == Allow:
			effect, decisive = Ask, resource
		}
	}
	return effect, decisive
}

// Hidden reports whether a tool of that action is not offered at all: the last
// rule of its action denies everything.
func Hidden(rules []Rule, action string) bool {
	for _, rule := range slices.Backward(rules) {
		if Match(rule.Action, action) {
			return rule.Resource == "*" && rule.Effect == Deny
		}
	}
	return false
}

func lastMatch(rules []Rule, action, resource string) Effect {
	for _, rule := range slices.Backward(rules) {
		if Match(rule.Action, action) && Match(rule.Resource, resource) {
			return rule.Effect
		}
	}
	return Ask
}

// Match reports whether the whole text matches the pattern.
func Match(pattern, text string) bool {
	pattern = strings.ReplaceAll(pattern, `\`, "/")
	text = strings.ReplaceAll(text, `\`, "/")
	if glob(pattern, text) {
		return true
	}
	prefix, ok := strings.CutSuffix(pattern, " *")
	return ok && glob(prefix, text)
}

// glob goes back to the latest star only, so its cost is at most the product of
// the lengths.
func glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// Savable is what an "always" to a resource will allow: the resource itself. One
// that would be a pattern, or match another, can only be allowed once: it may be
// the model's choice.
func Savable(resource string) []string {
	if strings.ContainsAny(resource, `*?\`) {
		return nil
	}
	return []string{resource}
}
