package abi

// HTTPFetch is the request of "http.fetch". What the plugin was granted by
// [[request.http]] is fetched at once; for any other address, which must be public,
// the permission webfetch is asked on the URL.
type HTTPFetch struct {
	Method  string            `json:"method,omitempty"`  // GET when empty
	URL     string            `json:"url"`               // http or https, without user and fragment
	Headers map[string]string `json:"headers,omitempty"` // those of the connection, a proxy or the host are refused
	Body    *Bytes            `json:"body,omitempty"`    // in the raw bytes; or Text
	Text    string            `json:"text,omitempty"`    // what is sent, as UTF-8
	// Secrets are handles of [[request.secret]] to put in where their audience is;
	// absent for all.
	Secrets []string `json:"secrets,omitempty"`
	// Redirect is "follow" (when empty), "manual" or "error".
	Redirect string `json:"redirect,omitempty"`
	// MaxBytes is the most of the body, decompressed; 0 means 1 MiB, or with Blob 16 MiB.
	MaxBytes  int64 `json:"max_bytes,omitempty"`
	TimeoutMS int64 `json:"timeout_ms,omitempty"` // 0 means 120,000, which is the most
	// Blob keeps the body at the host.
	Blob bool `json:"blob,omitempty"`
}

// HTTPFetched is its ok, whatever the status.
type HTTPFetched struct {
	Status    int               `json:"status"`              // like 200
	Headers   map[string]string `json:"headers"`             // names in lower case
	URL       string            `json:"url"`                 // after redirects
	Redirects int               `json:"redirects,omitempty"` // how many were followed
	Size      int64             `json:"size"`                // bytes of the body
	Body      *Bytes            `json:"body,omitempty"`      // in the raw bytes
	Blob      *Blob             `json:"blob,omitempty"`      // the body, kept at the host, with Blob
}
