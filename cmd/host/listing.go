package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/catalog"
	"github.com/plinthhost/plinth/host/egress"
)

// lister asks a provider's server for its models as its codec's manifest says, over the
// provider's connection and with its secret.
func (a *app) lister(name string) func(ctx context.Context) iter.Seq2[catalog.Page, error] {
	return func(ctx context.Context) iter.Seq2[catalog.Page, error] {
		return func(yield func(catalog.Page, error) bool) {
			codec, client, err := a.listing(name)
			if err != nil {
				yield(catalog.Page{}, err)
				return
			}
			defer client.Close()
			for token, more := "", true; more; more = token != "" {
				var answer []byte
				if answer, err = list(ctx, client, a.config.Providers[name].BaseURL, codec.Discover, token); err != nil {
					yield(catalog.Page{}, err)
					return
				}
				token = nextPage(answer, codec.Discover)
				if !yield(catalog.Page{Answer: answer, More: token != ""}, nil) {
					return
				}
			}
		}
	}
}

// listing answers a provider's codec and a connection to its server, which the caller
// closes.
func (a *app) listing(name string) (abi.ManifestProvider, *egress.Client, error) {
	codec, err := a.plugins.Codec(a.config.Providers[name].Plugin)
	if err != nil {
		return codec, nil, err
	}
	auth, err := bridge.AuthOf(codec.Auth)
	if err != nil {
		return codec, nil, err
	}
	client, err := a.open(name, auth, func(o *egress.Options) { o.Limits.Body = catalog.MaxAnswer })
	return codec, client, err
}

// list asks for one page, "" for the first.
func list(ctx context.Context, client *egress.Client, baseURL string, discover abi.ManifestDiscover, token string) ([]byte, error) {
	request := egress.Request{Method: http.MethodGet, Path: "models", Query: map[string]string{}, Headers: map[string]string{"Accept": "application/json"}}
	if discover.Path != "" {
		request.Path = discover.Path
	}
	maps.Copy(request.Query, discover.Query)
	for header, value := range discover.Headers {
		request.Headers[http.CanonicalHeaderKey(header)] = value
	}
	if token != "" {
		request.Query[discover.PageQuery] = token
	}
	response, err := client.Do(ctx, request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.Status != http.StatusOK {
		return nil, fmt.Errorf("GET %s/%s is answered %d %s", strings.TrimSuffix(baseURL, "/"), strings.TrimPrefix(request.Path, "/"), response.Status, http.StatusText(response.Status))
	}
	return io.ReadAll(response.Body)
}

// nextPage answers what asks for the page behind this one, "" where it is the last: it
// says has_more = false, or names none.
func nextPage(answer []byte, discover abi.ManifestDiscover) (token string) {
	var members map[string]json.RawMessage
	if discover.PageFrom == "" || json.Unmarshal(answer, &members) != nil || string(members["has_more"]) == "false" {
		return ""
	}
	if json.Unmarshal(members[discover.PageFrom], &token) != nil {
		return ""
	}
	return token
}
