package config

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/plinthhost/plinth/host/expand"
	"github.com/plinthhost/plinth/session"
)

// Shell says what people may run in sessions over the API.
type Shell struct {
	Enabled   bool // true
	TimeoutMS int  // of one command; 600,000
}

// shellTable is [shell] as it is written. A nil field was not set.
type shellTable struct {
	Enabled   *bool `toml:"enabled"`
	TimeoutMS *int  `toml:"timeout_ms"`
}

// commandTable is one [commands.NAME] as it is written, or the file of a command.
type commandTable struct {
	Description  string  `toml:"description" yaml:"description"`
	Template     *string `toml:"template" yaml:"-"`      // the text
	TemplateFile *string `toml:"template_file" yaml:"-"` // absolute path of a file with the text
	Agent        string  `toml:"agent" yaml:"agent"`     // the session's
	Model        string  `toml:"model" yaml:"model"`     // "provider/model"; the session's
	Variant      string  `toml:"variant" yaml:"variant"` // of that model
}

// referenceTable is one [references.NAME] as it is written.
type referenceTable struct {
	Path        string `toml:"path"` // absolute; a folder or a file
	Description string `toml:"description"`
}

func (l *loader) shell(table shellTable) {
	set(&l.config.Shell.Enabled, table.Enabled)
	set(&l.config.Shell.TimeoutMS, table.TimeoutMS)
}

// named takes the references over, by name.
func (l *loader) named(tables map[string]referenceTable) {
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		key, table := join("references", id), tables[id]
		if !name.MatchString(id) {
			l.problem(key, nil, "a reference's name begins with a small letter and has small letters, digits, - and _ only, at most 64")
		}
		if table.Path == "" {
			l.problem(join(key, "path"), nil, "is missing; give the absolute path of a folder or a file")
			continue
		}
		l.oneDescription(join(key, "description"), table.Description)
		l.config.References = append(l.config.References, expand.Reference{
			Name: id, Path: l.absolute(join(key, "path"), table.Path), Description: table.Description})
	}
}

// commands takes the tables over, by name; one that is there already is replaced. What they choose is checked when all is there.
func (l *loader) commands(tables map[string]commandTable) {
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		key, table := join("commands", id), tables[id]
		if !name.MatchString(id) {
			l.problem(key, nil, "a command's name begins with a small letter and has small letters, digits, - and _ only, at most 64")
		}
		l.oneDescription(join(key, "description"), table.Description)
		l.config.Commands = slices.DeleteFunc(l.config.Commands, func(other expand.Command) bool { return other.Name == id })
		l.config.Commands = append(l.config.Commands, expand.Command{Name: id, Source: expand.SourceConfig, Description: table.Description,
			Template: l.template(key, table), Agent: table.Agent, Model: table.Model, Variant: table.Variant})
	}
	slices.SortFunc(l.config.Commands, func(a, b expand.Command) int { return strings.Compare(a.Name, b.Name) })
}

func (l *loader) oneDescription(key, text string) {
	if len(text) > maxDescription || strings.ContainsFunc(text, unicode.IsControl) {
		l.problem(key, nil, "must be one line of at most %d bytes", maxDescription)
	}
}

// template answers the text, of the table or of its file.
func (l *loader) template(at string, table commandTable) string {
	key, text := join(at, "template"), ""
	switch {
	case table.Template != nil && table.TemplateFile != nil:
		l.problem(join(at, "template_file"), nil, "has no place beside template; keep one of them")
		return ""
	case table.Template == nil && table.TemplateFile == nil:
		l.problem(key, nil, "is missing; write the text of the prompt, or name its file with template_file")
		return ""
	case table.Template != nil:
		text = *table.Template
	default:
		key = join(at, "template_file")
		path := l.absolute(key, *table.TemplateFile)
		if !strings.HasPrefix(path, "/") {
			return ""
		}
		read, err := readFile(path, expand.MaxTemplate+1, "a template")
		if err != nil {
			l.problem(key, path, "%v", err)
			return ""
		}
		text = string(read)
	}
	text = strings.TrimRight(text, "\r\n")
	if err := expand.CheckTemplate(text); err != nil {
		l.problem(key, nil, "%v", err)
	}
	return text
}

// checkExpansion checks what commands choose, and that no name stands for two things.
func (l *loader) checkExpansion() {
	l.within(join("shell", "timeout_ms"), l.config.Shell.TimeoutMS, 1000, 24*60*60*1000)
	for _, command := range l.config.Commands {
		at := join("commands", command.Name)
		if command.Agent != "" && !slices.ContainsFunc(l.config.Agents, func(agent session.Agent) bool { return agent.Name == command.Agent && agent.Selectable() }) {
			l.problem(join(at, "agent"), command.Agent, "is no agent of the mode primary or all; choose one, or configure [agents.%s]", command.Agent)
		}
		if command.Model != "" {
			model, err := session.ParseModel(command.Model)
			if err != nil {
				l.problem(join(at, "model"), command.Model, `must be "provider/model", like "offline/rules"`)
			} else {
				l.offered(join(at, "model"), model)
			}
		}
		if command.Variant != "" && command.Model == "" {
			l.problem(join(at, "variant"), command.Variant, "has no use without a model; add one, like model = %q", "offline/rules")
		}
	}
	for _, reference := range l.config.References {
		if slices.ContainsFunc(l.config.Agents, func(agent session.Agent) bool { return agent.Name == reference.Name }) {
			l.problem(join("references", reference.Name), nil, "has the name of an agent, which @%s mentions; give it another", reference.Name)
		}
	}
}
