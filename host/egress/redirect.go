package egress

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// course is a fetch on its way through redirects.
type course struct {
	fetcher *Fetcher
	fetch   Fetch
	guest   map[string]string // the headers that still go along
	total   time.Duration
	left    time.Duration // of the total
	last    hop           // the one that was answered, without secrets
}

// run makes the request and follows redirects, each under the whole policy.
func (c *course) run(ctx context.Context) (*Response, error) {
	next, err := c.first()
	for {
		if err == nil {
			err = c.prepare(ctx, &next)
		}
		if err != nil {
			return nil, c.fetcher.caller.refuse(next, err)
		}
		caller, injectors, _ := c.fetcher.way(next, c.fetch.Handles)
		started := time.Now()
		next.deadline, next.total = started.Add(c.left), c.total
		response, err := caller.authorised(ctx, next, injectors)
		if err != nil {
			return nil, err
		}
		c.left -= time.Since(started)
		c.last = next
		if response.location == "" || c.fetch.Redirect == RedirectManual {
			return response, nil
		}
		response.Body.Close()
		if next, err = c.follow(response); err != nil {
			return nil, caller.refuse(next, err)
		}
	}
}

// first is the request as the guest asked for it.
func (c *course) first() (hop, error) {
	h := hop{method: c.fetch.Method, body: c.fetch.Body}
	if err := checkMethod(h.method); err != nil {
		return h, err
	}
	target, err := ParseURL(c.fetch.URL)
	if err != nil {
		return h, err
	}
	h.target = target
	if !slices.Contains([]string{"", RedirectFollow, RedirectManual, RedirectError}, c.fetch.Redirect) {
		return h, policyError("there is no way %q to treat redirects; use follow, manual or error", shown(c.fetch.Redirect))
	}
	c.guest = c.fetch.Headers
	return h, c.fetcher.known(c.fetch.Handles)
}

// prepare applies the policy to the hop and gives it its headers.
func (c *course) prepare(ctx context.Context, h *hop) error {
	if err := c.fetcher.policy.Check(h.method, h.target); err != nil {
		if c.fetch.Ask == nil {
			return err
		}
		if err := h.target.Origin.checkPublic(); err != nil && !c.local(h) {
			return err
		}
		if err := c.fetch.Ask(ctx, h.method, h.target); err != nil {
			return denied{err}
		}
		h.asked = true
	}
	_, injectors, names := c.fetcher.way(*h, c.fetch.Handles)
	h.handles = names
	for _, name := range parameters(h.target.Query) {
		if slices.ContainsFunc(injectors, func(i *injector) bool { return strings.EqualFold(i.query(), name) }) && name != "" {
			return policyError("the query's %q is the host's to set", shown(name))
		}
	}
	var err error
	h.header, err = guestHeaders(c.guest, taken(injectors), c.fetcher.caller.limits)
	return err
}

// local reports whether the hop goes to this machine because the guest named it, and
// not because a server elsewhere did.
func (c *course) local(h *hop) bool {
	return c.fetch.Local && h.target.Origin.local() && (h.number == 0 || c.last.target.Origin.local())
}

// denied is what Ask said.
type denied struct{ error }

func (d denied) Unwrap() error { return d.error }

// follow answers the hop that a redirect leads to.
func (c *course) follow(response *Response) (hop, error) {
	from := c.last
	next := hop{number: from.number + 1, method: from.method, body: from.body}
	target, err := c.resolve(response.location)
	if err != nil {
		return next, err
	}
	next.target = target
	limit := c.fetcher.caller.limits.Redirects
	switch {
	case c.fetch.Redirect == RedirectError:
		return next, policyError("%s redirects to %s, and redirects are not wanted", from.target.Origin, target.Origin)
	case next.number > limit:
		return next, limitError("redirects", "%s redirects once more after %d times, the limit", from.target.Origin, limit)
	case from.target.Origin.Scheme == "https" && target.Origin.Scheme == "http":
		return next, policyError("%s redirects from https to http, to %s", from.target.Origin, target.Origin)
	}
	// 303 asks for the result by GET; so do, for POST, 301 and 302 in all browsers.
	seeOther := response.Status == http.StatusSeeOther && next.method != http.MethodHead
	moved := next.method == http.MethodPost && (response.Status == http.StatusMovedPermanently || response.Status == http.StatusFound)
	if seeOther || moved {
		next.method, next.body = http.MethodGet, nil
	}
	c.guest = remaining(c.guest, next.body != nil, target.Origin == from.target.Origin)
	return next, nil
}

// resolve answers where a location leads from the last hop.
func (c *course) resolve(location string) (Target, error) {
	from := c.last.target
	if err := checkText(location); err != nil {
		return Target{}, policyError("%s redirects to what is no URL: %v", from.Origin, err)
	}
	location, _, _ = strings.Cut(location, "#")
	reference, err := from.wire().Parse(location)
	if err != nil {
		return Target{}, policyError("%s redirects to what is no URL", from.Origin)
	}
	target, err := ParseURL(reference.String())
	if err != nil {
		return Target{}, policyError("%s redirects: %v", from.Origin, err)
	}
	injectors, _ := c.fetcher.chosen(target.Origin, c.fetch.Handles)
	for _, injector := range injectors {
		target.Query = without(target.Query, injector.query()) // it is put in anew
	}
	if text := target.String(); target.Origin != from.Origin && c.fetcher.caller.scrubber.Scrub(text) != text {
		return Target{}, policyError("%s redirects to %s with a secret in the address", from.Origin, target.Origin)
	}
	return target, nil
}

// without leaves a parameter out of a query.
func without(query, name string) string {
	if name == "" || query == "" {
		return query
	}
	return strings.Join(slices.DeleteFunc(strings.Split(query, "&"), func(part string) bool {
		return slices.ContainsFunc(parameters(part), func(other string) bool { return strings.EqualFold(other, name) })
	}), "&")
}

// remaining are the guest's headers that go along to the next hop: those about a
// body with the body, and to another origin only what says nothing of the guest.
func remaining(headers map[string]string, hasBody, sameOrigin bool) map[string]string {
	all := make(map[string]string, len(headers))
	for name, value := range headers {
		canonical := http.CanonicalHeaderKey(name)
		ofBody := strings.HasPrefix(canonical, "Content-")
		harmless := ofBody || slices.Contains([]string{"Accept", "Accept-Language", "User-Agent"}, canonical)
		if (hasBody || !ofBody) && (sameOrigin || harmless) {
			all[name] = value
		}
	}
	return all
}
