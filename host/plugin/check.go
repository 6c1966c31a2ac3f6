package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/session"
)

var (
	idPattern      = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$`)
	versionPattern = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	toolPattern    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	keyPattern     = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._/-]*$`)
	namePattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
)

// checker holds a decoded manifest to the rules of the contract.
type checker struct {
	file   string
	text   string
	beside fs.FS
}

func (c *checker) check(m *abi.Manifest) error {
	if m.Schema != 1 {
		return c.fail("schema", "", "it is %d; this program knows schema 1", m.Schema)
	}
	if !idPattern.MatchString(m.ID) {
		return c.fail("id", m.ID, "%q is not owner/name in lower-case letters, digits and hyphens", m.ID)
	}
	if !versionPattern.MatchString(m.Version) {
		return c.fail("version", m.Version, "%q is not a version like 1.2.0", m.Version)
	}
	if strings.TrimSpace(m.Description) == "" {
		return c.fail("description", "", "it is missing; say in one line what the plugin does")
	}
	for _, operation := range m.Requires {
		if !slices.Contains(bridge.Offered(), operation) {
			return c.fail("requires", operation, "this host has no operation %q; it has %s", operation, strings.Join(bridge.Offered(), ", "))
		}
	}
	if len(m.Tools)+len(m.Contexts)+len(m.Providers)+len(m.Transforms) == 0 {
		return c.fail("", "", "it offers nothing; declare a [[tool]], [[context]], [[provider]] or [[transform]]")
	}
	for _, check := range []func(*abi.Manifest) error{c.tools, c.contexts, c.providers, c.transforms, c.requests, c.limits} {
		if err := check(m); err != nil {
			return err
		}
	}
	return nil
}

// fail names the line of the first place that holds the value behind the key.
func (c *checker) fail(key, value, format string, args ...any) error {
	return &ManifestError{File: c.file, Line: c.line(key, value), Key: key, Text: fmt.Sprintf(format, args...)}
}

func (c *checker) line(key, value string) int {
	if value == "" {
		return 0
	}
	name := key[strings.LastIndex(key, ".")+1:]
	for i, line := range strings.Split(c.text, "\n") {
		if strings.Contains(line, name) && strings.Contains(line, value) {
			return i + 1
		}
	}
	return 0
}

func (c *checker) unique(key string, seen map[string]bool, name string) error {
	if seen[name] {
		return c.fail(key, name, "%q is declared twice", name)
	}
	seen[name] = true
	return nil
}

func (c *checker) tools(m *abi.Manifest) error {
	seen := map[string]bool{}
	for i := range m.Tools {
		tool := &m.Tools[i]
		if !toolPattern.MatchString(tool.Name) {
			return c.fail("tool.name", tool.Name, "%q must begin with a letter and have at most 64 letters, digits, _ and -", tool.Name)
		}
		if err := c.unique("tool.name", seen, tool.Name); err != nil {
			return err
		}
		if strings.TrimSpace(tool.Description) == "" {
			return c.fail("tool.description", tool.Name, "the tool %s has none; the model chooses by it", tool.Name)
		}
		if tool.Input == "" {
			return c.fail("tool.input", tool.Name, "the tool %s has no JSON Schema of its input", tool.Name)
		}
		for _, schema := range []struct {
			key  string
			text *string
		}{{"tool.input", &tool.Input}, {"tool.output", &tool.Output}} {
			if err := c.schema(schema.key, schema.text); err != nil {
				return err
			}
		}
		if _, err := toolPermission(*tool); err != nil {
			return c.fail("tool.permission", tool.Name, "of the tool %s: %v", tool.Name, err)
		}
		for _, effect := range tool.Effects {
			if !slices.Contains([]string{"read", "write", "exec", "network"}, effect) {
				return c.fail("tool.effects", effect, "%q is not one of read, write, exec, network", effect)
			}
		}
		if tool.TimeoutMS < 0 {
			return c.fail("tool.timeout_ms", "", "it is negative")
		}
	}
	return nil
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
				return permission, fmt.Errorf("%q is not a key of it; it has action and resource, both texts", key)
			}
		}
		return permission, nil
	}
	return session.ToolPermission{}, errors.New(`it must be { action = "…", resource = "…" } or "by-operation"`)
}

// schema replaces the name of a file by its content and proves that it compiles.
func (c *checker) schema(key string, text *string) error {
	if *text == "" {
		return nil
	}
	name := *text
	if !strings.HasPrefix(strings.TrimSpace(name), "{") {
		if c.beside == nil || !fs.ValidPath(name) {
			return c.fail(key, name, "%q is neither a JSON Schema nor a file beside the manifest", name)
		}
		content, err := fs.ReadFile(c.beside, name)
		if err != nil {
			return c.fail(key, name, "the schema %s cannot be read: %v", name, err)
		}
		if len(content) > MaxManifestBytes {
			return c.fail(key, name, "the schema %s has %d bytes, the limit is %d", name, len(content), MaxManifestBytes)
		}
		*text = string(content)
	}
	if _, err := compileSchema(*text); err != nil {
		return c.fail(key, name, "it is no JSON Schema: %v", err)
	}
	return nil
}

// refuseLoader keeps a schema from reading anything.
type refuseLoader struct{}

func (refuseLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema must not refer to %s; put it under $defs", url)
}

func compileSchema(text string) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	const url = "plinth:schema"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refuseLoader{})
	if err := compiler.AddResource(url, document); err != nil {
		return nil, err
	}
	return compiler.Compile(url)
}

func (c *checker) contexts(m *abi.Manifest) error {
	seen := map[string]bool{}
	owner, _, _ := strings.Cut(m.ID, "/")
	for i := range m.Contexts {
		source := &m.Contexts[i]
		if !keyPattern.MatchString(source.Key) {
			return c.fail("context.key", source.Key, "%q must be like owner/name/part in lower case", source.Key)
		}
		if !strings.HasPrefix(source.Key, m.ID+"/") && source.Key != m.ID && owner != builtinOwner {
			return c.fail("context.key", source.Key, "%q must begin with the plugin's id, %s/", source.Key, m.ID)
		}
		if err := c.unique("context.key", seen, source.Key); err != nil {
			return err
		}
		if err := c.schema("context.schema", &source.Schema); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) providers(m *abi.Manifest) error {
	seen := map[string]bool{}
	for _, provider := range m.Providers {
		if !namePattern.MatchString(provider.ID) {
			return c.fail("provider.id", provider.ID, "%q must be lower-case letters, digits and hyphens", provider.ID)
		}
		if err := c.unique("provider.id", seen, provider.ID); err != nil {
			return err
		}
		if provider.Framing != "sse" && provider.Framing != "ndjson" {
			return c.fail("provider.framing", provider.Framing, "%q is not available in this version; use sse or ndjson", provider.Framing)
		}
		if _, err := bridge.AuthOf(provider.Auth); err != nil {
			return c.fail("provider.auth", provider.Auth.Kind, "%v", err)
		}
	}
	return nil
}

func (c *checker) transforms(m *abi.Manifest) error {
	parts := []string{"system", "messages", "tools", "generation", "options", "headers"}
	seen := map[string]bool{}
	for _, transform := range m.Transforms {
		if !namePattern.MatchString(transform.Name) {
			return c.fail("transform.name", transform.Name, "%q must be lower-case letters, digits and hyphens", transform.Name)
		}
		if err := c.unique("transform.name", seen, transform.Name); err != nil {
			return err
		}
		if len(transform.Writes) == 0 {
			return c.fail("transform.writes", transform.Name, "the transform %s writes nothing", transform.Name)
		}
		for _, part := range slices.Concat(transform.Reads, transform.Writes) {
			if !slices.Contains(parts, part) {
				return c.fail("transform", part, "%q is not one of %s", part, strings.Join(parts, ", "))
			}
		}
		if transform.OnError != "fail" && transform.OnError != "skip" && transform.OnError != "" {
			return c.fail("transform.on_error", transform.OnError, "%q is not fail or skip", transform.OnError)
		}
	}
	return nil
}

func (c *checker) requests(m *abi.Manifest) error {
	for _, request := range m.Request.FS {
		if !slices.Contains([]string{bridge.RootLocation, bridge.RootProject, bridge.RootConfig}, request.Root) {
			return c.fail("request.fs.root", request.Root, "%q is not available in this version; there are location, project and config", request.Root)
		}
		if request.Access != "read" {
			return c.fail("request.fs.access", request.Access, "%q is not available in this version; use read", request.Access)
		}
		if strings.TrimSpace(request.Reason) == "" {
			return c.fail("request.fs.reason", request.Root, "it is missing; the operator decides by it")
		}
	}
	return nil
}

// maxMemoryMiB is the most a manifest may ask for.
const maxMemoryMiB = 512

func (c *checker) limits(m *abi.Manifest) error {
	if m.Limits.MemoryMiB < 0 || m.Limits.MemoryMiB > maxMemoryMiB {
		return c.fail("limits.memory_mib", fmt.Sprint(m.Limits.MemoryMiB), "it is %d, the limit is %d", m.Limits.MemoryMiB, maxMemoryMiB)
	}
	if m.Isolation.Mode != "" && !slices.Contains([]string{"restore", "fresh", "sticky"}, m.Isolation.Mode) {
		return c.fail("isolation.mode", m.Isolation.Mode, "%q is not restore, fresh or sticky", m.Isolation.Mode)
	}
	if m.Config != nil {
		return c.schema("config.schema", &m.Config.Schema)
	}
	return nil
}

// checkConfig holds the operator's settings to the manifest's schema and answers
// them as JSON; nil when the plugin has none.
func checkConfig(m abi.Manifest, settings map[string]any) (json.RawMessage, error) {
	if m.Config == nil {
		if len(settings) > 0 {
			return nil, fmt.Errorf("plugins.%q.config: the plugin has no settings", m.ID)
		}
		return nil, nil
	}
	if settings == nil {
		settings = map[string]any{}
	}
	encoded, err := json.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("plugins.%q.config: %w", m.ID, err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
	if err != nil {
		return nil, err
	}
	schema, err := compileSchema(m.Config.Schema)
	if err != nil {
		return nil, err
	}
	if err := schema.Validate(document); err != nil {
		return nil, fmt.Errorf("plugins.%q.config does not fit the plugin's schema: %w", m.ID, err)
	}
	return encoded, nil
}
