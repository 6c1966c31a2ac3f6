// Package builtin holds the plugins that come with the program, as packed modules.
// They are built from the folders beside this file by scripts/plugins, and
// scripts/plugins-verify shows that the bytes here are what the sources give.
package builtin

import _ "embed" // the modules

//go:embed dist/anthropic.wasm
var anthropic []byte

//go:embed dist/bash.wasm
var bash []byte

//go:embed dist/bedrock.wasm
var bedrock []byte

//go:embed dist/cache-marks.wasm
var cacheMarks []byte

//go:embed dist/edit.wasm
var edit []byte

//go:embed dist/environment.wasm
var environment []byte

//go:embed dist/files.wasm
var files []byte

//go:embed dist/gemini.wasm
var gemini []byte

//go:embed dist/house-rules.wasm
var houseRules []byte

//go:embed dist/openai.wasm
var openai []byte

//go:embed dist/openai-responses.wasm
var openaiResponses []byte

//go:embed dist/redact.wasm
var redact []byte

//go:embed dist/tool-subset.wasm
var toolSubset []byte

//go:embed dist/webfetch.wasm
var webfetch []byte

// Plugin is one packed plugin: its manifest's id and its module, which nobody may
// change.
type Plugin struct {
	ID   string
	Wasm []byte
	// Off: it serves only where the configuration enables it.
	Off bool
}

// All lists the builtin plugins by id.
func All() []Plugin {
	return []Plugin{
		{ID: "core/anthropic", Wasm: anthropic},
		{ID: "core/bash", Wasm: bash},
		{ID: "core/bedrock", Wasm: bedrock},
		{ID: "core/cache-marks", Wasm: cacheMarks, Off: true},
		{ID: "core/edit", Wasm: edit},
		{ID: "core/environment", Wasm: environment},
		{ID: "core/files", Wasm: files},
		{ID: "core/gemini", Wasm: gemini},
		{ID: "core/house-rules", Wasm: houseRules, Off: true},
		{ID: "core/openai", Wasm: openai},
		{ID: "core/openai-responses", Wasm: openaiResponses},
		{ID: "core/redact", Wasm: redact, Off: true},
		{ID: "core/tool-subset", Wasm: toolSubset, Off: true},
		{ID: "core/webfetch", Wasm: webfetch},
	}
}
