package bridge

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Deadlines of a codec.
const (
	EncodeDeadline = 2 * time.Second
	// FrameDeadline is per frame of one decode call.
	FrameDeadline = 20 * time.Millisecond
	// maxErrorBody is how much of an error response is classified.
	maxErrorBody = 16 << 10
)

// Provider is a guest's codec with the operator's connection behind the kernel's
// port. The guest sees neither the address nor the secret.
type Provider struct {
	plugin  *Plugin
	id      string // in the manifest
	framing string
	client  *egress.Client
	blobs   store.Blobs
}

// NewProvider joins the codec id of the plugin with a connection. Blobs has what
// requests name.
func NewProvider(plugin *Plugin, id, framing string, client *egress.Client, blobs store.Blobs) *Provider {
	return &Provider{plugin: plugin, id: id, framing: framing, client: client, blobs: blobs}
}

// Stream encodes, makes the request and decodes the answer frame by frame.
func (p *Provider) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) {
		if err := p.stream(ctx, request, yield); err != nil && !errors.Is(err, errLeft) {
			yield(session.ModelEvent{}, providerError(err))
		}
	}
}

// errLeft: the consumer left the loop and must not be called again.
var errLeft = errors.New("the consumer left")

func (p *Provider) stream(ctx context.Context, request session.ModelRequest, yield func(session.ModelEvent, error) bool) error {
	wire := wireRequest(request)
	encoded, err := p.encode(ctx, request, wire)
	if err != nil {
		return err
	}
	body, err := splice(ctx, encoded.Body, media(wire), p.blobs)
	if err != nil {
		return err
	}
	response, err := p.client.Do(ctx, egress.Request{
		Method: encoded.Method, Path: encoded.Path, Query: encoded.Query, Headers: encoded.Headers, Body: body,
	})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.Status < 200 || response.Status > 299 {
		return p.classify(ctx, request.Session, response)
	}
	reader, err := egress.NewFrameReader(response.Body, p.framing)
	if err != nil {
		return err
	}
	return (&decoding{provider: p, session: request.Session, yield: yield}).run(ctx, reader)
}

// classify has the codec say what an error response means.
func (p *Provider) classify(ctx context.Context, session string, response *egress.Response) error {
	start, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	if err != nil && len(start) == 0 {
		return err
	}
	headers := make(map[string]string, len(response.Headers))
	for name := range response.Headers {
		headers[strings.ToLower(name)] = response.Headers.Get(name)
	}
	failure, err := p.Classify(ctx, session, response.Status, headers, strings.ToValidUTF8(string(start), "�"))
	if err != nil {
		return err
	}
	return failure
}

func reported(told *abi.ProviderError) *session.ProviderError {
	if told == nil {
		return &session.ProviderError{Class: session.ProviderUnknown, Message: "The provider reported an error without saying which"}
	}
	return &session.ProviderError{Class: told.Classification, Message: told.Message, Retryable: told.Retryable,
		RetryAfter: time.Duration(told.RetryAfterMS) * time.Millisecond}
}

// providerError sorts what went wrong below the port into the provider classes.
func providerError(err error) error {
	var known *session.ProviderError
	var network *egress.Error
	var guest *abi.Error
	var fault *CallError
	var misplaced *SpliceError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &network):
		return networkError(network)
	case errors.As(err, &guest):
		return &session.ProviderError{Class: session.ProviderProtocol, Message: "The provider's plugin cannot handle this: " + guest.Message}
	case errors.As(err, &fault):
		return &session.ProviderError{Class: session.ProviderProtocol, Message: "The provider's plugin broke: " + fault.Error()}
	case errors.As(err, &misplaced):
		return &session.ProviderError{Class: session.ProviderProtocol, Message: "The provider's plugin made a wrong request: " + misplaced.Error()}
	}
	return err
}

func networkError(err *egress.Error) *session.ProviderError {
	class := networkClass(err)
	retryable := class == session.ProviderRateLimit || class == session.ProviderTransport && err.Kind != egress.KindTLS
	return &session.ProviderError{Class: class, Message: err.Text, Retryable: retryable, RetryAfter: err.RetryAfter}
}

func networkClass(err *egress.Error) string {
	switch err.Kind {
	case egress.KindPolicy:
		return session.ProviderInvalidRequest
	case egress.KindLimit:
		if err.Limit == egress.LimitRequests || err.Limit == egress.LimitConnections {
			return session.ProviderRateLimit
		}
		return session.ProviderInvalidRequest
	case egress.KindSecret:
		return session.ProviderAuthentication
	case egress.KindTooLarge:
		return session.ProviderProtocol
	}
	return session.ProviderTransport
}

// AuthOf translates a manifest's auth for the connection. Errors name the key that
// is wrong.
func AuthOf(auth abi.ManifestAuth) (egress.Auth, error) {
	translated := egress.Auth{Kind: auth.Kind, Name: auth.Name, Value: auth.Value}
	if err := translated.Check(); err != nil {
		return egress.Auth{}, err
	}
	return translated, nil
}
