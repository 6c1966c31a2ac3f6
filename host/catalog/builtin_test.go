package catalog_test

import (
	"testing"

	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/session"
)

// TestBuiltinNames finds entries by the names that providers have for the same model.
func TestBuiltinNames(t *testing.T) {
	c := newCatalog(t, catalog.Options{Providers: map[string]catalog.Provider{"p": {}}})
	for name, want := range map[string]string{
		"gpt-4o":                                          "GPT-4o",
		"GPT-4o":                                          "GPT-4o",
		"openai/gpt-4o":                                   "GPT-4o",
		"azure/openai/gpt-4o":                             "GPT-4o",
		"gpt-4o-2024-08-06":                               "GPT-4o",
		"gpt-4o-2024-05-13":                               "GPT-4o (May 2024)",
		"openai/gpt-4o-2024-05-13":                        "GPT-4o (May 2024)",
		"gpt-4o-mini":                                     "GPT-4o mini",
		"gpt-4o-audio":                                    "",
		"my/gpt-4o":                                       "",
		"gpt-4o:free":                                     "",
		"claude-sonnet-4-5-20250929":                      "Claude Sonnet 4.5",
		"claude-sonnet-4-5@20250929":                      "Claude Sonnet 4.5",
		"anthropic/claude-sonnet-4.5":                     "Claude Sonnet 4.5",
		"claude-3-5-haiku-latest":                         "Claude Haiku 3.5",
		"claude-3-7-sonnet-20250219":                      "Claude Sonnet 3.7",
		"claude-opus-4-20250514":                          "Claude Opus 4",
		"claude-opus-4-5-20251101":                        "Claude Opus 4.5",
		"claude-opus-9-20990101":                          "",
		"models/gemini-2.5-pro":                           "Gemini 2.5 Pro",
		"google/gemini-2.5-flash":                         "Gemini 2.5 Flash",
		"meta-llama/Llama-3.3-70B-Instruct":               "Llama 3.3 70B",
		"us.meta.llama3-3-70b-instruct-v1:0":              "Llama 3.3 70B",
		"eu.anthropic.claude-sonnet-4-20250514-v1:0":      "Claude Sonnet 4",
		"global.anthropic.claude-haiku-4-5-20251001-v1:0": "Claude Haiku 4.5",
		"amazon.nova-pro-v1:0":                            "Nova Pro",
		"openai.gpt-oss-120b-1:0":                         "gpt-oss 120B",
		"llama3.1:8b":                                     "Llama 3.1",
		"mistral-large-latest":                            "",
		"claude-opus-5":                                   "Claude Opus 5", "claude-opus-5-5": "Claude Opus 5.5",
		"deepseek-ai/DeepSeek-V3.1": "DeepSeek V3",
		"us.":                       "",
		"openai/":                   "",
		"-latest":                   "",
	} {
		if got := model(t, c, session.ModelRef{Provider: "p", Model: name}).Name; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestBuiltinPrices holds some prices to what a request cost by the vendors' lists.
func TestBuiltinPrices(t *testing.T) {
	c := newCatalog(t, catalog.Options{Providers: map[string]catalog.Provider{"p": {}}})
	for _, test := range []struct {
		model string
		usage session.Usage
		want  string
	}{
		{"gpt-4o", session.Usage{Input: 1_000_000, Output: 100_000, CacheRead: 400_000}, "3"}, // 1.50 + 0.50 + 1.00
		{"claude-sonnet-4-5", session.Usage{Input: 100_000, Output: 10_000, CacheRead: 50_000, CacheWrite: 20_000}, "0.33"},
		{"claude-sonnet-4-5", session.Usage{Input: 300_000, Output: 10_000}, "2.025"},
		{"gemini-2.5-pro", session.Usage{Input: 200_000, Output: 1000}, "0.26"},
		{"gemini-2.5-pro", session.Usage{Input: 400_000, Output: 1000}, "1.015"},
		{"gpt-5.4-mini", session.Usage{Input: 1, CacheRead: 1}, "0.000000075"},
		{"gpt-6-luna", session.Usage{Input: 272_000, CacheWrite: 272_000}, "0.034"},
		{"gpt-6-luna", session.Usage{Input: 272_001, CacheWrite: 272_001}, "0.06800025"},
		{"claude-opus-5-5", session.Usage{Input: 900_000, CacheRead: 900_000}, "0.18"},
		{"nova-micro", session.Usage{Input: 1000, CacheRead: 1000}, "0.00000875"},
		{"gpt-5-pro", session.Usage{Input: 1000, CacheRead: 1000}, "0.015"}, // no price of its own for the cache
	} {
		cost := model(t, c, session.ModelRef{Provider: "p", Model: test.model}).Cost(test.usage)
		if cost == nil || session.FormatDollars(*cost) != test.want {
			t.Errorf("%s, %+v: %v, want %s", test.model, test.usage, cost, test.want)
		}
	}
	if cost := model(t, c, session.ModelRef{Provider: "p", Model: "llama3.1:8b"}).Cost(session.Usage{Input: 1}); cost != nil {
		t.Errorf("open weights cost %d", *cost)
	}
}
