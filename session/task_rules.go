package session

// DecideAll decides under several lists of rules at once, as Decide does under each:
// the strictest answer counts.
//
// It is how a child session never is allowed more than its parent. The lists are those
// of the child and of every ancestor (LoadLineage), each the configured rules, those of
// the session's agent as it is now, and the session's own. They are not copied into the
// child when it is made. In one list the last match wins, so a copied "ask" would
// loosen a "deny" of the child's agent, and an exception to a "deny" could not be
// copied at all; and a child outlives the agent its parent had, so one that is gone on
// with from a planning session is as restricted as one that was made there.
func DecideAll(lists [][]Rule, saved []Rule, action string, resources []string) (Effect, string) {
	strictest, decisive := Allow, ""
	for _, rules := range lists {
		switch effect, resource := Decide(rules, saved, action, resources); {
		case effect == Deny:
			return Deny, resource
		case effect == Ask && strictest == Allow:
			strictest, decisive = Ask, resource
		}
	}
	return strictest, decisive
}
