package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plinthhost/plinth/host/secret"
)

// document is config.toml. A nil field was not set.
type document struct {
	Model          *string               `toml:"model"`
	Agent          *string               `toml:"agent"`
	Timezone       *string               `toml:"timezone"`
	Listen         *string               `toml:"listen"`
	AllowedHosts   []string              `toml:"allowed_hosts"`
	AllowedOrigins []string              `toml:"allowed_origins"`
	Data           *string               `toml:"data"`
	Providers      map[string]Provider   `toml:"providers"`
	Models         map[string]modelTable `toml:"models"`
	Network        networkTable          `toml:"network"`
	MCP            map[string]MCP        `toml:"mcp"`
	Permissions    struct {
		Rules []Rule `toml:"rules"`
	} `toml:"permissions"`
	Runner     runnerTable           `toml:"runner"`
	Agents     map[string]agentTable `toml:"agents"`
	Budgets    []budgetTable         `toml:"budgets"`
	ToolOutput toolOutputTable       `toml:"tool_output"`

	ProjectConfig *bool             `toml:"project_config"`
	Instructions  instructionsTable `toml:"instructions"`
	Skills        skillsTable       `toml:"skills"`

	Compaction compactionTable `toml:"compaction"`
	Retention  retentionTable  `toml:"retention"`
	Snapshots  snapshotsTable  `toml:"snapshots"`
	Titles     titlesTable     `toml:"titles"`
	Process    processTable    `toml:"process"`
	Engine     struct {
		MemoryMiB *int `toml:"memory_mib"`
		Tools     *int `toml:"tools"`
		Quick     *int `toml:"quick"`
	} `toml:"engine"`
	Shell      shellTable                `toml:"shell"`
	References map[string]referenceTable `toml:"references"`
	Commands   map[string]commandTable   `toml:"commands"`
	Plugins    map[string]any            `toml:"plugins"` // "folders", else a plugin's id
	Log        struct {
		Level *string `toml:"level"`
	} `toml:"log"`
}

// decode takes over what the file says.
func (l *loader) decode(path string, data []byte) {
	maps.Copy(l.origins, positions(path, data))
	var doc document
	decoder := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil && !l.undecoded(path, err) {
		return
	}
	set(&l.config.Agent, doc.Agent)
	set(&l.config.Timezone, doc.Timezone)
	set(&l.config.Listen, doc.Listen)
	set(&l.config.Data, doc.Data)
	set(&l.config.LogLevel, doc.Log.Level)
	l.runner(doc.Runner)
	set(&l.config.Engine.MemoryMiB, doc.Engine.MemoryMiB)
	set(&l.config.Engine.Tools, doc.Engine.Tools)
	set(&l.config.Engine.Quick, doc.Engine.Quick)
	l.process(doc.Process)
	if doc.Model != nil {
		l.model(*doc.Model)
	}
	l.config.AllowedHosts = doc.AllowedHosts
	l.config.AllowedOrigins = doc.AllowedOrigins
	l.config.Providers = doc.Providers
	l.models(doc.Models)
	l.network(doc.Network)
	l.config.MCP = doc.MCP
	l.toolOutput(doc.ToolOutput)
	set(&l.config.ProjectConfig, doc.ProjectConfig)
	l.config.Instructions = Instructions(doc.Instructions)
	l.compaction(doc.Compaction)
	l.retention(doc.Retention)
	l.snapshots(doc.Snapshots)
	l.titles(doc.Titles)
	l.config.Rules = doc.Permissions.Rules
	l.agents(l.agentFiles())
	l.agents(doc.Agents)
	l.budgets(doc.Budgets)
	l.shell(doc.Shell)
	l.named(doc.References)
	l.commands(l.commandFiles())
	l.commands(doc.Commands)
	l.skills(doc.Skills)
	l.plugins(doc.Plugins)
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// undecoded tells what kept the file from being decoded, and whether the rest of it
// was: unknown keys are left out, everything else ends the decoding.
func (l *loader) undecoded(path string, err error) (rest bool) {
	if missing, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		for i := range missing.Errors {
			l.unknown(path, &missing.Errors[i])
		}
		return true
	}
	wrong, ok := errors.AsType[*toml.DecodeError](err)
	if !ok {
		l.problems = append(l.problems, Problem{Source: path, Text: strings.TrimPrefix(err.Error(), "toml: ")})
		return false
	}
	line, _ := wrong.Position()
	text := strings.TrimPrefix(wrong.Error(), "toml: ")
	if kind := kindAt(wrong.Key()); kind != "" {
		text = "must be " + kind
	}
	l.problems = append(l.problems, Problem{Source: path, Line: line, Key: display(join(wrong.Key()...)), Text: text})
	return false
}

// unknown tells of a key that nothing reads, with those that are.
func (l *loader) unknown(path string, err *toml.DecodeError) {
	line, _ := err.Position()
	key := l.whole(err.Key(), line)
	var text strings.Builder
	text.WriteString("unknown key")
	for end := range slices.Backward(key) {
		if names := keysAt(key[:end]); len(names) > 0 {
			text.WriteString("; known here: " + strings.Join(names, ", "))
			break
		}
	}
	l.problems = append(l.problems, Problem{Source: path, Line: line, Key: display(join(key...)), Text: text.String()})
}

// whole answers the key in full: of a table in a list the decoder leaves out the
// list's name.
func (l *loader) whole(key []string, line int) []string {
	last := key[len(key)-1]
	for _, other := range slices.Sorted(maps.Keys(l.origins)) {
		parts := strings.Split(other, separator)
		if l.origins[other].line == line && parts[len(parts)-1] == last && typeAt(parts) == nil {
			return parts
		}
	}
	return key
}

// plugins takes over the table whose keys are "folders", "files", "development" and
// plugins' ids.
func (l *loader) plugins(table map[string]any) {
	lists := map[string]*[]string{"folders": &l.config.Plugins.Folders, "files": &l.config.Plugins.Files}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if list := lists[name]; list != nil {
			paths, ok := stringList(table[name])
			if !ok {
				l.problem(join("plugins", name), nil, "must be a list of strings")
			}
			*list = paths
			continue
		}
		if name == "development" {
			value, ok := table[name].(bool)
			if !ok {
				l.problem(join("plugins", name), nil, "must be true or false")
			}
			l.config.Plugins.Development = value
			continue
		}
		settings, ok := table[name].(map[string]any)
		if !ok {
			l.problem(join("plugins", name), nil, "unknown key; known here: folders, files, development, and tables like [plugins.\"owner/name\"]")
			continue
		}
		if l.config.Plugins.Settings == nil {
			l.config.Plugins.Settings = map[string]Plugin{}
		}
		l.config.Plugins.Settings[name] = l.plugin(name, settings)
	}
}

func (l *loader) plugin(id string, settings map[string]any) Plugin {
	var plugin Plugin
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		key := join("plugins", id, name)
		switch value := settings[name].(type) {
		case bool:
			if name == "enabled" {
				plugin.Enabled = &value
				continue
			}
			if name == "required" {
				plugin.Required = value
				continue
			}
		case int64:
			if name == "order" {
				plugin.Order = int(value)
				l.within(key, plugin.Order, -maxOrder, maxOrder)
				continue
			}
		case string:
			if name == "record" {
				plugin.Record = value
				l.oneOf(key, value, "off", "failing", "all")
				continue
			}
			if name == "engine" {
				plugin.Engine = value
				l.oneOf(key, value, "plinth", "extism-sdk")
				continue
			}
		case map[string]any:
			if name == "config" {
				encoded, err := json.Marshal(value)
				if err != nil {
					l.problem(key, nil, "cannot be written as JSON: %v", err)
				}
				plugin.Config = encoded
				continue
			}
			if name == "limits" {
				plugin.Limits = l.limits(key, value)
				continue
			}
			if name == "secrets" {
				plugin.Secrets = l.secrets(key, value)
				continue
			}
		}
		switch name {
		case "enabled", "required":
			l.problem(key, settings[name], "must be true or false")
		case "order":
			l.problem(key, settings[name], "must be a whole number")
		case "engine":
			l.problem(key, settings[name], "must be plinth or extism-sdk")
		case "record":
			l.problem(key, settings[name], "must be one of off, failing, all")
		case "config", "limits":
			l.problem(key, settings[name], "must be a table")
		case "secrets":
			l.problem(key, nil, "must be a table of references by the plugin's handles") // it may be the secret itself
		default:
			l.problem(key, nil, "unknown key; known here: enabled, required, order, engine, config, limits, record, secrets")
		}
	}
	return plugin
}

// maxOrder bounds a plugin's place among others, either way.
const maxOrder = 1000

// limits takes over numbers; the plugin's manager knows their names and bounds.
func (l *loader) limits(key string, table map[string]any) map[string]int64 {
	limits := make(map[string]int64, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		value, ok := table[name].(int64)
		if !ok {
			l.problem(join(key, name), table[name], "must be a whole number")
		}
		limits[name] = value
	}
	return limits
}

// secrets takes over references; the plugin's manager knows its handles.
func (l *loader) secrets(key string, table map[string]any) map[string]string {
	references := make(map[string]string, len(table))
	for _, handle := range slices.Sorted(maps.Keys(table)) {
		reference, ok := table[handle].(string)
		if !ok {
			l.problem(join(key, handle), nil, "must be a reference, like env:WEATHER_KEY")
		} else if err := secret.Check(reference); err != nil {
			l.problem(join(key, handle), nil, "%v", err) // the value may be the secret itself
		}
		references[handle] = reference
	}
	return references
}

func stringList(value any) ([]string, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, false
	}
	texts := make([]string, 0, len(list))
	for _, element := range list {
		text, ok := element.(string)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

// model takes over a model's text, wherever it comes from.
func (l *loader) model(text string) {
	provider, name, ok := strings.Cut(text, "/")
	if !ok || provider == "" || name == "" {
		l.problem("model", text, `must be "provider/model", like "offline/rules"`)
		return
	}
	l.config.Model.Provider, l.config.Model.Model = provider, name
}
