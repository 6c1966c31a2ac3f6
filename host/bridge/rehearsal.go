package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/session"
)

// rehearsingKey is the context key of calls whose operations may only read.
type rehearsingKey struct{}

// Rehearsing answers a context in which operations that have effects or leave the machine
// are refused to every plugin, and in which no owner is told of its plugin's calls.
func Rehearsing(ctx context.Context) context.Context {
	return context.WithValue(ctx, rehearsingKey{}, true)
}

func rehearsing(ctx context.Context) bool { return ctx.Value(rehearsingKey{}) != nil }

// ProviderRequest is what a codec makes of a request, before files are spliced into it
// and secrets are added.
type ProviderRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Query   map[string]string `json:"query,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // with those of the request
	Body    json.RawMessage   `json:"body,omitempty"`
}

// Encode has the codec encode a request, and sends nothing.
func (p *Provider) Encode(ctx context.Context, request session.ModelRequest) (ProviderRequest, error) {
	encoded, err := p.encode(ctx, request, wireRequest(request))
	if err != nil {
		return ProviderRequest{}, err
	}
	return ProviderRequest{Method: encoded.Method, Path: encoded.Path, Query: encoded.Query, Headers: encoded.Headers, Body: encoded.Body}, nil
}

func (p *Provider) encode(ctx context.Context, request session.ModelRequest, wire abi.ModelRequest) (abi.ProviderEncoded, error) {
	encoded, _, err := invoke[abi.ProviderEncode, abi.ProviderEncoded](ctx, p.plugin, abi.ExportProviderEncode,
		abi.ProviderEncode{Provider: p.id, Request: wire}, Call{Deadline: EncodeDeadline, Session: request.Session})
	if err == nil && len(request.Headers) > 0 {
		encoded.Headers = merged(encoded.Headers, request.Headers)
	}
	return encoded, err
}

// Classify has the codec say what an answer with an error status means. Headers are in
// lower case.
func (p *Provider) Classify(ctx context.Context, id string, status int, headers map[string]string, body string) (*session.ProviderError, error) {
	classified, _, err := invoke[abi.ProviderClassify, abi.ProviderError](ctx, p.plugin, abi.ExportProviderClassify, abi.ProviderClassify{
		Provider: p.id, Status: status, Headers: headers, Body: body}, Call{Deadline: EncodeDeadline, Session: id})
	if err != nil {
		return nil, err
	}
	failure := reported(&classified)
	failure.Status = status
	return failure, nil
}

// merged are the codec's headers with those of the request, which win whatever their
// names' case.
func merged(codec, request map[string]string) map[string]string {
	all := maps.Clone(request)
	for name, value := range codec {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(request)), func(other string) bool { return strings.EqualFold(name, other) }) {
			all[name] = value
		}
	}
	return all
}
