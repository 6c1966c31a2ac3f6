package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
)

// head is what a manifest begins with: four lines.
const head = `schema = 1
id = "acme/weather"
version = "1.2.0"
description = "Current weather for a place"
`

const weather = head + `[[tool]]
name = "weather"
description = "Tells the weather"
input = '{"type":"object"}'
`

func TestAWholeManifest(t *testing.T) {
	text := head + `requires = ["fs.read"]

[config]
schema = "config.json"

[[tool]]
name = "weather"
description = "Tells the weather"
input = "schemas/input.json"
output = '{"type":"object"}'
permission = { action = "weather", resource = "place" }
effects = ["read", "network"]
idempotent = true
timeout_ms = 5000

[[context]]
key = "acme/weather/now"
removable = true

[[provider]]
id = "codec"
framing = "ndjson"
auth = { kind = "header", name = "Authorization", value = "Bearer {secret}" }
discover = { path = "v1/models", query = { pageLimit = "9" }, headers = { X-Version = "2" }, page_from = "next", page_query = "after" }

[[transform]]
name = "rules"
reads = ["system", "tools"]
writes = ["system"]
order = 50
on_error = "skip"

[[request.fs]]
root = "project"
access = "read"
reason = "to see it"
[[request.http]]
origins = ["https://api.weather.example"]
methods = ["GET"]
paths = ["/v1/*"]
reason = "asks the forecast"
[[request.http]]
origins = ["*"]
reason = "follows links"
[[request.secret]]
handle = "weather-key"
audience = "https://api.weather.example"
inject = { kind = "query", name = "key" }
reason = "the forecast wants it"
[request.kv]
reason = "remembers places"
[request.process]
reason = "draws maps"
[request.session]
operations = ["session.info", "todo.set"]
reason = "notes what to pack"

[limits]
memory_mib = 64
[isolation]
mode = "fresh"
[dev]
build = "make"
test = "make test"
watch = ["*.go"]
[[golden]]
export = "tool"
input = "in.json"
output = "out.json"
`
	beside := fstest.MapFS{"config.json": {Data: []byte(`{"type":"object"} `)}, "schemas/input.json": {Data: []byte(`{"required":["place"]}`)}}
	got, err := DecodeManifest("plugin.toml", []byte(text), beside)
	if err != nil {
		t.Fatal(err)
	}
	want := abi.Manifest{
		Schema: 1, ID: "acme/weather", Version: "1.2.0", Description: "Current weather for a place", Requires: []string{"fs.read"},
		Config: &abi.ManifestConfig{Schema: `{"type":"object"} `},
		Tools: []abi.ManifestTool{{Name: "weather", Description: "Tells the weather", Input: `{"required":["place"]}`, Output: `{"type":"object"}`,
			Permission: map[string]any{"action": "weather", "resource": "place"}, Effects: []string{"read", "network"}, Idempotent: true, TimeoutMS: 5000}},
		Contexts: []abi.ManifestContext{{Key: "acme/weather/now", Removable: true}},
		Providers: []abi.ManifestProvider{{ID: "codec", Framing: "ndjson", Auth: abi.ManifestAuth{Kind: "header", Name: "Authorization", Value: "Bearer {secret}"},
			Discover: abi.ManifestDiscover{Path: "v1/models", Query: map[string]string{"pageLimit": "9"}, Headers: map[string]string{"X-Version": "2"}, PageFrom: "next", PageQuery: "after"}}},
		Transforms: []abi.ManifestTransform{{Name: "rules", Reads: []string{"system", "tools"}, Writes: []string{"system"}, Order: 50, OnError: "skip"}},
		Request: abi.ManifestRequest{
			FS: []abi.ManifestFS{{Root: "project", Access: "read", Reason: "to see it"}},
			HTTP: []abi.ManifestHTTP{
				{Origins: []string{"https://api.weather.example"}, Methods: []string{"GET"}, Paths: []string{"/v1/*"}, Reason: "asks the forecast"},
				{Origins: []string{"*"}, Reason: "follows links"},
			},
			Secrets: []abi.ManifestSecret{{Handle: "weather-key", Audience: "https://api.weather.example",
				Inject: abi.ManifestAuth{Kind: "query", Name: "key"}, Reason: "the forecast wants it"}},
			KV: &abi.ManifestKV{Reason: "remembers places"}, Process: &abi.ManifestProcess{Reason: "draws maps"},
			Session: &abi.ManifestSession{Operations: []string{"session.info", "todo.set"}, Reason: "notes what to pack"},
		},
		Limits: abi.ManifestLimits{MemoryMiB: 64}, Isolation: abi.ManifestIsolation{Mode: "fresh"},
		Dev:     &abi.ManifestDev{Build: "make", Test: "make test", Watch: []string{"*.go"}},
		Goldens: []abi.ManifestGolden{{Export: "tool", Input: "in.json", Output: "out.json"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every refusal names its line where it has one, its key, and what to do.
func TestManifestsThatAreRefused(t *testing.T) {
	tool := func(lines ...string) string { return weather + strings.Join(lines, "\n") + "\n" }
	second := func(name string) string {
		return "[[tool]]\nname = \"" + name + "\"\ndescription = \"d\"\ninput = '{}'"
	}
	table := func(lines ...string) string { return head + strings.Join(lines, "\n") + "\n" }
	transform := func(lines ...string) string {
		return table(append([]string{"[[transform]]", `name = "rules"`}, lines...)...)
	}
	api := func(lines ...string) string {
		return tool(append([]string{"[[request.http]]", `origins = ["https://a.example"]`, `methods = ["GET"]`, `paths = ["/**"]`}, lines...)...)
	}
	secret := func(lines ...string) string {
		return api(append([]string{`reason = "r"`, "[[request.secret]]"}, lines...)...)
	}
	discovers := func(members string) string {
		return table("[[provider]]", `id = "a"`, `framing = "sse"`, `auth = { kind = "header", name = "X-Key" }`, "discover = { "+members+" }")
	}
	tests := []struct{ name, text, want string }{
		{"empty", "", "plugin.toml: schema: it is missing; a manifest begins with schema = 1"},
		{"blank", " \n# nothing\n", "plugin.toml: schema: it is missing; a manifest begins with schema = 1"},
		{"not TOML", "schema = 1\nid = acme\n", "plugin.toml:2: "},
		{"a module instead", "\x00asm\x01\x00\x00\x00", "plugin.toml:1: invalid character at start of key: U+0000"},
		{"not UTF-8", "schema = 1\nid = \"\xff\"\n", "plugin.toml:2: "},
		{"JSON", `{"schema":1}`, "plugin.toml:1: "},
		{"a key twice", "schema = 1\nschema = 1\n", "plugin.toml:2: schema: key schema is already defined"},
		{"a number that overflows", "schema = 99999999999999999999\n", "plugin.toml:1: schema: decimal number is too large"},
		{"too large", "#" + strings.Repeat("x", MaxManifestBytes), "plugin.toml: it has 262145 bytes, the limit is 262144"},

		{"unknown key", tool(`colour = "red"`), "plugin.toml:9: tool.colour: there is no such key; remove it or correct its spelling"},
		{"misspelt table", tool("[limit]", "memory_mib = 3"), `plugin.toml:9: limit: there is no such key; did you mean limits?`},
		{"a watched file elsewhere", tool("[dev]", `watch = ["*.go", "../sdk/*.go"]`), `plugin.toml:10: dev.watch: "../sdk/*.go" is not a pattern of files in the plugin's folder, like "*.go" or "src/**"`},
		{"an absolute pattern", tool("[dev]", `watch = ["/tmp/*"]`), `plugin.toml:10: dev.watch: "/tmp/*" is not a pattern of files`},
		{"a pattern without an end", tool("[dev]", `watch = ["[a"]`), `plugin.toml:10: dev.watch: "[a" is not a pattern of files`},
		{"too many patterns", tool("[dev]", `watch = [`+strings.Repeat(`"a",`, 101)+`]`), "plugin.toml:10: dev.watch: it has 101 patterns, the limit is 100"},
		{"unknown key in a table in a table", table("[[request.fs]]", `rot = "location"`), "plugin.toml:6: request.fs.rot: there is no such key"},

		{"a string for a number", "schema = \"1\"\n", "plugin.toml:1: schema: it must be a whole number, not of the type string"},
		{"a fraction for a number", "schema = 1.5\n", "plugin.toml:1: schema: it must be a whole number, not of the type float"},
		{"a number for a string", "schema = 1\nid = 7\n", "plugin.toml:2: id: it must be a string, not of the type integer"},
		{"a list for a string", tool(`output = ["x"]`), "plugin.toml:9: tool.output: it must be a string, not of the type array"},
		{"a string for a list", table(`requires = "fs.read"`), "plugin.toml:5: requires: it must be a list of strings, not of the type string"},
		{"a number in a list", table("requires = [", `"fs.read",`, "1]"), "plugin.toml:7: requires: it must be a string, not of the type integer"},
		{"a string for a boolean", tool(`idempotent = "yes"`), "plugin.toml:9: tool.idempotent: it must be true or false, not of the type string"},
		{"a string for a time", tool(`timeout_ms = "10s"`), "plugin.toml:9: tool.timeout_ms: it must be a whole number, not of the type string"},
		{"a value for tables", table(`tool = "weather"`), "plugin.toml:5: tool: it must be a list of tables, written [[tool]], not of the type string"},
		{"a value for a table", table("limits = 3"), "plugin.toml:5: limits: it must be a table, not of the type integer"},

		{"another schema", "schema = 2\n", "plugin.toml:1: schema: it is 2; this program knows schema 1"},
		{"schema 0", "schema = 0\n", "plugin.toml:1: schema: it is 0; this program knows schema 1"},
		{"no id", "schema = 1\n", "plugin.toml: id: it is missing; a plugin is named owner/name"},
		{"id without owner", "schema = 1\nid = \"weather\"\n", `plugin.toml:2: id: "weather" is not owner/name in lower-case letters, digits and hyphens`},
		{"id in capitals", "schema = 1\nid = \"Acme/Weather\"\n", `plugin.toml:2: id: "Acme/Weather" is not owner/name`},
		{"id with a path", "schema = 1\nid = \"acme/../core\"\n", `plugin.toml:2: id: "acme/../core" is not owner/name`},
		{"id with a line", "schema = 1\nid = \"acme/weather\\n\"\n", `plugin.toml:2: id: "acme/weather\n" is not owner/name`},
		{"long id", "schema = 1\nid = \"acme/" + strings.Repeat("x", 124) + "\"\n", "plugin.toml:2: id: it has 129 bytes, the limit is 128"},
		{"no version", "schema = 1\nid = \"a/b\"\n", `plugin.toml: version: "" is not a version like 1.2.0`},
		{"short version", "schema = 1\nid = \"a/b\"\nversion = \"1.2\"\n", `plugin.toml:3: version: "1.2" is not a version like 1.2.0`},
		{"long version", "schema = 1\nid = \"a/b\"\nversion = \"1.2." + strings.Repeat("3", 61) + "\"\n", "plugin.toml:3: version: it has 65 bytes, the limit is 64"},
		{"no description", "schema = 1\nid = \"a/b\"\nversion = \"1.2.0\"\n", "plugin.toml: description: it is missing; say in one line what the plugin does"},
		{"blank description", "schema = 1\nid = \"a/b\"\nversion = \"1.2.0\"\ndescription = \" \"\n", "plugin.toml:4: description: it is missing"},
		{"nothing offered", head, "plugin.toml: it offers nothing; declare a [[tool]], [[context]], [[provider]] or [[transform]]"},
		{"unknown operation", strings.Replace(weather, "[[tool]]", "requires = [\"fs.read\", \"fs.shred\"]\n[[tool]]", 1),
			`plugin.toml:5: requires: this host has no operation "fs.shred"; it has ` + strings.Join(bridge.Offered(), ", ")},

		{"tool without a name", table("[[tool]]", `description = "d"`), `plugin.toml:5: tool.name: "" must begin with a letter and have at most 64 letters, digits, _ and -`},
		{"tool with a bad name", table("[[tool]]", `name = "get weather"`), `plugin.toml:6: tool.name: "get weather" must begin with a letter`},
		{"tool with a long name", table("[[tool]]", `name = "`+strings.Repeat("x", 65)+`"`), "plugin.toml:6: tool.name: "},
		{"the same tool twice", tool(second("weather")), `plugin.toml:10: tool.name: "weather" is declared twice`},
		{"tool without a description", table("[[tool]]", `name = "weather"`, "input = '{}'"), "plugin.toml:5: tool.description: the tool weather has none; the model chooses by it"},
		{"tool without a schema", table("[[tool]]", `name = "weather"`, `description = "d"`), "plugin.toml:5: tool.input: the tool weather has no JSON Schema of its input"},
		{"second tool without a schema", tool("[[tool]]", `name = "wind"`, `description = "weather input"`), "plugin.toml:9: tool.input: the tool wind has no JSON Schema of its input"},
		{"negative timeout", tool("timeout_ms = -1"), "plugin.toml:9: tool.timeout_ms: of the tool weather: it is -1; it must be from 1 to 86400000, or 0 for the default"},
		{"endless timeout", tool("timeout_ms = 9223372036854775807"), "plugin.toml:9: tool.timeout_ms: of the tool weather: it is 9223372036854775807; it must be from 1 to 86400000"},
		{"unknown effect", tool(`effects = ["read", "steal"]`), `plugin.toml:9: tool.effects: "steal" is not one of read, write, exec, network`},
		{"permission of another word", tool(`permission = "never"`), `plugin.toml:9: tool.permission: of the tool weather: it must be { action = "…", resource = "…" } or "by-operation"`},
		{"permission of another type", tool("permission = 3"), "plugin.toml:9: tool.permission: of the tool weather: it must be {"},
		{"unknown key of a permission", tool("[tool.permission]", `path = "x"`), `plugin.toml:9: tool.permission: of the tool weather: "path" is not a key of it, or no text; it has action and resource, both texts`},
		{"permission without a text", tool("permission = { action = 3 }"), `plugin.toml:9: tool.permission: of the tool weather: "action" is not a key of it, or no text`},
		{"one table for tables", table("[tool]", `name = "get weather"`), "plugin.toml:6: tool.name: "},

		{"schema that is no JSON", tool("output = '{'"), "plugin.toml:9: tool.output: the tool weather has no valid JSON Schema here: it is not JSON: unexpected EOF"},
		{"schema that is no schema", tool(`output = '{"type":"strin"}'`), "plugin.toml:9: tool.output: the tool weather has no valid JSON Schema here: /type: "},
		{"schema that leads away", tool(`output = '{"$ref":"https://x.example/y"}'`), "plugin.toml:9: tool.output: the tool weather has no valid JSON Schema here: it refers to https://x.example/y; put what it needs under $defs"},
		{"schema file that is not there", tool(`output = "none.json"`), "plugin.toml:9: tool.output: the schema none.json of the tool weather cannot be read: "},
		{"schema file outside", tool(`output = "../outside.json"`), `plugin.toml:9: tool.output: "../outside.json" is neither a JSON Schema nor a file beside the manifest`},
		{"schema file by absolute path", tool(`output = "/etc/passwd"`), `plugin.toml:9: tool.output: "/etc/passwd" is neither a JSON Schema nor a file beside the manifest`},
		{"schema file through a link", tool(`output = "link.json"`), "plugin.toml:9: tool.output: the schema link.json of the tool weather cannot be read: it is a link that cannot be followed within the plugin's folder (path escapes from parent); put the file itself there"},
		{"schema that is a folder", tool(`output = "folder"`), "plugin.toml:9: tool.output: the schema folder of the tool weather cannot be read: it is not a regular file"},
		{"schema that is too large", tool(`output = "large.json"`), "plugin.toml:9: tool.output: the schema large.json of the tool weather cannot be read: it has 262145 bytes, the limit is 262144"},
		{"schema file that is no JSON", tool(`output = "broken.json"`), "plugin.toml:9: tool.output: broken.json is no valid JSON Schema for the tool weather: it is not JSON: "},
		{"settings without a schema", tool("[config]"), "plugin.toml:9: config.schema: it is missing; describe the plugin's settings by a JSON Schema"},
		{"settings with a bad schema", tool("[config]", `schema = '{"type":3}'`), "plugin.toml:10: config.schema: the plugin has no valid JSON Schema here: /type: "},

		{"context without a key", table("[[context]]"), `plugin.toml:5: context.key: "" must be like owner/name/part in lower case`},
		{"context of another plugin", table("[[context]]", `key = "core/date"`), `plugin.toml:6: context.key: "core/date" must begin with the plugin's id, acme/weather/`},
		{"context of a plugin named alike", table("[[context]]", `key = "acme/weatherman/now"`), `plugin.toml:6: context.key: "acme/weatherman/now" must begin with`},
		{"the same context twice", table("[[context]]", `key = "acme/weather/now"`, "[[context]]", `key = "acme/weather/now"`), `plugin.toml:8: context.key: "acme/weather/now" is declared twice`},
		{"context with a bad schema", table("[[context]]", `key = "acme/weather"`, "schema = '{'"), "plugin.toml:7: context.schema: the source acme/weather has no valid JSON Schema here: it is not JSON"},

		{"provider without an id", table("[[provider]]"), `plugin.toml:5: provider.id: "" must be lower-case letters, digits and hyphens`},
		{"the same provider twice", table("[[provider]]", `id = "a"`, `framing = "sse"`, "[[provider]]", `id = "a"`), `plugin.toml:9: provider.id: "a" is declared twice`},
		{"provider without framing", table("[[provider]]", `id = "a"`), `plugin.toml:5: provider.framing: there is no framing ""; use sse, ndjson, aws-eventstream or raw`},
		{"provider with another framing", table("[[provider]]", `id = "a"`, `framing = "xml"`), `plugin.toml:7: provider.framing: there is no framing "xml"; use sse, ndjson, aws-eventstream or raw`},
		{"provider with other auth", table("[[provider]]", `id = "a"`, `framing = "sse"`, `auth = { kind = "basic" }`), `plugin.toml:8: provider.auth: there is no auth kind "basic"; use header, query, sigv4 or oauth2`},
		{"provider whose auth has no service", table("[[provider]]", `id = "a"`, `framing = "sse"`, `auth = { kind = "sigv4" }`), "plugin.toml:8: provider.auth: auth kind sigv4 needs a name, that of the AWS service"},
		{"provider whose auth sets a header of the connection", table("[[provider]]", `id = "a"`, `framing = "sse"`, `auth = { kind = "header", name = "Host" }`), `plugin.toml:8: provider.auth: the header "Host" is the host's to set`},
		{"provider whose auth has no name", table("[[provider]]", `id = "a"`, `framing = "sse"`, `auth = { kind = "header" }`), "plugin.toml:8: provider.auth: auth kind header needs a name"},
		{"provider whose auth has no secret", table("[[provider]]", `id = "a"`, `framing = "sse"`, `auth = { kind = "query", name = "k", value = "v" }`), "plugin.toml:8: provider.auth: the value of auth must have {secret} in it"},
		{"provider whose models are above its server", discovers(`path = "../models"`), `plugin.toml:9: provider.discover.path: the path "../models": it must have no empty step, no . and no ..`},
		{"provider whose models are asked for with a query in the path", discovers(`path = "models?limit=9"`), "plugin.toml:9: provider.discover.path: the path \"models?limit=9\": it must have no ? and no #; a query is given apart"},
		{"provider whose models are asked for with the host's header", discovers(`headers = { Authorization = "x" }`), `plugin.toml:9: provider.discover.headers: the header "Authorization" is the host's to set`},
		{"provider whose models are asked for with the secret's header", discovers(`headers = { X-Key = "x" }`), `plugin.toml:9: provider.discover.headers: the header "X-Key" is the host's to set`},
		{"provider whose models are asked for with a long query", discovers(`query = { a = "` + strings.Repeat("x", 1<<16) + `" }`), `plugin.toml:9: provider.discover.query: the URL has 65545 bytes, the limit is 8192`},
		{"provider whose pages have no parameter", discovers(`page_from = "next"`), "plugin.toml:9: provider.discover.page_from: the member that names the next page and page_query, the parameter that asks for it, go together"},
		{"provider whose pages have no member", discovers(`page_query = "after"`), "plugin.toml:9: provider.discover.page_from: the member that names the next page"},
		{"provider whose parameter of pages has two values", discovers(`page_from = "next", page_query = "a", query = { a = "1" }`), `plugin.toml:9: provider.discover.page_query: "a" is in query too; it can have one value`},
		{"provider whose parameter of pages is the secret's", strings.Replace(discovers(`page_from = "next", page_query = "K"`), `"header", name = "X-Key"`, `"query", name = "k"`, 1),
			`plugin.toml:9: provider.discover.page_query: the query's "K" is the host's to set`},
		{"provider whose models have a key with capitals", table("[[provider]]", `id = "a"`, `framing = "sse"`, "[provider.discover]", `Query = { aB = "" }`), `plugin.toml:9: provider.discover.Query: there is no such key; all are in small letters`},
		{"provider whose models have another key", table("[[provider]]", `id = "a"`, `framing = "sse"`, "[provider.discover]", `pages = 3`), `plugin.toml:9: provider.discover.pages: there is no such key`},

		{"transform without a name", table("[[transform]]", `writes = ["system"]`), `plugin.toml:5: transform.name: "" must be lower-case letters, digits and hyphens`},
		{"the same transform twice", transform(`writes = ["system"]`, "[[transform]]", `name = "rules"`), `plugin.toml:9: transform.name: "rules" is declared twice`},
		{"transform that writes nothing", transform(`reads = ["system"]`), "plugin.toml:5: transform.writes: the transform rules writes nothing; name what it changes, of system, messages, tools, generation, options, headers"},
		{"transform that writes the model", transform(`writes = ["system", "model"]`), `plugin.toml:7: transform.writes: "model" is not one of system, messages, tools, generation, options, headers`},
		{"transform that reads the address", transform(`reads = ["base_url"]`, `writes = ["system"]`), `plugin.toml:7: transform.reads: "base_url" is not one of system`},
		{"transform without time", transform(`writes = ["system"]`, "timeout_ms = -1"), "plugin.toml:8: transform.timeout_ms: of the transform rules: it is -1; it must be from 1 to 1000, or 0 for the default"},
		{"slow transform", transform(`writes = ["system"]`, "timeout_ms = 1001"), "plugin.toml:8: transform.timeout_ms: of the transform rules: it is 1001; it must be from 1 to 1000, or 0 for the default"},
		{"transform that ignores errors", transform(`writes = ["system"]`, `on_error = "ignore"`), `plugin.toml:8: transform.on_error: "ignore" is not fail or skip`},

		{"files of another root", tool("[[request.fs]]", `root = "home"`), `plugin.toml:10: request.fs.root: "home" is not available in this version; there are location, project and config`},
		{"files of no root", tool("[[request.fs]]", `access = "read"`), `plugin.toml:9: request.fs.root: "" is not available in this version; there are`},
		{"files by another access", tool("[[request.fs]]", `root = "location"`, `access = "append"`), `plugin.toml:11: request.fs.access: "append" is not one of read, write`},
		{"files by no access", tool("[[request.fs]]", `root = "location"`), `plugin.toml:9: request.fs.access: "" is not one of read, write`},
		{"files to write", tool("[[request.fs]]", `root = "config"`, `access = "write"`), "plugin.toml:11: request.fs.access: the operator's configuration can only be read; use read"},
		{"files without a reason", tool("[[request.fs]]", `root = "location"`, `access = "read"`), "plugin.toml:9: request.fs.reason: it is missing; the operator decides by it"},
		{"second files without a reason", tool("[[request.fs]]", `root = "location"`, `access = "read"`, `reason = "r"`, "[[request.fs]]", `root = "project"`, `access = "write"`, `reason = " "`),
			"plugin.toml:16: request.fs.reason: it is missing"},
		{"a store without a reason", tool("[request.kv]"), "plugin.toml:9: request.kv.reason: it is missing; the operator decides by it"},
		{"programs without a reason", tool("[request.process]", `reason = ""`), "plugin.toml:10: request.process.reason: it is missing; the operator decides by it"},

		{"the session without operations", tool("[request.session]", `reason = "r"`),
			"plugin.toml:9: request.session.operations: it is empty; name some of question.ask, session.info, skill.get, skill.list, task.run, todo.get, todo.set"},
		{"an operation that is not the session's", tool("[request.session]", `operations = ["todo.get", "fs.read"]`), `plugin.toml:10: request.session.operations: "fs.read" is not one of question.ask, session.info,`},
		{"an operation of the session twice", tool("[request.session]", `operations = ["todo.get", "todo.get"]`), `plugin.toml:10: request.session.operations: "todo.get" is declared twice`},
		{"the session without a reason", tool("[request.session]", `operations = ["todo.get"]`), "plugin.toml:9: request.session.reason: it is missing; the operator decides by it"},

		{"anywhere beside an origin", tool("[[request.http]]", `origins = ["https://a.example", "*"]`),
			`plugin.toml:10: request.http.origins: "*" stands for every public address that is asked for; it stands alone, without methods and paths`},
		{"anywhere with a method", tool("[[request.http]]", `origins = ["*"]`, `methods = ["GET"]`), `plugin.toml:10: request.http.origins: "*" stands for every public address`},
		{"anywhere with a path", tool("[[request.http]]", `origins = ["*"]`, `paths = ["/**"]`), `plugin.toml:10: request.http.origins: "*" stands for every public address`},
		{"anywhere without a reason", tool("[[request.http]]", `origins = ["*"]`), "plugin.toml:9: request.http.reason: it is missing; the operator decides by it"},
		{"an origin with a path", tool("[[request.http]]", `origins = ["https://a.example/v1"]`, `methods = ["GET"]`, `paths = ["/**"]`),
			`plugin.toml:10: request.http.origins: the origin "https://a.example/v1" must have no path and no query, like https://a.example`},
		{"a part of an origin for all", tool("[[request.http]]", `origins = ["https://*.example"]`, `methods = ["GET"]`, `paths = ["/**"]`), "plugin.toml:10: request.http.origins: the host "},
		{"no origins", tool("[[request.http]]", `methods = ["GET"]`, `paths = ["/**"]`), "plugin.toml:9: request.http.origins: name at least one, like https://api.example"},
		{"another method", tool("[[request.http]]", `methods = ["BREW"]`), `plugin.toml:10: request.http.methods: there is no "BREW"; use GET, HEAD, POST, PUT, PATCH, DELETE`},
		{"no methods", tool("[[request.http]]", `origins = ["https://a.example"]`, `paths = ["/**"]`), "plugin.toml:9: request.http.methods: name at least one, like GET"},
		{"a path without a slash", tool("[[request.http]]", `origins = ["https://a.example"]`, `methods = ["GET"]`, `paths = ["v1/*"]`), `plugin.toml:12: request.http.paths: "v1/*": a path begins with /`},
		{"no paths", tool("[[request.http]]", `origins = ["https://a.example"]`, `methods = ["GET"]`), "plugin.toml:9: request.http.paths: name at least one; /** is all"},
		{"addresses without a reason", api(), "plugin.toml:9: request.http.reason: it is missing; the operator decides by it"},

		{"a secret without a handle", secret(), `plugin.toml:14: request.secret.handle: "" must be like weather-key: lower-case letters, digits and hyphens, at most 64`},
		{"a secret with a bad handle", secret(`handle = "WEATHER_KEY"`), `plugin.toml:15: request.secret.handle: "WEATHER_KEY" must be like weather-key`},
		{"a secret without an audience", secret(`handle = "key"`), "plugin.toml:14: request.secret.audience: "},
		{"a secret for nowhere that is asked for", secret(`handle = "key"`, `audience = "https://b.example"`),
			"plugin.toml:16: request.secret.audience: no [[request.http]] asks for the origin https://b.example, so the secret could go nowhere"},
		{"a secret for anywhere", tool("[[request.http]]", `origins = ["*"]`, `reason = "r"`, "[[request.secret]]", `handle = "key"`, `audience = "https://a.example"`),
			"plugin.toml:14: request.secret.audience: no [[request.http]] asks for the origin https://a.example"},
		{"a secret that goes nowhere", secret(`handle = "key"`, `audience = "https://a.example"`),
			`plugin.toml:14: request.secret.inject: it is missing; say where the secret goes, like { kind = "query", name = "key" }`},
		{"a secret that goes in another way", secret(`handle = "key"`, `audience = "https://a.example"`, `inject = { kind = "body" }`), `plugin.toml:17: request.secret.inject: there is no auth kind "body"`},
		{"a secret for a token", secret(`handle = "key"`, `audience = "https://a.example"`, `inject = { kind = "oauth2" }`),
			"plugin.toml:17: request.secret.inject: tokens are fetched for providers only; use header, query or sigv4"},
		{"a secret without a reason", secret(`handle = "key"`, `audience = "https://a.example"`, `inject = { kind = "query", name = "key" }`), "plugin.toml:14: request.secret.reason: it is missing; the operator decides by it"},
		{"a secret twice", secret(`handle = "key"`, `audience = "https://a.example"`, `inject = { kind = "query", name = "key" }`, `reason = "r"`, "[[request.secret]]", `handle = "key"`),
			`plugin.toml:20: request.secret.handle: "key" is declared twice`},

		{"negative memory", tool("[limits]", "memory_mib = -1"), "plugin.toml:10: limits.memory_mib: it is -1; it must be from 1 to 512, or 0 for the default"},
		{"much memory", tool("[limits]", "memory_mib = 513"), "plugin.toml:10: limits.memory_mib: it is 513; it must be from 1 to 512, or 0 for the default"},
		{"unknown isolation", tool("[isolation]", `mode = "process"`), `plugin.toml:10: isolation.mode: "process" is not one of restore, fresh, sticky`},

		{"golden of an unknown export", tool("[[golden]]", `export = "plinth_tool_execute"`), `plugin.toml:10: golden.export: "plinth_tool_execute" is not one of context, provider_classify, provider_decode, provider_encode, tool, transform`},
		{"golden of what is not offered", tool("[[golden]]", `export = "transform"`), "plugin.toml:10: golden.export: it is transform, but the plugin declares no [[transform]]"},
		{"golden without an input", tool("[[golden]]", `export = "tool"`), `plugin.toml:9: golden.input: "" is not a file in the plugin's folder`},
		{"golden with an output outside", tool("[[golden]]", `export = "tool"`, `input = "a.json"`, `output = "../b.json"`), `plugin.toml:12: golden.output: "../b.json" is not a file in the plugin's folder`},
	}
	beside := besideFolder(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := DecodeManifest("plugin.toml", []byte(test.text), beside)
			var refused *ManifestError
			if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// besideFolder is a plugin's folder as the host opens it.
func besideFolder(t *testing.T) fs.FS {
	t.Helper()
	folder := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.json")
	for name, text := range map[string]string{
		filepath.Join(folder, "broken.json"): "{]",
		filepath.Join(folder, "large.json"):  strings.Repeat(" ", MaxManifestBytes+1),
		outside:                              "{}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(folder, "folder"), 0o700), os.Symlink(outside, filepath.Join(folder, "link.json"))); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root.FS()
}

// A packed manifest has no folder: its schemas stand in it.
func TestAPackedManifestNamesNoFiles(t *testing.T) {
	_, err := DecodeManifest("weather.wasm", []byte(weather+"output = \"out.json\"\n"), nil)
	want := `weather.wasm:9: tool.output: "out.json" is neither a JSON Schema nor a file beside the manifest`
	if fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}

// Every framing and every way to authenticate is open to a codec.
func TestProvidersOfEveryKind(t *testing.T) {
	auths := []abi.ManifestAuth{
		{}, {Kind: "header", Name: "X-Api-Key"}, {Kind: "query", Name: "key", Value: "{secret}"}, {Kind: "sigv4", Name: "bedrock"},
		{Kind: "oauth2"}, {Kind: "oauth2", Name: "X-Token", Value: "token {secret}"},
	}
	for _, framing := range []string{"sse", "ndjson", "aws-eventstream", "raw"} {
		for _, auth := range auths {
			text := head + fmt.Sprintf("[[provider]]\nid = \"codec\"\nframing = %q\nauth = { kind = %q, name = %q, value = %q }\n", framing, auth.Kind, auth.Name, auth.Value)
			manifest, err := DecodeManifest("plugin.toml", []byte(text), nil)
			if err != nil {
				t.Errorf("%s %+v: %v", framing, auth, err)
				continue
			}
			if diff := cmp.Diff([]abi.ManifestProvider{{ID: "codec", Framing: framing, Auth: auth}}, manifest.Providers); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// The owner core is for builtins, whose sources may have keys of their own.
func TestKeysOfBuiltins(t *testing.T) {
	text := strings.Replace(head, "acme/weather", "core/environment", 1) + "[[context]]\nkey = \"core/date\"\n"
	if _, err := DecodeManifest("plugin.toml", []byte(text), nil); err != nil {
		t.Error(err)
	}
}
