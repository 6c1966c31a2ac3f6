package session

import "slices"

// Policy is the rules of one session: the configured ones, which are the default
// ones, the operator's and the agent's in this order, and the session's own.
type Policy struct {
	Configured []Rule
	// Own come after the configured ones, as the last that matches wins; but a
	// configured deny stays one. A client that may set them does not become the
	// operator.
	Own []Rule
}

// Decide answers the effect on all resources together, as Decide does.
func (p Policy) Decide(saved []Rule, action string, resources []string) (Effect, string) {
	effect, resource := Decide(p.Configured, saved, action, resources)
	if effect == Deny || len(p.Own) == 0 {
		return effect, resource
	}
	return Decide(slices.Concat(p.Configured, p.Own), saved, action, resources)
}

// Hides reports whether a tool of that action is not offered at all.
func (p Policy) Hides(action string) bool {
	return Hidden(p.Configured, action) || Hidden(slices.Concat(p.Configured, p.Own), action)
}

// DecideAll decides under several policies at once: the strictest answer counts.
//
// It is how a child session never is allowed more than its parent. The policies are
// those of the child and of every ancestor (LoadLineage), with the agents they have
// now. They are not copied into the child when it is made. In one list the last match
// wins, so a copied "ask" would loosen a "deny" of the child's agent, and an exception
// to a "deny" could not be copied at all; and a child outlives the agent its parent
// had, so one that is gone on with from a planning session is as restricted as one that
// was made there.
func DecideAll(policies []Policy, saved []Rule, action string, resources []string) (Effect, string) {
	strictest, decisive := Allow, ""
	for _, policy := range policies {
		switch effect, resource := policy.Decide(saved, action, resources); {
		case effect == Deny:
			return Deny, resource
		case effect == Ask && strictest == Allow:
			strictest, decisive = Ask, resource
		}
	}
	return strictest, decisive
}
