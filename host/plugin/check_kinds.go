package plugin

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
)

func (c *checker) tools(m *abi.Manifest) error {
	seen := map[string]bool{}
	for i := range m.Tools {
		at := fmt.Sprintf("tool[%d].", i)
		tool := &m.Tools[i]
		if !toolPattern.MatchString(tool.Name) {
			return c.fail(at+"name", "%q must begin with a letter and have at most 64 letters, digits, _ and -", clip(tool.Name))
		}
		if err := c.unique(at+"name", seen, tool.Name); err != nil {
			return err
		}
		if err := c.tool(at, tool); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) tool(at string, tool *abi.ManifestTool) error {
	switch {
	case strings.TrimSpace(tool.Description) == "":
		return c.fail(at+"description", "the tool %s has none; the model chooses by it", tool.Name)
	case tool.Input == "":
		return c.fail(at+"input", "the tool %s has no JSON Schema of its input", tool.Name)
	case tool.TimeoutMS < 0 || tool.TimeoutMS > maxTimeoutMS:
		return c.fail(at+"timeout_ms", "of the tool %s: it is %d; it must be from 1 to %d, or 0 for the default", tool.Name, tool.TimeoutMS, maxTimeoutMS)
	}
	if _, err := toolPermission(*tool); err != nil {
		return c.fail(at+"permission", "of the tool %s: %v", tool.Name, err)
	}
	for _, effect := range tool.Effects {
		if err := c.oneOf(at+"effects", effect, "read", "write", "exec", "network"); err != nil {
			return err
		}
	}
	if err := c.schema(at+"input", "the tool "+tool.Name, &tool.Input); err != nil {
		return err
	}
	return c.schema(at+"output", "the tool "+tool.Name, &tool.Output)
}

// toolPermission reads {action, resource} or "by-operation".
func toolPermission(tool abi.ManifestTool) (session.ToolPermission, error) {
	switch value := tool.Permission.(type) {
	case nil:
		return session.ToolPermission{Action: tool.Name}, nil
	case string:
		if value == "by-operation" {
			return session.ToolPermission{ByOperation: true}, nil
		}
	case map[string]any:
		permission := session.ToolPermission{Action: tool.Name}
		for key, field := range value {
			text, ok := field.(string)
			switch {
			case key == "action" && ok && text != "":
				permission.Action = text
			case key == "resource" && ok:
				permission.Resource = text
			default:
				return permission, fmt.Errorf("%q is not a key of it, or no text; it has action and resource, both texts", key)
			}
		}
		return permission, nil
	}
	return session.ToolPermission{}, errors.New(`it must be { action = "…", resource = "…" } or "by-operation"`)
}

func (c *checker) contexts(m *abi.Manifest) error {
	seen := map[string]bool{}
	owner, _, _ := strings.Cut(m.ID, "/")
	for i := range m.Contexts {
		at := fmt.Sprintf("context[%d].", i)
		source := &m.Contexts[i]
		if !keyPattern.MatchString(source.Key) {
			return c.fail(at+"key", "%q must be like owner/name/part in lower case", clip(source.Key))
		}
		if !strings.HasPrefix(source.Key, m.ID+"/") && source.Key != m.ID && owner != builtinOwner {
			return c.fail(at+"key", "%q must begin with the plugin's id, %s/", source.Key, m.ID)
		}
		if err := c.unique(at+"key", seen, source.Key); err != nil {
			return err
		}
		if err := c.schema(at+"schema", "the source "+source.Key, &source.Schema); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) providers(m *abi.Manifest) error {
	seen := map[string]bool{}
	for i, provider := range m.Providers {
		at := fmt.Sprintf("provider[%d].", i)
		if !namePattern.MatchString(provider.ID) {
			return c.fail(at+"id", "%q must be lower-case letters, digits and hyphens", clip(provider.ID))
		}
		if err := c.unique(at+"id", seen, provider.ID); err != nil {
			return err
		}
		if err := egress.CheckFraming(provider.Framing); err != nil {
			return c.fail(at+"framing", "%v", err)
		}
		auth, err := bridge.AuthOf(provider.Auth)
		if err != nil {
			return c.fail(at+"auth", "%v", err)
		}
		if err := c.discover(at+"discover.", auth, provider.Discover); err != nil {
			return err
		}
	}
	return nil
}

// discover refuses a request for the list of models that could never be made.
func (c *checker) discover(at string, auth egress.Auth, d abi.ManifestDiscover) error {
	request := egress.Request{Method: http.MethodGet}
	for _, part := range []struct {
		key string
		set func()
	}{
		{"path", func() { request.Path = d.Path }},
		{"headers", func() { request.Headers = d.Headers }},
		{"query", func() { request.Query = d.Query }},
	} {
		part.set()
		if err := auth.CheckRequest(request); err != nil {
			return c.fail(at+part.key, "%v", err)
		}
	}
	if (d.PageFrom == "") != (d.PageQuery == "") {
		return c.fail(at+"page_from", "the member that names the next page and page_query, the parameter that asks for it, go together")
	}
	if _, ok := d.Query[d.PageQuery]; ok {
		return c.fail(at+"page_query", "%q is in query too; it can have one value", clip(d.PageQuery))
	}
	request.Query = map[string]string{d.PageQuery: ""}
	if err := auth.CheckRequest(request); d.PageQuery != "" && err != nil {
		return c.fail(at+"page_query", "%v", err)
	}
	return nil
}

func (c *checker) transforms(m *abi.Manifest) error {
	parts := []string{"system", "messages", "tools", "generation", "options", "headers"}
	seen := map[string]bool{}
	for i, transform := range m.Transforms {
		at := fmt.Sprintf("transform[%d].", i)
		if !namePattern.MatchString(transform.Name) {
			return c.fail(at+"name", "%q must be lower-case letters, digits and hyphens", clip(transform.Name))
		}
		if err := c.unique(at+"name", seen, transform.Name); err != nil {
			return err
		}
		if len(transform.Writes) == 0 {
			return c.fail(at+"writes", "the transform %s writes nothing; name what it changes, of %s", transform.Name, strings.Join(parts, ", "))
		}
		for _, part := range transform.Reads {
			if err := c.oneOf(at+"reads", part, parts...); err != nil {
				return err
			}
		}
		for _, part := range transform.Writes {
			if err := c.oneOf(at+"writes", part, parts...); err != nil {
				return err
			}
		}
		if !slices.Contains([]string{"", "fail", "skip"}, transform.OnError) {
			return c.fail(at+"on_error", "%q is not fail or skip", transform.OnError)
		}
		if most := bridge.MaxTransformDeadline.Milliseconds(); transform.TimeoutMS < 0 || transform.TimeoutMS > most {
			return c.fail(at+"timeout_ms", "of the transform %s: it is %d; it must be from 1 to %d, or 0 for the default", transform.Name, transform.TimeoutMS, most)
		}
	}
	return nil
}
