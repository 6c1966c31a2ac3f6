package catalog

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plinthhost/plinth/session"
)

//go:embed builtin.toml
var builtinFile string

// builtin are the entries of builtin.toml by each of their names.
type builtin struct {
	entries  map[string]Override
	prefixes []string
}

// builtinEntry is one [[model]] of builtin.toml.
type builtinEntry struct {
	Names        []string      `toml:"names"` // small letters
	Name         string        `toml:"name"`
	Context      int64         `toml:"context"`
	Output       int64         `toml:"output"`
	Price        *builtinPrice `toml:"price"`
	Capabilities []string      `toml:"capabilities"`
}

// builtinPrice is in decimal dollars per million tokens. Of the cache, left out is as
// the input.
type builtinPrice struct {
	Input      string        `toml:"input"`
	Output     string        `toml:"output"`
	CacheRead  string        `toml:"cache_read"`
	CacheWrite string        `toml:"cache_write"`
	Tiers      []builtinTier `toml:"tiers"`
}

type builtinTier struct {
	Above      int64  `toml:"above"`
	Input      string `toml:"input"`
	Output     string `toml:"output"`
	CacheRead  string `toml:"cache_read"`
	CacheWrite string `toml:"cache_write"`
}

func readBuiltin() (*builtin, error) {
	var file struct {
		Prefixes []string       `toml:"prefixes"`
		Models   []builtinEntry `toml:"model"`
	}
	if err := toml.NewDecoder(strings.NewReader(builtinFile)).DisallowUnknownFields().Decode(&file); err != nil {
		return nil, err
	}
	b := &builtin{entries: map[string]Override{}, prefixes: file.Prefixes}
	for _, entry := range file.Models {
		override := Override{Name: entry.Name, Context: entry.Context, Output: entry.Output}
		if entry.Capabilities != nil {
			var unknown string
			if override.Capabilities, unknown = ParseCapabilities(entry.Capabilities); unknown != "" {
				return nil, fmt.Errorf("%v: there is no capability %q", entry.Names, unknown)
			}
		}
		var err error
		if override.Price, err = entry.Price.parse(); err != nil {
			return nil, fmt.Errorf("%v: %w", entry.Names, err)
		}
		for _, name := range entry.Names {
			if _, again := b.entries[name]; again || name != strings.ToLower(name) {
				return nil, fmt.Errorf("the name %q is there twice, or has capital letters", name)
			}
			b.entries[name] = override
		}
	}
	return b, nil
}

func (p *builtinPrice) parse() (*session.Price, error) {
	if p == nil {
		return nil, nil
	}
	base, err := builtinTier{0, p.Input, p.Output, p.CacheRead, p.CacheWrite}.parse()
	if err != nil {
		return nil, err
	}
	price := &session.Price{Input: base.Input, Output: base.Output, CacheRead: base.CacheRead, CacheWrite: base.CacheWrite}
	for _, written := range p.Tiers {
		tier, err := written.parse()
		if err != nil {
			return nil, err
		}
		price.Tiers = append(price.Tiers, tier)
	}
	return price, nil
}

func (t builtinTier) parse() (session.Tier, error) {
	if t.CacheRead == "" {
		t.CacheRead = t.Input
	}
	if t.CacheWrite == "" {
		t.CacheWrite = t.Input
	}
	tier := session.Tier{Above: t.Above}
	for _, price := range []struct {
		text string
		to   *int64
	}{{t.Input, &tier.Input}, {t.Output, &tier.Output}, {t.CacheRead, &tier.CacheRead}, {t.CacheWrite, &tier.CacheWrite}} {
		var err error
		if *price.to, err = session.ParseDollars(price.text); err != nil {
			return session.Tier{}, fmt.Errorf("the price %q %w", price.text, err)
		}
	}
	return tier, nil
}

// suffix is what names have behind the model's own: a date, as OpenAI, Anthropic and
// Vertex write it, a revision of Bedrock, or "latest".
var suffix = regexp.MustCompile(`(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-v?\d+:\d+|-latest)+$`)

// find answers the entry of a model by the name that some provider has for it: as it
// is, without its suffix, and both without the prefixes of vendors and regions.
func (b *builtin) find(model string) (Override, bool) {
	name := strings.ToLower(model)
	for {
		for _, form := range [...]string{name, suffix.ReplaceAllString(name, "")} {
			if entry, ok := b.entries[form]; ok {
				return entry, true
			}
		}
		shorter := name
		for _, prefix := range b.prefixes {
			shorter = strings.TrimPrefix(shorter, prefix)
		}
		if shorter == name {
			return Override{}, false
		}
		name = shorter
	}
}
