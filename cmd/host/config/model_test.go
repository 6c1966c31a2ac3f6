package config_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/cmd/host/config"
	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/session"
)

func TestModels(t *testing.T) {
	_, environ := home(t, `
[providers.p]
plugin = "core/openai"
base_url = "https://x.example/v1"
discover = true

[models."p/meta/llama"]
name = "Ours"
context = 32768
output = 4096
capabilities = ["tools", "documents"]
system = "You are ours."
generation = { max_tokens = 1000, temperature = 1, top_p = 0.95, seed = -7, stop = ["END"] }
first_event_ms = 90000
idle_ms = 5
[models."p/meta/llama".price]
input = 0.075
output = "0.30"
cache_read = 0
cache_write = 1
tiers = [
  {above = 1000, input = "0.1500", output = 1, cache_read = 0.01},
  {above = 2000, input = 0.3, output = 2},
]
[models."p/meta/llama".options]
reasoning = {effort = "low", summary = true}
list = [1, 2.5, "x"]
[models."p/meta/llama".headers]
x-team = "one"
[models."p/meta/llama".variants.high]
options = {reasoning = {effort = "high"}}
generation.temperature = 0
headers = {X-Team = "two"}
[models."p/meta/llama".variants.plain-1]

[models."p/off"]
disabled = true
capabilities = []
[models."offline/rules"]
context = 1000
`)
	got, err := config.Load(config.Sources{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	number := func(n float64) *float64 { return &n }
	whole := func(n int64) *int64 { return &n }
	want := map[session.ModelRef]catalog.Override{
		{Provider: "p", Model: "meta/llama"}: {
			Name: "Ours", System: "You are ours.", Context: 32768, Output: 4096, Capabilities: session.Capabilities{Known: true, Tools: true, Documents: true},
			Price: &session.Price{Input: 75_000_000, Output: 300_000_000, CacheRead: 0, CacheWrite: 1e9, Tiers: []session.Tier{
				{Above: 1000, Input: 150_000_000, Output: 1e9, CacheRead: 10_000_000, CacheWrite: 150_000_000},
				{Above: 2000, Input: 300_000_000, Output: 2e9, CacheRead: 300_000_000, CacheWrite: 300_000_000},
			}},
			Request: catalog.Request{
				Generation: session.Generation{MaxTokens: whole(1000), Temperature: number(1), TopP: number(0.95), Seed: whole(-7), Stop: []string{"END"}},
				Options:    map[string]json.RawMessage{"reasoning": json.RawMessage(`{"effort":"low","summary":true}`), "list": json.RawMessage(`[1,2.5,"x"]`)},
				Headers:    map[string]string{"X-Team": "one"}, FirstEvent: 90 * time.Second, Idle: 5 * time.Millisecond,
			},
			Variants: map[string]catalog.Request{
				"high": {Options: map[string]json.RawMessage{"reasoning": json.RawMessage(`{"effort":"high"}`)},
					Generation: session.Generation{Temperature: number(0)}, Headers: map[string]string{"X-Team": "two"}},
				"plain-1": {},
			},
		},
		{Provider: "p", Model: "off"}:         {Disabled: true, Capabilities: session.Capabilities{Known: true}},
		{Provider: "offline", Model: "rules"}: {Context: 1000},
	}
	if diff := cmp.Diff(want, got.Models); diff != "" {
		t.Error(diff)
	}
	if !got.Providers["p"].Discover {
		t.Error("discover was not taken over")
	}
}

// TestProblemsOfModels gives one bad value each.
func TestProblemsOfModels(t *testing.T) {
	const provider = "[providers.p]\nplugin = \"core/openai\"\nbase_url = \"https://x.example/v1\"\nmodels = [\"m\"]\n"
	const table = provider + "[models.\"p/m\"]\n"
	for name, test := range map[string]struct{ text, want string }{
		"name of the table":      {"[models.m]", `FILE:1: models.m: a model's table is named by provider and model, like [models."openai/gpt-4o"]`},
		"provider":               {`[models."q/m"]`, `FILE:1: models."q/m": there is no provider "q"; known are offline; add a table [providers.q]`},
		"not to choose":          {provider + `[models."p/n"]`, `FILE:5: models."p/n": the models of "p" are m; add it to models in [providers.p]`},
		"offline":                {`[models."offline/m"]`, `FILE:1: models."offline/m": the provider offline has one model, "offline/rules"`},
		"not a table":            {provider + "[models]\n\"p/m\" = 1", `FILE:6: models."p/m": must be a table`},
		"unknown":                {table + `contxt = 1`, `FILE:6: models."p/m".contxt: unknown key; known here: name, disabled, context, output, price, capabilities, system, generation, options, headers, first_event_ms, idle_ms, variants`},
		"disabled and chosen":    {"model = \"p/m\"\n" + table + `disabled = true`, `FILE:1: model = "p/m": is disabled in [models."p/m"]; choose another, or remove disabled there`},
		"name":                   {table + `name = "a\nb"`, `FILE:6: models."p/m".name = "a\nb": must be a line that can be shown`},
		"system":                 {table + `system = "` + strings.Repeat("x", 65537) + `"`, `FILE:6: models."p/m".system: has 65537 bytes, the limit is 65536`},
		"context":                {table + `context = -1`, `FILE:6: models."p/m".context = -1: must be from 0 to 1073741824`},
		"output":                 {table + `output = "4k"`, `FILE:6: models."p/m".output: must be a whole number`},
		"capabilities":           {table + `capabilities = ["tools", "telepathy"]`, `FILE:6: models."p/m".capabilities = "telepathy": must be some of tools, reasoning, images, documents`},
		"max_tokens":             {table + `generation.max_tokens = 0`, `FILE:6: models."p/m".generation.max_tokens = 0: must be at least 1`},
		"temperature":            {table + `generation.temperature = 2.5`, `FILE:6: models."p/m".generation.temperature = 2.5: must be from 0 to 2`},
		"temperature of nothing": {table + `generation.temperature = nan`, `FILE:6: models."p/m".generation.temperature = NaN: must be from 0 to 2`},
		"top_p":                  {table + `generation.top_p = -0.1`, `FILE:6: models."p/m".generation.top_p = -0.1: must be from 0 to 1`},
		"top_p as text":          {table + `generation.top_p = "1"`, `FILE:6: models."p/m".generation.top_p: must be a number`},
		"seed":                   {table + `generation.seed = 1.5`, `FILE:6: models."p/m".generation.seed: must be a whole number`},
		"stop":                   {table + `generation.stop = [""]`, `FILE:6: models."p/m".generation.stop: must be at most 16 texts, none of them empty`},
		"top_k":                  {table + `generation.top_k = 1`, `FILE:6: models."p/m".generation.top_k: unknown key; known here: max_tokens, temperature, top_p, seed, stop`},
		"option":                 {table + `options.x = inf`, `FILE:6: models."p/m".options.x: cannot be written as JSON: `},
		"options":                {table + `options = 1`, `FILE:6: models."p/m".options: must be a table`},
		"secret header":          {table + `headers.authorization = "Bearer hush"`, `FILE:6: models."p/m".headers.authorization: has no place here; give a secret to the provider`},
		"header":                 {table + `headers."a b" = "hush"`, `FILE:6: models."p/m".headers."a b": is not the name of a header`},
		"header's lines":         {table + `headers.a = "hush\r\n"`, `FILE:6: models."p/m".headers.a: must be one line without control characters`},
		"header of a number":     {table + `headers.a = 1`, `FILE:6: models."p/m".headers.a: must be a string in quotes`},
		"header twice":           {table + "headers.a = \"1\"\nheaders.A = \"2\"", `FILE:6: models."p/m".headers.a: is there twice; names differ in more than capital letters`},
		"first event":            {table + `first_event_ms = -1`, `FILE:6: models."p/m".first_event_ms = -1: must be from 0 to 86400000`},
		"idle":                   {table + `idle_ms = 86400001`, `FILE:6: models."p/m".idle_ms = 86400001: must be from 0 to 86400000`},
		"price alone":            {table + `price = 1`, `FILE:6: models."p/m".price: must be a table`},
		"no output's price":      {table + `price.input = 1`, `FILE:6: models."p/m".price.output: is missing; give the dollars per million tokens, like "0.075"`},
		"price below zero":       {table + `price = {input = -1, output = 1}`, `FILE:6: models."p/m".price.input = -1: must be dollars, like "0.075"`},
		"price in words":         {table + `price = {input = 1, output = "$1"}`, `FILE:6: models."p/m".price.output = "$1": must be dollars, like "0.075"`},
		"price of a truth":       {table + `price = {input = 1, output = true}`, `FILE:6: models."p/m".price.output = true: must be dollars, like "0.075"`},
		"price too fine":         {table + `price = {input = 1, output = 1, cache_read = "0.0000000001"}`, `FILE:6: models."p/m".price.cache_read = "0.0000000001": has more than 9 digits behind the point`},
		"price too high":         {table + `price = {input = 1, output = 1, cache_write = 1e9}`, `FILE:6: models."p/m".price.cache_write = 1e+09: must be at most 1000000 dollars`},
		"price's key":            {table + `price = {input = 1, output = 1, reasoning = 1}`, `FILE:6: models."p/m".price.reasoning: unknown key; known here: input, output, cache_read, cache_write, tiers`},
		"tier's edge":            {table + `price = {input = 1, output = 1, tiers = [{above = 0, input = 1, output = 1}]}`, `FILE:6: models."p/m".price.tiers.0.above = 0: must be more than the tokens of the tier before it, 0, and at most 1073741824`},
		"tiers out of order":     {table + `price = {input = 1, output = 1, tiers = [{above = 9, input = 1, output = 1}, {above = 9, input = 1, output = 1}]}`, `FILE:6: models."p/m".price.tiers.1.above = 9: must be more than the tokens of the tier before it, 9`},
		"tier's price":           {table + `price = {input = 1, output = 1, tiers = [{above = 9, input = 1}]}`, `FILE:6: models."p/m".price.tiers.0.output: is missing`},
		"variant's name":         {table + `variants.High = {}`, `FILE:6: models."p/m".variants.High: a variant's name has small letters, digits, - and _ only`},
		"variant default":        {table + `variants.default = {}`, `FILE:6: models."p/m".variants.default: the name stands for the model's own settings; choose another, or write them into [models."p/m"]`},
		"variant's key":          {table + `variants.v.context = 1`, `FILE:6: models."p/m".variants.v.context: unknown key; known here: generation, options, headers, first_event_ms, idle_ms`},
		"variant's value":        {table + `variants.v.generation.top_p = 7`, `FILE:6: models."p/m".variants.v.generation.top_p = 7: must be from 0 to 1`},
		"discover":               {strings.Replace(provider, "models = [\"m\"]", `discover = "yes"`, 1), `FILE:4: providers.p.discover: must be true or false`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, environ := home(t, test.text)
			_, err := config.Load(config.Sources{Environ: environ})
			var e *config.Error
			if !errors.As(err, &e) || len(e.Problems) != 1 {
				t.Fatalf("want one problem: %v", err)
			}
			want := strings.ReplaceAll(test.want, "FILE", filepath.Join(dir, ".config/plinth/config.toml"))
			if !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}
