package config

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/plinthhost/plinth/session"
)

// generationTable is the generation table of an agent, a model or a variant. What is
// left out is not sent.
type generationTable struct {
	MaxTokens   *int64   `toml:"max_tokens" yaml:"max_tokens"`
	Temperature *float64 `toml:"temperature" yaml:"temperature"`
	TopP        *float64 `toml:"top_p" yaml:"top_p"`
	Seed        *int64   `toml:"seed" yaml:"seed"`
	Stop        []string `toml:"stop" yaml:"stop"`
}

// maxStop bounds the texts that stop an answer.
const maxStop = 16

// generation answers the controls as they were, but for those that the table sets.
func (l *loader) generation(at string, generation session.Generation, table generationTable) session.Generation {
	key := func(field string) string { return join(at, field) }
	if table.MaxTokens != nil {
		generation.MaxTokens = table.MaxTokens
		if *table.MaxTokens < 1 {
			l.problem(key("max_tokens"), *table.MaxTokens, "must be at least 1")
		}
	}
	if table.Temperature != nil {
		generation.Temperature = table.Temperature
		l.between(key("temperature"), *table.Temperature, 0, 2)
	}
	if table.TopP != nil {
		generation.TopP = table.TopP
		l.between(key("top_p"), *table.TopP, 0, 1)
	}
	if table.Seed != nil {
		generation.Seed = table.Seed
	}
	if table.Stop != nil {
		generation.Stop = table.Stop
		if len(table.Stop) > maxStop || slices.Contains(table.Stop, "") {
			l.problem(key("stop"), nil, "must be at most %d texts, none of them empty", maxStop)
		}
	}
	return generation
}

func (l *loader) between(key string, number, least, most float64) {
	if !(number >= least && number <= most) { // so that what is no number is none of them
		l.problem(key, number, "must be from %g to %g", least, most)
	}
}

// options answers the options as JSON, nil when there are none.
func (l *loader) options(key string, table map[string]any) map[string]json.RawMessage {
	if len(table) == 0 {
		return nil
	}
	options := make(map[string]json.RawMessage, len(table))
	for _, field := range slices.Sorted(maps.Keys(table)) {
		encoded, err := json.Marshal(table[field])
		if err != nil {
			l.problem(join(key, field), nil, "cannot be written as JSON: %v", err)
		}
		options[field] = encoded
	}
	return options
}
