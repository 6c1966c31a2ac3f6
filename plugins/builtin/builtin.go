// Package builtin holds the plugins that come with the program, as packed modules.
// They are built from the folders beside this file by scripts/plugins, and
// scripts/plugins-verify shows that the bytes here are what the sources give.
package builtin

import _ "embed" // the modules

//go:embed dist/environment.wasm
var environment []byte

//go:embed dist/files.wasm
var files []byte

//go:embed dist/gemini.wasm
var gemini []byte

//go:embed dist/openai.wasm
var openai []byte

//go:embed dist/openai-responses.wasm
var openaiResponses []byte

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
		{ID: "core/environment", Wasm: environment},
		{ID: "core/files", Wasm: files},
		{ID: "core/gemini", Wasm: gemini},
		{ID: "core/openai", Wasm: openai},
		{ID: "core/openai-responses", Wasm: openaiResponses},
	}
}
