package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
)

// Principal is who a request was authenticated as, with what the server's own
// records allow them. Nothing of it comes from the request.
type Principal struct {
	// Actor is "token:ID" or "local:UID".
	Actor string
	// Token is the token's id, empty for a caller of the unix socket.
	Token   string
	Scopes  []protocol.Scope
	Expires time.Time // zero for never
}

// allows tells whether the principal has the right. Admin has all of them.
func (p Principal) allows(scope protocol.Scope) bool {
	return scope == "" || slices.Contains(p.Scopes, scope) || slices.Contains(p.Scopes, protocol.ScopeAdmin)
}

// authorise refuses what the principal has no right to.
func (p Principal) authorise(scope protocol.Scope) error {
	if p.allows(scope) {
		return nil
	}
	return protocol.Errorf(protocol.Forbidden, "this needs a token with the scope %s", scope)
}

// Causes that end something long-lived.
var (
	errRevoked  = errors.New("the token was revoked or has expired")
	errDraining = errors.New("the server is shutting down")
)

// guard answers a context that ends, with errRevoked, when the principal's token
// is revoked or expires, and with errDraining when the server shuts down.
func (s *Server) guard(ctx context.Context, p Principal) (context.Context, context.CancelFunc, error) {
	guarded, cancel := context.WithCancelCause(ctx)
	stops := []func() bool{context.AfterFunc(s.draining, func() { cancel(errDraining) })}
	stop := func() {
		for _, stop := range stops {
			stop()
		}
		cancel(context.Canceled)
	}
	if p.Token == "" {
		return guarded, stop, nil
	}
	unwatch, err := s.backend.Access.Watch(ctx, p.Token, func() { cancel(errRevoked) })
	if err != nil {
		stop()
		return nil, nil, err
	}
	stops = append(stops, func() bool { unwatch(); return true })
	if !p.Expires.IsZero() {
		stops = append(stops, time.AfterFunc(time.Until(p.Expires), func() { cancel(errRevoked) }).Stop)
	}
	return guarded, stop, nil
}

// principalKey and localKey are context keys: of the request's principal, and of
// the peer's uid on a unix socket connection.
type (
	principalKey struct{}
	localKey     struct{}
)

// principalOf answers the principal the checks put into the context.
func principalOf(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}
