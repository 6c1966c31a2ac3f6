package session_test

import (
	"math"
	"testing"

	"github.com/plinthhost/plinth/session"
)

func TestCost(t *testing.T) {
	// $3, $15, $0.30 and $3.75 a million; twice that (and half again) above 200,000.
	sonnet := &session.Price{Input: 3e9, Output: 15e9, CacheRead: 3e8, CacheWrite: 375e7, Tiers: []session.Tier{
		{Above: 200_000, Input: 6e9, Output: 225e8, CacheRead: 6e8, CacheWrite: 75e8},
	}}
	// $0.00875 a million is 8.75 nano-dollars a token.
	micro := &session.Price{Input: 8_750_000}
	// Given with the highest first.
	steps := &session.Price{Input: 1e6, Tiers: []session.Tier{{Above: 20, Input: 3e6}, {Above: 10, Input: 2e6}}}
	const most = math.MaxInt64
	for name, test := range map[string]struct {
		price *session.Price
		usage session.Usage
		want  int64
	}{
		"nothing":                    {sonnet, session.Usage{}, 0},
		"free":                       {&session.Price{}, session.Usage{Input: 1000, Output: 1000, CacheRead: 10}, 0},
		"input and output":           {sonnet, session.Usage{Input: 1000, Output: 100}, 1000*3000 + 100*15000},
		"reasoning is in the output": {sonnet, session.Usage{Output: 100, Reasoning: 90}, 100 * 15000},
		"the cache is in the input":  {sonnet, session.Usage{Input: 1000, CacheRead: 700, CacheWrite: 200}, 100*3000 + 700*300 + 200*3750},
		"all from the cache":         {sonnet, session.Usage{Input: 700, CacheRead: 700}, 700 * 300},
		"more cache than input":      {sonnet, session.Usage{Input: 100, CacheRead: 90, CacheWrite: 90}, 90*300 + 90*3750},
		"counts below zero":          {sonnet, session.Usage{Input: -5, Output: -5, CacheRead: -5, CacheWrite: -5}, 0},
		"a part below zero":          {sonnet, session.Usage{Input: 10, CacheRead: -5}, 10 * 3000},
		"a price below zero":         {&session.Price{Input: -1e9, Output: 1e6}, session.Usage{Input: 10, Output: 10}, 10},
		"at the edge of the tier":    {sonnet, session.Usage{Input: 200_000, Output: 1}, 200_000*3000 + 15000},
		"over the edge":              {sonnet, session.Usage{Input: 200_001, Output: 1}, 200_001*6000 + 22500},
		"the tier counts the cache":  {sonnet, session.Usage{Input: 200_001, CacheRead: 200_000}, 6000 + 200_000*600},
		"the tier leaves out output": {sonnet, session.Usage{Input: 1, Output: 200_001}, 3000 + 200_001*15000},
		"below all tiers":            {steps, session.Usage{Input: 10}, 10},
		"the lower of two tiers":     {steps, session.Usage{Input: 20}, 40},
		"the higher of two tiers":    {steps, session.Usage{Input: 21}, 63},
		"rounded down":               {micro, session.Usage{Input: 3}, 26}, // 26.25
		"rounded half up":            {micro, session.Usage{Input: 2}, 18}, // 17.5
		"rounded up":                 {micro, session.Usage{Input: 1}, 9},  // 8.75
		"rounded once":               {&session.Price{Input: 4e5, Output: 4e5}, session.Usage{Input: 1, Output: 1}, 1},
		"as much as there is":        {&session.Price{Input: 1e6}, session.Usage{Input: most}, most},
		"a little more":              {&session.Price{Input: 1e6, Output: 1e6}, session.Usage{Input: most, Output: 1}, most},
		"twice as much":              {&session.Price{Input: 2e6}, session.Usage{Input: most}, most},
		"the most of everything":     {&session.Price{Input: most, Output: most, CacheRead: most, CacheWrite: most}, session.Usage{Input: most, Output: most, CacheRead: most, CacheWrite: most}, most},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.price.Cost(test.usage); got != test.want {
				t.Errorf("%+v costs %d, want %d", test.usage, got, test.want)
			}
		})
	}
}

func TestCostOfAnUnknownPriceIsUnknown(t *testing.T) {
	if got := (session.ModelInfo{}).Cost(session.Usage{Input: 1}); got != nil {
		t.Errorf("an unknown price costs %d", *got)
	}
	free := session.ModelInfo{Price: &session.Price{}}
	if got := free.Cost(session.Usage{Input: 1}); got == nil || *got != 0 {
		t.Errorf("what is free costs %v, want 0", got)
	}
}

func TestDollars(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "0.000": 0, "1": 1e9, "15": 15e9, "0.075": 75_000_000, "0.00875": 8_750_000, "3.50": 3_500_000_000,
		"0.000000001": 1, "0.0000000010000": 1, "1000000": 1e15, "007": 7e9,
	} {
		got, err := session.ParseDollars(text)
		if err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
			continue
		}
		again, err := session.ParseDollars(session.FormatDollars(got))
		if err != nil || again != want {
			t.Errorf("%d is written %q, which is %d, %v", want, session.FormatDollars(got), again, err)
		}
	}
	for text, want := range map[string]string{
		"": "must be dollars", ".5": "must be dollars", "5.": "must be dollars", "-1": "must be dollars", "+1": "must be dollars", "$1": "must be dollars",
		"1e3": "must be dollars", "1,5": "must be dollars", " 1": "must be dollars", "1.2.3": "must be dollars", "٣": "must be dollars",
		"0.0000000001": "has more than 9 digits behind the point", "1000001": "must be at most 1000000 dollars", "1000000.000000001": "must be at most 1000000 dollars", "99999999999999999999": "must be at most 1000000 dollars",
	} {
		if _, err := session.ParseDollars(text); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for nano, want := range map[int64]string{0: "0", 1: "0.000000001", 75_000_000: "0.075", 1e9: "1", 10e9: "10", -5e8: "-0.5",
		math.MaxInt64: "9223372036.854775807", math.MinInt64: "-9223372036.854775808"} {
		if got := session.FormatDollars(nano); got != want {
			t.Errorf("%d is written %q, want %q", nano, got, want)
		}
	}
}
