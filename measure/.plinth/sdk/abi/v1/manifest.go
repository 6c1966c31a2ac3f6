package abi

// Manifest is plugin.toml: what a plugin offers, asks for and may use, as data.
// host/plugin decodes it strictly and checks every field.
type Manifest struct {
	Schema      int      `toml:"schema"`
	ID          string   `toml:"id"` // owner/name
	Version     string   `toml:"version"`
	Description string   `toml:"description"`
	Requires    []string `toml:"requires"`

	Config     *ManifestConfig     `toml:"config"`
	Tools      []ManifestTool      `toml:"tool"`
	Contexts   []ManifestContext   `toml:"context"`
	Providers  []ManifestProvider  `toml:"provider"`
	Transforms []ManifestTransform `toml:"transform"`
	Request    ManifestRequest     `toml:"request"`
	Limits     ManifestLimits      `toml:"limits"`
	Isolation  ManifestIsolation   `toml:"isolation"`
	Dev        *ManifestDev        `toml:"dev"`
	Goldens    []ManifestGolden    `toml:"golden"`
}

// ManifestConfig names the JSON Schema of the plugin's settings.
type ManifestConfig struct {
	Schema string `toml:"schema"` // a file beside the manifest, or the schema itself
}

// ManifestTool declares a tool.
type ManifestTool struct {
	Name        string `toml:"name"`
	Description string `toml:"description"`
	Input       string `toml:"input"`  // a file beside the manifest, or the schema itself
	Output      string `toml:"output"` // likewise; optional
	// Permission is {action, resource}, or the text "by-operation".
	Permission any      `toml:"permission"`
	Effects    []string `toml:"effects"` // read, write, exec, network
	Idempotent bool     `toml:"idempotent"`
	TimeoutMS  int64    `toml:"timeout_ms"`
}

// ManifestContext declares a context source.
type ManifestContext struct {
	Key       string `toml:"key"`
	Schema    string `toml:"schema"`
	Removable bool   `toml:"removable"`
}

// ManifestProvider declares a provider codec.
type ManifestProvider struct {
	ID      string       `toml:"id"`
	Framing string       `toml:"framing"` // sse, ndjson, aws-eventstream, raw
	Auth    ManifestAuth `toml:"auth"`
	// Discover says how the server lists its models, to who sets discover = true.
	Discover ManifestDiscover `toml:"discover"`
}

// ManifestDiscover is the request that a provider's server answers with its models.
type ManifestDiscover struct {
	Path    string            `toml:"path"` // below the base URL; "models" when empty
	Query   map[string]string `toml:"query"`
	Headers map[string]string `toml:"headers"`
	// PageFrom is the member of an answer whose text asks for the next page, in the
	// parameter PageQuery. Both are there, or the list has one page.
	PageFrom  string `toml:"page_from"`
	PageQuery string `toml:"page_query"`
}

// ManifestAuth says where the operator's secret goes. Value has {secret} in it.
type ManifestAuth struct {
	Kind  string `toml:"kind"` // header, query, sigv4, oauth2
	Name  string `toml:"name"`
	Value string `toml:"value"`
}

// ManifestTransform declares a transform.
type ManifestTransform struct {
	Name    string   `toml:"name"`
	Reads   []string `toml:"reads"`
	Writes  []string `toml:"writes"`
	Order   int      `toml:"order"`
	OnError string   `toml:"on_error"` // fail or skip
	// TimeoutMS is what a call may take on a processor, at most 1,000; 0 means 50.
	TimeoutMS int64 `toml:"timeout_ms"`
}

// ManifestRequest is what the plugin asks the operator for.
type ManifestRequest struct {
	HTTP    []ManifestHTTP   `toml:"http"`
	Secrets []ManifestSecret `toml:"secret"`
	FS      []ManifestFS     `toml:"fs"`
	KV      *ManifestKV      `toml:"kv"`
	Process *ManifestProcess `toml:"process"`
	Session *ManifestSession `toml:"session"`
}

// ManifestHTTP asks for requests to origins. The origin "*" stands for any public
// address that is not granted; permission is asked for each URL. It stands alone.
type ManifestHTTP struct {
	Origins []string `toml:"origins"`
	Methods []string `toml:"methods"`
	Paths   []string `toml:"paths"`
	Reason  string   `toml:"reason"`
}

// ManifestSecret asks for a secret by handle.
type ManifestSecret struct {
	Handle   string       `toml:"handle"`
	Audience string       `toml:"audience"`
	Inject   ManifestAuth `toml:"inject"`
	Reason   string       `toml:"reason"`
}

// ManifestFS asks for files below a root.
type ManifestFS struct {
	Root   string `toml:"root"`
	Access string `toml:"access"` // read or write
	Reason string `toml:"reason"`
}

// ManifestKV asks for a key-value store.
type ManifestKV struct {
	Reason string `toml:"reason"`
}

// ManifestProcess asks to run programs.
type ManifestProcess struct {
	Reason string `toml:"reason"`
}

// ManifestSession asks to use what the session offers.
type ManifestSession struct {
	// Operations are of question.ask, session.info, skill.get, skill.list, task.run,
	// todo.get and todo.set.
	Operations []string `toml:"operations"`
	Reason     string   `toml:"reason"`
}

// ManifestLimits lowers or raises the engine's limits. Zero fields take the host's
// default, which docs/reference/manifest.md lists with what is allowed.
type ManifestLimits struct {
	MemoryMiB  int64 `toml:"memory_mib"` // of one instance
	Instances  int64 `toml:"instances"`  // that work at a time
	PoolMiB    int64 `toml:"pool_mib"`   // of the instances in use together
	WaitMS     int64 `toml:"wait_ms"`    // for an instance and a processor
	StartMS    int64 `toml:"start_ms"`   // of starting an instance, plinth_init included
	Fuel       int64 `toml:"fuel"`       // of a call
	StackKiB   int64 `toml:"stack_kib"`  // of a call
	OutputKiB  int64 `toml:"output_kib"` // of an answer
	LogKiB     int64 `toml:"log_kib"`    // of a call
	Operations int64 `toml:"operations"` // of a call
}

// ManifestIsolation chooses how calls are kept apart.
type ManifestIsolation struct {
	Mode string `toml:"mode"` // restore, fresh, sticky
}

// ManifestDev is for the author of the plugin. Both commands run by sh -c in its folder.
type ManifestDev struct {
	Build string   `toml:"build"` // leaves the module beside the manifest
	Test  string   `toml:"test"`  // runs the native tests
	Watch []string `toml:"watch"` // patterns of files, relative to the folder
}

// ManifestGolden is one recorded call with its answer.
type ManifestGolden struct {
	Export string `toml:"export"` // tool, context, provider_encode, provider_decode, provider_classify, transform
	Input  string `toml:"input"`
	Output string `toml:"output"`
}
