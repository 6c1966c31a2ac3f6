package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
)

// Change is what a new manifest says otherwise than an old one. Its texts are cleaned
// and bounded: they come from manifests.
type Change struct {
	From    string  `json:"from"` // versions
	To      string  `json:"to"`
	Entries []Entry `json:"entries,omitempty"`
	// Omitted counts entries beyond MaxEntries.
	Omitted int `json:"omitted,omitempty"`
}

// Part is what an entry of a change is about.
type Part string

// The parts, in the order of the entries.
const (
	PartRequest   Part = "request"
	PartRequires  Part = "requires"
	PartTool      Part = "tool"
	PartContext   Part = "context"
	PartProvider  Part = "provider"
	PartTransform Part = "transform"
	PartLimit     Part = "limit"
	PartIsolation Part = "isolation"
	PartConfig    Part = "config"
)

// How an entry changed.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// Entry is one thing that is there no more, is new, or is otherwise.
type Entry struct {
	Part Part `json:"part"`
	// Name is a request's key, a tool's name and so on.
	Name   string `json:"name"`
	Change string `json:"change"` // added, removed or changed
	// Wider: a request that allows what the old manifest did not ask for.
	Wider bool `json:"wider,omitempty"`
	// Text tells of what was added or removed.
	Text string `json:"text,omitempty"`
	// Fields are what is otherwise of what was changed.
	Fields []Field `json:"fields,omitempty"`
}

// Field is one value that is otherwise; long ones are shown from where they part.
type Field struct {
	Name string `json:"name"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Difference tells what a new manifest says otherwise. Texts beside what the plugin
// offers, asks for and may use, such as its own description, are left out.
func Difference(before, after abi.Manifest) Change {
	var entries []Entry
	for _, part := range []struct {
		name  Part
		items func(abi.Manifest) []item
	}{
		{PartRequest, requestItems}, {PartRequires, requiresItems}, {PartTool, toolItems}, {PartContext, contextItems}, {PartProvider, providerItems},
		{PartTransform, transformItems}, {PartLimit, limitItems}, {PartIsolation, isolationItems}, {PartConfig, configItems},
	} {
		entries = append(entries, compare(part.name, part.items(before), part.items(after))...)
	}
	markWider(entries, before, after)
	change := Change{From: clean(before.Version), To: clean(after.Version), Omitted: max(0, len(entries)-MaxEntries)}
	change.Entries = entries[:len(entries)-change.Omitted]
	return change
}

// markWider marks the requests of after that no request of before allowed.
func markWider(entries []Entry, before, after abi.Manifest) {
	_, more := Covers(Approval{Requests: Records(before)}, after)
	for i, entry := range entries {
		entries[i].Wider = entry.Part == PartRequest && entry.Change != Removed &&
			slices.ContainsFunc(more, func(one Request) bool { return clean(one.Key) == entry.Name })
	}
}

// item is a named thing of a manifest with its fields.
type item struct {
	name   string
	text   string
	fields []Field // with New alone
}

// compare joins items by name; what is new or changed stands in the order of after.
func compare(part Part, before, after []item) []Entry {
	var entries []Entry
	for _, old := range before {
		if !slices.ContainsFunc(after, func(other item) bool { return other.name == old.name }) {
			entries = append(entries, Entry{Part: part, Name: clean(old.name), Change: Removed, Text: clean(old.text)})
		}
	}
	for _, one := range after {
		i := slices.IndexFunc(before, func(other item) bool { return other.name == one.name })
		if i < 0 {
			entries = append(entries, Entry{Part: part, Name: clean(one.name), Change: Added, Text: clean(one.text)})
		} else if fields := changed(before[i].fields, one.fields); len(fields) > 0 {
			entries = append(entries, Entry{Part: part, Name: clean(one.name), Change: Changed, Fields: fields})
		}
	}
	return entries
}

// changed are the fields that differ; both lists have the same names.
func changed(before, after []Field) []Field {
	var fields []Field
	for i, field := range after {
		if before[i].New != field.New {
			field.Old, field.New = window(before[i].New, field.New)
			fields = append(fields, field)
		}
	}
	return fields
}

// Lines are the change for people, one line an entry or a field of one.
func (c Change) Lines() []string {
	signs := map[string]string{Added: "+", Removed: "-", Changed: "~"}
	var lines []string
	for _, entry := range c.Entries {
		head := fmt.Sprintf("%s %s %s", signs[entry.Change], entry.Part, entry.Name)
		if entry.Part == PartRequest || entry.Part == PartIsolation || entry.Part == PartConfig {
			head = fmt.Sprintf("%s %s", signs[entry.Change], entry.Name)
		}
		if entry.Change != Changed {
			if entry.Part == PartRequest { // its text begins with what it is on
				head = signs[entry.Change] + " "
			} else if entry.Text != "" {
				head += ": "
			}
			lines = append(lines, head+entry.Text)
			continue
		}
		for _, field := range entry.Fields {
			lines = append(lines, fmt.Sprintf("%s: %s %s -> %s", head, field.Name, shown(field.Old), shown(field.New)))
		}
	}
	if c.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", c.Omitted))
	}
	return lines
}

func (c Change) String() string { return strings.Join(c.Lines(), "\n") }

func shown(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// canonicalJSON is a schema without its layout, or the text as it is.
func canonicalJSON(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return text
	}
	return strings.TrimSpace(out.String())
}
