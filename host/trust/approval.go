package trust

import (
	"slices"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// Approval is what the operator said of one packed plugin.
type Approval struct {
	Digest string `json:"digest"` // of the packed plugin, 64 hex digits
	// Requests are all that were asked then, also those that were not granted.
	Requests []RequestRecord `json:"requests,omitempty"`
	// Granted are the keys of those that were.
	Granted []string `json:"granted,omitempty"`
}

// Covers holds a manifest against an approval. Grants are the keys of its requests
// that were granted then; more are those that the operator has not seen yet. A request
// counts as seen when one request of then allowed at least as much; it has that one's
// answer, and the better one of several. What Grants allow was allowed before.
func Covers(a Approval, m abi.Manifest) (grants []string, more []Request) {
	for _, request := range Requests(m) {
		seen, granted := false, false
		for _, former := range a.Requests {
			if former.allows(request.RequestRecord) {
				seen = true
				granted = granted || slices.Contains(a.Granted, former.Key)
			}
		}
		switch {
		case granted:
			grants = append(grants, request.Key)
		case !seen:
			more = append(more, request)
		}
	}
	return grants, more
}

// allows reports whether all that other allows is allowed by r too. It may say no
// where that is hard to see, as of paths by different patterns.
func (r RequestRecord) allows(other RequestRecord) bool {
	if r.Kind != other.Kind {
		return false
	}
	switch r.Kind {
	case KindHTTP: // the origin "*" is not all origins: each of its addresses is asked for
		return subset(other.Origins, r.Origins) && subset(other.Methods, r.Methods) && subset(other.Paths, r.Paths)
	case KindSecret:
		return r.Handle == other.Handle && r.Audience == other.Audience && r.Inject != nil && other.Inject != nil && *r.Inject == *other.Inject
	case KindFS:
		return r.Root == other.Root && (r.Access == other.Access || r.Access == accessWrite && other.Access == accessRead)
	case KindSession:
		return r.Operation == other.Operation
	case KindKV, KindProcess:
		return true
	}
	return false
}

func subset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}
