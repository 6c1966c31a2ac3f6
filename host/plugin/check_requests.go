package plugin

import (
	"fmt"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
)

// requests checks what the plugin asks the operator for.
func (c *checker) requests(m *abi.Manifest) error {
	for i, request := range m.Request.FS {
		at := fmt.Sprintf("request.fs[%d].", i)
		if !slices.Contains([]string{bridge.RootLocation, bridge.RootProject, bridge.RootConfig}, request.Root) {
			return c.fail(at+"root", "%q is not available in this version; there are location, project and config", request.Root)
		}
		if err := c.oneOf(at+"access", request.Access, string(bridge.AccessRead), string(bridge.AccessWrite)); err != nil {
			return err
		}
		if request.Root == bridge.RootConfig && request.Access != string(bridge.AccessRead) {
			return c.fail(at+"access", "the operator's configuration can only be read; use read")
		}
		if err := c.reason(at, request.Reason); err != nil {
			return err
		}
	}
	if m.Request.KV != nil {
		if err := c.reason("request.kv.", m.Request.KV.Reason); err != nil {
			return err
		}
	}
	if m.Request.Process != nil {
		if err := c.reason("request.process.", m.Request.Process.Reason); err != nil {
			return err
		}
	}
	for _, check := range []func(*abi.Manifest) error{c.sessionRequest, c.httpRequests, c.secretRequests} {
		if err := check(m); err != nil {
			return err
		}
	}
	return nil
}

// reason is what the operator decides by.
func (c *checker) reason(at, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return c.fail(at+"reason", "it is missing; the operator decides by it")
	}
	return nil
}

func (c *checker) sessionRequest(m *abi.Manifest) error {
	request := m.Request.Session
	if request == nil {
		return nil
	}
	known := bridge.SessionOperations()
	if len(request.Operations) == 0 {
		return c.fail("request.session.operations", "it is empty; name some of %s", strings.Join(known, ", "))
	}
	seen := map[string]bool{}
	for i, operation := range request.Operations {
		at := fmt.Sprintf("request.session.operations[%d]", i)
		if err := c.oneOf(at, operation, known...); err != nil {
			return err
		}
		if err := c.unique(at, seen, operation); err != nil {
			return err
		}
	}
	return c.reason("request.session.", request.Reason)
}

func (c *checker) httpRequests(m *abi.Manifest) error {
	for i, request := range m.Request.HTTP {
		at := fmt.Sprintf("request.http[%d].", i)
		if slices.Contains(request.Origins, anyOrigin) {
			if len(request.Origins) > 1 || len(request.Methods) > 0 || len(request.Paths) > 0 {
				return c.fail(at+"origins", `"*" stands for every public address that is asked for; it stands alone, without methods and paths`)
			}
		} else if _, _, err := policyOf(m.Request.HTTP[i : i+1]); err != nil {
			return c.policy(at, err)
		}
		if err := c.reason(at, request.Reason); err != nil {
			return err
		}
	}
	return nil
}

// policy is why one request makes no policy. The error begins with the number of the
// grant, which is the only one, and its field.
func (c *checker) policy(at string, err error) error {
	field, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), "grant 1: "), ": ")
	return c.fail(at+field, "%s", text)
}

func (c *checker) secretRequests(m *abi.Manifest) error {
	seen := map[string]bool{}
	for i, request := range m.Request.Secrets {
		at := fmt.Sprintf("request.secret[%d].", i)
		if !namePattern.MatchString(request.Handle) {
			return c.fail(at+"handle", "%q must be like weather-key: lower-case letters, digits and hyphens, at most 64", clip(request.Handle))
		}
		if err := c.unique(at+"handle", seen, request.Handle); err != nil {
			return err
		}
		origin, err := egress.ParseOrigin(request.Audience)
		if err != nil {
			return c.fail(at+"audience", "%v", err)
		}
		if !reaches(m.Request.HTTP, origin) {
			return c.fail(at+"audience", "no [[request.http]] asks for the origin %s, so the secret could go nowhere", origin)
		}
		if err := c.inject(at+"inject", request.Inject); err != nil {
			return err
		}
		if err := c.reason(at, request.Reason); err != nil {
			return err
		}
	}
	return nil
}

// inject checks where a secret goes.
func (c *checker) inject(at string, inject abi.ManifestAuth) error {
	auth, err := bridge.AuthOf(inject)
	switch {
	case err != nil:
		return c.fail(at, "%v", err)
	case auth.Kind == "":
		return c.fail(at, "it is missing; say where the secret goes, like { kind = \"query\", name = \"key\" }")
	case auth.Kind == egress.AuthOAuth2:
		return c.fail(at, "tokens are fetched for providers only; use header, query or sigv4")
	}
	return nil
}

// reaches reports whether one of the requests names the origin.
func reaches(requests []abi.ManifestHTTP, origin egress.Origin) bool {
	for _, request := range requests {
		for _, text := range request.Origins {
			if other, err := egress.ParseOrigin(text); err == nil && other == origin {
				return true
			}
		}
	}
	return false
}
