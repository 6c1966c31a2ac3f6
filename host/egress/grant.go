package egress

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Grant is what an operator lets a plugin reach: every combination of the three
// lists, and nothing by default.
type Grant struct {
	// Origins are exact: "https://api.example" or "http://127.0.0.1:8080".
	Origins []string
	// Methods are of GET, HEAD, POST, PUT, PATCH and DELETE. None stands
	// for another.
	Methods []string
	// Paths are patterns on the steps of the canonical path. * stands for any
	// bytes within a step, never for a whole empty one; ** may be the last step
	// and stands for all that follows, also nothing. A star itself is %2A.
	Paths []string
}

// methods are what a request may have.
var methods = [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// maxPattern bounds the stars of one pattern, so that matching stays cheap.
const maxPattern = 32

// Policy decides what may be requested. A nil Policy allows nothing.
type Policy struct {
	rules []rule
}

type rule struct {
	origin  Origin
	methods []string
	paths   []pattern
}

// NewPolicy compiles grants. Errors are of type *Error and name the grant and its
// field.
func NewPolicy(grants ...Grant) (*Policy, error) {
	p := &Policy{}
	for i, grant := range grants {
		var compiled rule
		fail := func(field, format string, args ...any) (*Policy, error) {
			return nil, policyError("grant %d: %s: %s", i+1, field, fmt.Sprintf(format, args...))
		}
		for _, method := range grant.Methods {
			if !slices.Contains(methods[:], method) {
				return fail("methods", "there is no %q; use %s", method, strings.Join(methods[:], ", "))
			}
			compiled.methods = append(compiled.methods, method)
		}
		for _, text := range grant.Paths {
			parsed, err := parsePattern(text)
			if err != nil {
				return fail("paths", "%q: %v", text, err)
			}
			compiled.paths = append(compiled.paths, parsed)
		}
		if len(grant.Methods) == 0 {
			return fail("methods", "name at least one, like GET")
		}
		if len(grant.Paths) == 0 {
			return fail("paths", "name at least one; /** is all")
		}
		if len(grant.Origins) == 0 {
			return fail("origins", "name at least one, like https://api.example")
		}
		for _, text := range grant.Origins {
			origin, err := ParseOrigin(text)
			if err != nil {
				return fail("origins", "%v", err)
			}
			if address, ok := origin.literal(); ok && slices.Contains([]class{classReserved, classMulticast}, classOf(address)) {
				return fail("origins", "%q: no service has this address", text)
			}
			compiled.origin = origin
			p.rules = append(p.rules, compiled)
		}
	}
	return p, nil
}

// Check reports whether the policy allows the request, by an *Error with
// KindPolicy that names what is not granted.
func (p *Policy) Check(method string, target Target) error {
	var origin, verb bool
	if p != nil {
		for _, rule := range p.rules {
			if rule.origin != target.Origin {
				continue
			}
			origin = true
			if !slices.Contains(rule.methods, method) {
				continue
			}
			verb = true
			if slices.ContainsFunc(rule.paths, func(p pattern) bool { return p.covers(target.Path) }) {
				return nil
			}
		}
	}
	switch {
	case !origin:
		return policyError("%s is not granted", target.Origin)
	case !verb:
		return policyError("the method %s is not granted for %s", method, target.Origin)
	}
	return policyError("the path %s is not granted for %s %s", shown(target.Path), method, target.Origin)
}

// literals are the origins that name an address or this machine, as host:port.
func (p *Policy) literals() []string {
	var all []string
	if p == nil {
		return nil
	}
	for _, rule := range p.rules {
		if _, ok := rule.origin.literal(); ok || rule.origin.Host == localhost {
			all = append(all, rule.origin.endpoint())
		}
	}
	return all
}

func (o Origin) endpoint() string { return net.JoinHostPort(o.Host, strconv.Itoa(int(o.Port))) }

// pattern is a path with stars.
type pattern struct {
	steps [][]string // each the texts between its stars, decoded
	rest  bool       // ** at the end
}

func parsePattern(text string) (pattern, error) {
	if !strings.HasPrefix(text, "/") {
		return pattern{}, fmt.Errorf("a path begins with /")
	}
	if err := checkText(text); err != nil {
		return pattern{}, err
	}
	if strings.ContainsAny(text, "?#") {
		return pattern{}, fmt.Errorf("a path has no ? and no #")
	}
	canonical, err := canonicalPath(text)
	if err != nil {
		return pattern{}, err
	}
	steps := strings.Split(canonical[1:], "/")
	if len(steps) != strings.Count(text, "/") {
		return pattern{}, fmt.Errorf("it must not have the steps . and ..")
	}
	if strings.Count(text, "*") > maxPattern {
		return pattern{}, fmt.Errorf("it has more than %d stars", maxPattern)
	}
	var parsed pattern
	for i, step := range steps {
		if step == "**" && i == len(steps)-1 {
			parsed.rest = true
			break
		}
		if strings.Contains(step, "**") {
			return pattern{}, fmt.Errorf("** must be the whole last step")
		}
		texts := strings.Split(step, "*")
		for j, text := range texts {
			texts[j] = decoded(text)
		}
		parsed.steps = append(parsed.steps, texts)
	}
	return parsed, nil
}

// covers reports whether the pattern stands for the canonical path: as it is
// written, and as a server reads it that decodes slashes before it looks for steps.
func (p pattern) covers(path string) bool {
	steps := strings.Split(path[1:], "/")
	for i, step := range steps {
		steps[i] = decoded(step)
	}
	if !p.matches(steps) {
		return false
	}
	again := strings.Split(strings.Join(steps, "/"), "/")
	return len(again) == len(steps) || p.matches(again)
}

func (p pattern) matches(steps []string) bool {
	if len(steps) < len(p.steps) || !p.rest && len(steps) > len(p.steps) || p.rest && len(steps) == len(p.steps) {
		return false
	}
	for i, texts := range p.steps {
		if !matchStep(texts, steps[i]) {
			return false
		}
	}
	return true
}

// matchStep matches the texts between stars, the first and the last at the ends,
// the others each at the first place there is.
func matchStep(texts []string, step string) bool {
	if len(texts) == 1 {
		return step == texts[0]
	}
	first, last := texts[0], texts[len(texts)-1]
	if step == "" || len(step) < len(first)+len(last) || !strings.HasPrefix(step, first) || !strings.HasSuffix(step, last) {
		return false
	}
	step = step[len(first) : len(step)-len(last)]
	for _, text := range texts[1 : len(texts)-1] {
		at := strings.Index(step, text)
		if at < 0 {
			return false
		}
		step = step[at+len(text):]
	}
	return true
}
