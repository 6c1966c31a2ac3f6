package bridge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
)

// Limits of http.fetch.
const (
	DefaultFetchBytes = 1 << 20
	MaxFetchBytes     = 16 << 20 // that are kept
	// MaxBodyBytes leaves room for the rest of the answer in what the engine lets
	// through.
	MaxBodyBytes = 15 << 20
)

// fetch makes a request inside of what was granted, or one that permission is asked
// for. While it is under way, the guest makes room.
func (o *operations) fetch(ctx context.Context, request abi.HTTPFetch, raw []byte) (any, []byte, error) {
	method := request.Method
	if method == "" {
		method = http.MethodGet
	}
	if o.reach.Fetcher == nil {
		return nil, nil, o.noFetch(method, request.URL)
	}
	if o.host == nil && (request.Blob || request.Method != "" && request.Method != http.MethodGet) {
		return nil, nil, refuse(abi.KindUnavailable, "http.fetch of a context source is a GET without blob; the rest is for tools")
	}
	body, err := content(request.Body, request.Text, raw)
	if err != nil {
		return nil, nil, err
	}
	most := int64(DefaultFetchBytes)
	if request.Blob {
		most = MaxFetchBytes
	}
	switch {
	case request.MaxBytes < 0 || request.TimeoutMS < 0:
		return nil, nil, refuse(abi.KindInvalidInput, "max_bytes and timeout_ms must not be negative")
	case request.MaxBytes > MaxFetchBytes:
		return nil, nil, refuse(abi.KindLimit, "max_bytes is %d; the most is %d", request.MaxBytes, MaxFetchBytes)
	case !request.Blob && request.MaxBytes > MaxBodyBytes:
		return nil, nil, refuse(abi.KindLimit, "max_bytes is %d; the most without blob is %d", request.MaxBytes, MaxBodyBytes)
	case request.MaxBytes > 0:
		most = request.MaxBytes
	}
	fetch := egress.Fetch{Method: method, URL: request.URL, Headers: request.Headers, Body: body, Redirect: request.Redirect,
		Handles: request.Secrets, MaxBody: most, Timeout: time.Duration(request.TimeoutMS) * time.Millisecond}
	if o.reach.AnyURL && o.host != nil {
		if _, err := o.reach.Fetcher.Check(method, request.URL); err == nil {
			o.touch() // what is asked for then is a redirect of a request that was granted
		}
		fetch.Local = o.plugin.Builtin
		fetch.Ask = func(ctx context.Context, _ string, target egress.Target) error {
			defer o.touch() // a request follows, before the next ask
			return o.authorise(ctx, actionFetch, target.String())
		}
	}
	var fetched egress.Fetched
	err = wait(ctx, func(ctx context.Context) (err error) {
		fetched, err = o.reach.Fetcher.Do(ctx, fetch)
		return err
	})
	if err != nil {
		return nil, nil, o.fetchFailed(method, request.URL, err)
	}
	return o.fetched(ctx, request, fetched)
}

func (o *operations) fetched(ctx context.Context, request abi.HTTPFetch, fetched egress.Fetched) (any, []byte, error) {
	answer := abi.HTTPFetched{Status: fetched.Status, Headers: map[string]string{}, URL: fetched.URL, Redirects: fetched.Redirects, Size: fetched.Size}
	for name := range fetched.Headers {
		answer.Headers[strings.ToLower(name)] = fetched.Headers.Get(name)
	}
	if request.Blob {
		blob, err := o.keep(ctx, fetched.Body)
		answer.Blob = &blob
		return answer, nil, err
	}
	answer.Body = &abi.Bytes{Length: len(fetched.Body)}
	return answer, fetched.Body, nil
}

// fetchFailed is why a request failed; one that the manifest asks for and that was not
// granted is named.
func (o *operations) fetchFailed(method, url string, err error) error {
	if failed, ok := errors.AsType[*egress.Error](err); ok && failed.Kind == egress.KindPolicy {
		if _, refused := o.reach.Fetcher.Check(method, url); refused != nil {
			if request, ok := o.withheldFetch(method, url); ok {
				return o.withheld(request)
			}
		}
	}
	return fetchError(err)
}

// fetchError puts what went wrong into the closed set.
func fetchError(err error) error {
	if denied, ok := errors.AsType[*session.DeniedError](err); ok {
		return denied
	}
	failed, ok := errors.AsType[*egress.Error](err)
	if !ok {
		return err
	}
	kind := abi.KindUnavailable
	switch failed.Kind {
	case egress.KindPolicy:
		kind = abi.KindDenied
	case egress.KindTooLarge, egress.KindLimit:
		kind = abi.KindLimit
	case egress.KindTimeoutConnect, egress.KindTimeoutFirstByte, egress.KindTimeoutIdle, egress.KindTimeoutTotal, egress.KindTooSlow:
		kind = abi.KindTimeout
	case egress.KindFailed:
		kind = abi.KindFailed
	}
	return &abi.Error{Kind: kind, Message: failed.Text}
}
