package egress

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAskLocal: where a fetch may, this machine is asked for by its name, and no name of
// another and no redirect of another leads there.
func TestAskLocal(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://other.example/in", http.StatusFound)
		case "/in":
			http.Redirect(w, r, "http://localhost/secret", http.StatusFound)
		case "/own":
			http.Redirect(w, r, "/here", http.StatusFound)
		}
	})
	w.inner = w.outer
	f := w.fetcher(t, names{"other.example": outerAddress, "inner.example": "127.0.0.1"}, FetcherOptions{}, "http://api.example")
	var asked []string
	ask := func(_ context.Context, _ string, target Target) error {
		asked = append(asked, target.Origin.Host+target.Path)
		return nil
	}
	here := "http://127.0.0.1:" + w.port()
	for _, test := range []struct {
		url   string
		local bool
		want  string
		asked []string
	}{
		{here + "/own", true, "", []string{"127.0.0.1/own", "127.0.0.1/here"}},
		{"http://localhost:" + w.port() + "/here", true, "", []string{"localhost/here"}},
		{here + "/here", false, "nobody is asked about such an address (loopback)", nil},
		{"http://other.example/in", true, "nobody is asked about such an address (loopback)", []string{"other.example/in"}},
		{here + "/away", true, "nobody is asked about such an address (loopback)", []string{"127.0.0.1/away", "other.example/in"}},
		{"http://inner.example/", true, "inner.example leads to 127.0.0.1 (loopback)", []string{"inner.example/"}},
		{"http://10.0.0.1/", true, "nobody is asked about such an address (private)", nil},
		{"http://169.254.169.254/", true, "nobody is asked about such an address (cloud metadata)", nil},
	} {
		asked = nil
		_, err := f.Do(t.Context(), Fetch{Method: "GET", URL: test.url, Ask: ask, Local: test.local})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.url, err, test.want)
		}
		if diff := cmp.Diff(test.asked, asked); diff != "" {
			t.Errorf("%s: %s", test.url, diff)
		}
	}
}
