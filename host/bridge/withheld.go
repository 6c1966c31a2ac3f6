package bridge

import (
	"net/url"
	"slices"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/host/trust"
)

// noGrant refuses an operation: it says what the manifest must ask for, or which of its
// requests that would give it was not granted.
func (o *operations) noGrant(what, grant string, gives func(trust.RequestRecord) bool) *abi.Error {
	for _, request := range o.reach.Withheld {
		if gives(request) {
			return o.withheld(request)
		}
	}
	return refuse(abi.KindDenied, "this plugin has no grant for %s; its manifest must ask for it with %s", what, grant)
}

func (o *operations) withheld(request trust.RequestRecord) *abi.Error {
	return refuse(abi.KindDenied, "%s", trust.Refusal(o.plugin.ID, request.Key))
}

// noFetch refuses a request for an address when nothing may be fetched at all.
func (o *operations) noFetch(method, url string) *abi.Error {
	if request, ok := o.withheldFetch(method, url); ok {
		return o.withheld(request)
	}
	return o.noGrant("http", grantHTTP, func(trust.RequestRecord) bool { return false })
}

// withheldFetch finds the request of the manifest that would allow to fetch an address.
func (o *operations) withheldFetch(method, address string) (found trust.RequestRecord, ok bool) {
	target, err := egress.ParseURL(address)
	if err != nil {
		return found, false
	}
	for _, request := range o.reach.Withheld {
		switch {
		case request.Kind != trust.KindHTTP:
		case slices.Contains(request.Origins, trust.AnyOrigin):
			if !ok { // one that names the address is the better answer
				found, ok = request, true
			}
		case policyAllows(request, method, target):
			return request, true
		}
	}
	return found, ok
}

func policyAllows(request trust.RequestRecord, method string, target egress.Target) bool {
	grant := egress.Grant{Methods: request.Methods, Paths: request.Paths}
	for _, origin := range request.Origins {
		named, err := url.PathUnescape(origin) // what is not ASCII is in percent
		if err != nil {
			return false
		}
		grant.Origins = append(grant.Origins, named)
	}
	policy, err := egress.NewPolicy(grant)
	return err == nil && policy.Check(method, target) == nil
}
