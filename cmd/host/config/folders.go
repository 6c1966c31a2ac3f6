package config

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/plinthhost/plinth/host/markdown"
)

// Skills says where skills are looked for.
type Skills struct {
	// Folders are absolute: skills beside the configuration, then the configured ones.
	Folders []string
}

// skillsTable is [skills] as it is written.
type skillsTable struct {
	Folders []string `toml:"folders"`
}

// maxSkillFolders bounds the folders of skills that are configured.
const maxSkillFolders = 32

// skills takes the folders over.
func (l *loader) skills(table skillsTable) {
	key := join("skills", "folders")
	if n := len(table.Folders); n > maxSkillFolders {
		l.problem(key, nil, "has %d elements; the most is %d", n, maxSkillFolders)
	}
	for i, folder := range table.Folders {
		l.config.Skills.Folders = append(l.config.Skills.Folders, l.absolute(join(key, strconv.Itoa(i)), folder))
	}
}

// fileTable is a table that is a file of its own, named by the table's name.
type fileTable[T any] struct {
	file  markdown.File
	table T
}

// filesOf reads the tables of a folder beside the configuration, and remembers where each
// key was set. front takes over the front matter.
func filesOf[T any](l *loader, folder, table string, front func(file markdown.File, to *T) error) map[string]T {
	files := markdown.New(func(file markdown.File) (fileTable[T], error) {
		read := fileTable[T]{file: file}
		return read, front(file, &read.table)
	})
	read, wrong := files.In(markdown.Folder{Path: filepath.Join(l.folder, folder)}, "")
	for _, err := range wrong {
		problem := Problem{Source: filepath.Join(l.folder, folder), Text: err.Error()}
		if mistake, ok := errors.AsType[*markdown.Error](err); ok {
			problem = Problem{Source: mistake.Path, Line: mistake.Line, Text: mistake.Text}
		}
		l.problems = append(l.problems, problem)
	}
	tables := make(map[string]T, len(read))
	for _, one := range read {
		tables[one.file.Name] = one.table
		key := join(table, one.file.Name)
		l.origins[key] = origin{source: one.file.Path}
		for _, name := range slices.Sorted(maps.Keys(one.file.Lines())) {
			l.origins[join(key, name)] = origin{source: one.file.Path, line: one.file.Line(name)}
		}
	}
	return tables
}

// agentFiles are the agents that are files: the front matter has the keys of their tables,
// and the text is the system text.
func (l *loader) agentFiles() map[string]agentTable {
	return filesOf(l, "agents", "agents", func(file markdown.File, table *agentTable) error {
		err := file.Front(table)
		if file.Body != "" {
			table.System = &file.Body
		}
		return err
	})
}

// commandFiles are the commands that are files: the text is the template.
func (l *loader) commandFiles() map[string]commandTable {
	return filesOf(l, "commands", "commands", func(file markdown.File, table *commandTable) error {
		err := file.Front(table)
		table.Template = &file.Body
		return err
	})
}
