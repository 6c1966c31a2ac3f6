package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		want   map[string]Override
	}{
		"OpenAI": {`{"object":"list","data":[{"id":"gpt-4o","object":"model","created":1,"owned_by":"system"}]}`,
			map[string]Override{"gpt-4o": {}}},
		"vLLM": {`{"object":"list","data":[{"id":"meta/llama","object":"model","root":"/models/llama","parent":null,"max_model_len":32768,"permission":[]}]}`,
			map[string]Override{"meta/llama": {Context: 32768}}},
		"llama.cpp": {`{"models":[{"name":"q.gguf","model":"q.gguf","details":{}}],"object":"list","data":[{"id":"q.gguf","meta":{"vocab_type":1,"n_vocab":9,"n_ctx_train":131072,"size":1}}]}`,
			map[string]Override{"q.gguf": {Context: 131072}}},
		"llama.cpp, newer": {`{"data":[{"id":"q","meta":{"n_ctx_train":131072,"n_ctx":8192}}]}`, map[string]Override{"q": {Context: 8192}}},
		"Ollama":           {`{"models":[{"name":"llama3.2:3b","model":"llama3.2:3b","size":1,"details":{"family":"llama"}}]}`, map[string]Override{"llama3.2:3b": {}}},
		"LM Studio": {`{"object":"list","data":[{"id":"qwen","type":"llm","state":"loaded","max_context_length":32768,"loaded_context_length":4096},{"id":"other","max_context_length":131072}]}`,
			map[string]Override{"qwen": {Context: 4096}, "other": {Context: 131072}}},
		"OpenRouter": {`{"data":[{"id":"a/b","name":"A: B","context_length":200000,"top_provider":{"context_length":200000,"max_completion_tokens":8192},"pricing":{"prompt":"0.000003"}},
			{"id":"c/d","name":"C: D","context_length":null,"top_provider":{"max_completion_tokens":null}}]}`,
			map[string]Override{"a/b": {Name: "A: B", Context: 200000, Output: 8192}, "c/d": {Name: "C: D"}}},
		"Groq": {`{"data":[{"id":"g","context_window":131072,"max_completion_tokens":32768}]}`, map[string]Override{"g": {Context: 131072, Output: 32768}}},
		"Gemini": {`{"models":[{"name":"models/gemini-2.5-pro","displayName":"x","inputTokenLimit":1048576,"outputTokenLimit":65536}]}`,
			map[string]Override{"gemini-2.5-pro": {Context: 1048576, Output: 65536}}},
		"Anthropic": {`{"data":[{"type":"model","id":"claude-x","display_name":"Claude X"}],"has_more":false}`, map[string]Override{"claude-x": {Name: "Claude X"}}},
		"Anthropic, newer": {`{"data":[{"type":"model","id":"claude-x","display_name":"Claude X","max_input_tokens":200000,"max_tokens":64000}],"first_id":"claude-x","has_more":false}`,
			map[string]Override{"claude-x": {Name: "Claude X", Context: 200000, Output: 64000}}},
		"a bare list": {` [{"id":"a"},{"id":"b"}]`, map[string]Override{"a": {}, "b": {}}},
		"none":        {`{"data":[]}`, map[string]Override{}},
		"values of other types": {`{"data":[{"id":"a","context_length":"8k","meta":[1],"top_provider":"x","display_name":7,"max_model_len":1.5},
			{"id":"b","context_length":-1,"max_model_len":9999999999999999999},{"id":7},7,null,{},{"id":""}]}`, map[string]Override{"a": {}, "b": {}}},
		"names that cannot be shown": {`{"data":[{"id":"a\nb"},{"id":"\u001b[31m"},{"id":"\u202eabc"},{"id":"` + strings.Repeat("x", 257) + `"},{"id":"good","display_name":"\u0007"}]}`,
			map[string]Override{"good": {}}},
		"twice": {`{"data":[{"id":"a","max_model_len":1},{"id":"a","max_model_len":2}]}`, map[string]Override{"a": {Context: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			models, err := parseAnswer([]byte(test.answer))
			got := listing{models: map[string]Override{}}
			if rest := got.take(models); err != nil || rest != 0 {
				t.Fatalf("%d left out, %v", rest, err)
			}
			if diff := cmp.Diff(test.want, got.models); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, test := range map[string]struct{ answer, want string }{
		"HTML":        {"<html>", "the answer is not a list of models in JSON"},
		"nothing":     {"", "the answer is not a list of models in JSON"},
		"cut":         {`{"data":[{"id":"a"}`, "the answer is not a list of models in JSON"},
		"not a list":  {`{"data":{"id":"a"}}`, "the answer is not a list of models in JSON"},
		"no list":     {`{"error":"no"}`, `the answer has no list "data" and none "models"`},
		"too large":   {strings.Repeat(" ", MaxAnswer+1), "the answer has more than 1048576 bytes"},
		"a bare null": {`null`, `the answer has no list "data" and none "models"`},
	} {
		if got, err := parseAnswer([]byte(test.answer)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, %v; want %s", name, got, err, test.want)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"a","meta":{"n_ctx_train":1}}]}`))
	f.Add([]byte(`[{"name":"models/x","inputTokenLimit":1e3}]`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		models, err := parseAnswer(answer)
		if err != nil {
			return
		}
		for _, found := range models {
			name, model := found.name, found.override
			if !usable(name) || model.Context < 0 || model.Context > maxTokens || model.Output < 0 || model.Name != "" && !usable(model.Name) {
				t.Errorf("%q: %+v", name, model)
			}
		}
	})
}

// TestBuiltinEntries holds the file's numbers to what numbers of models are like.
func TestBuiltinEntries(t *testing.T) {
	b, err := readBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	if len(b.entries) < 100 {
		t.Errorf("there are %d names only", len(b.entries))
	}
	for name, entry := range b.entries {
		if entry.Name == "" || entry.Context != 0 && entry.Context < 4096 || entry.Output < 0 || entry.Output > entry.Context {
			t.Errorf("%s: %+v", name, entry)
		}
		if found, ok := b.find(name); !ok || found.Name != entry.Name {
			t.Errorf("%s is found as %+v", name, found)
		}
		if entry.Price == nil {
			continue
		}
		p := entry.Price
		if p.Input <= 0 || p.Output < p.Input || p.CacheRead > p.Input || p.CacheWrite < p.Input {
			t.Errorf("%s: the price %+v", name, *p)
		}
		for _, tier := range p.Tiers {
			if tier.Above <= 0 || tier.Input <= p.Input || tier.Output <= p.Output || tier.CacheRead <= p.CacheRead || tier.CacheWrite <= p.CacheWrite {
				t.Errorf("%s: the tier %+v of %+v", name, tier, *p)
			}
		}
	}
}
