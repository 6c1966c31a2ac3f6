package config

import (
	"strconv"

	"github.com/plinthhost/plinth/session"
)

// priceTable is in dollars per million tokens, each a number or a string. Input and
// output are needed; the others are as the input where they are left out.
type priceTable struct {
	Input      any         `toml:"input"`
	Output     any         `toml:"output"`
	CacheRead  any         `toml:"cache_read"`
	CacheWrite any         `toml:"cache_write"`
	Tiers      []tierTable `toml:"tiers"`
}

type tierTable struct {
	Above      int `toml:"above"` // tokens
	Input      any `toml:"input"`
	Output     any `toml:"output"`
	CacheRead  any `toml:"cache_read"`
	CacheWrite any `toml:"cache_write"`
}

func (l *loader) price(key string, table priceTable) *session.Price {
	base := l.tier(key, tierTable{0, table.Input, table.Output, table.CacheRead, table.CacheWrite})
	price := &session.Price{Input: base.Input, Output: base.Output, CacheRead: base.CacheRead, CacheWrite: base.CacheWrite}
	last := 0
	for i, tier := range table.Tiers {
		at := join(key, "tiers", strconv.Itoa(i))
		if tier.Above <= last || tier.Above > maxModelTokens {
			l.problem(join(at, "above"), tier.Above, "must be more than the tokens of the tier before it, %d, and at most %d", last, maxModelTokens)
		}
		last = tier.Above
		price.Tiers = append(price.Tiers, l.tier(at, tier))
	}
	return price
}

func (l *loader) tier(key string, table tierTable) session.Tier {
	tier := session.Tier{Above: int64(table.Above), Input: l.dollars(join(key, "input"), table.Input), Output: l.dollars(join(key, "output"), table.Output)}
	tier.CacheRead, tier.CacheWrite = tier.Input, tier.Input
	if table.CacheRead != nil {
		tier.CacheRead = l.dollars(join(key, "cache_read"), table.CacheRead)
	}
	if table.CacheWrite != nil {
		tier.CacheWrite = l.dollars(join(key, "cache_write"), table.CacheWrite)
	}
	return tier
}

// dollars answers a price in nano-dollars. A number is read as it is written, for its
// shortest decimal form is that.
func (l *loader) dollars(key string, value any) int64 {
	text := ""
	switch value := value.(type) {
	case nil:
		l.problem(key, nil, `is missing; give the dollars per million tokens, like "0.075"`)
		return 0
	case string:
		text = value
	case int64:
		text = strconv.FormatInt(value, 10)
	case float64:
		text = strconv.FormatFloat(value, 'f', -1, 64)
	}
	nano, err := session.ParseDollars(text)
	if err != nil {
		l.problem(key, value, "%v", err)
	}
	return nano
}
