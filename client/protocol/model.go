package protocol

// Model is one model that may be chosen, with what is known of it. What is left out is
// unknown.
type Model struct {
	// ID is "provider/model", as the configuration and plinth run take it.
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Name     string `json:"name,omitempty"`
	// Context is the window and Output the longest answer, in tokens.
	Context int64       `json:"context,omitempty"`
	Output  int64       `json:"output,omitempty"`
	Price   *ModelPrice `json:"price,omitempty"`
	// Capabilities are of tools, reasoning, images, documents; empty for none of them.
	Capabilities []string `json:"capabilities,omitzero"`
	Variants     []string `json:"variants,omitempty"`
	// Sources know of the model, the later over the earlier.
	Sources []ModelSource `json:"sources"`
}

// ModelPrice is in dollars per million tokens, as decimal text.
type ModelPrice struct {
	Input      string `json:"input"`
	Output     string `json:"output"`
	CacheRead  string `json:"cache_read"`
	CacheWrite string `json:"cache_write"`
	// Tiers replace the prices for a whole request with more input.
	Tiers []PriceTier `json:"tiers,omitempty"`
}

// PriceTier holds the prices of requests with more than Above input tokens.
type PriceTier struct {
	Above      int64  `json:"above"`
	Input      string `json:"input"`
	Output     string `json:"output"`
	CacheRead  string `json:"cache_read"`
	CacheWrite string `json:"cache_write"`
}

// ModelSource is where what is known of a model comes from.
type ModelSource string

// The sources.
const (
	ModelBuiltin    ModelSource = "builtin"
	ModelDiscovered ModelSource = "discovered" // told by the provider's server
	ModelConfigured ModelSource = "configured"
)

// ListModels selects models.
type ListModels struct {
	// Provider narrows the list to one; all when empty.
	Provider string `json:"provider,omitempty"`
	// Refresh asks the servers of providers that tell their models again.
	Refresh bool `json:"refresh,omitempty"`
}

// ModelList lists the models that are known by name, by provider and name. A provider
// may take others too.
type ModelList struct {
	Models []Model `json:"models"`
	// Warnings say what kept servers from telling their models.
	Warnings []string `json:"warnings,omitempty"`
}
