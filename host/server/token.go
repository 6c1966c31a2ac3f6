package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/store"
)

// KV is where tokens are kept: store.KV.
type KV interface {
	Get(ctx context.Context, namespace, key string) ([]byte, error)
	Set(ctx context.Context, namespace, key string, value []byte) error
	Delete(ctx context.Context, namespace, key string) error
	List(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error)
}

const (
	tokenNamespace = "tokens"
	// tokenPrefix begins every secret, so that scanners for leaked secrets and
	// people tell what it is.
	tokenPrefix = "plinth_"
	maxTokens   = 1000
)

// TokenStore keeps tokens in a KV: what they may do and the SHA-256 of their
// secrets. It is an Access and a Tokens.
type TokenStore struct {
	kv  KV
	now func() time.Time

	making sync.Mutex // held while a token with a key is made

	mu      sync.Mutex
	watches map[string]map[*func()]struct{} // by token id
}

// NewTokenStore uses the KV; now tells the time.
func NewTokenStore(kv KV, now func() time.Time) *TokenStore {
	return &TokenStore{kv: kv, now: now, watches: map[string]map[*func()]struct{}{}}
}

// storedToken is a token's row.
type storedToken struct {
	protocol.Token
	Hash string `json:"hash"` // SHA-256 of the whole secret, as hex
}

// Create makes a token. The answer is the only place that ever holds the secret.
// With a key the token's id follows from it, so that the row itself tells a retry
// that it was made.
func (t *TokenStore) Create(ctx context.Context, caller Caller, request protocol.CreateToken) (protocol.CreatedToken, error) {
	if err := checkToken(request); err != nil {
		return protocol.CreatedToken{}, err
	}
	id := "tok_" + rand.Text()[:16]
	if caller.Key != "" {
		id = keyedToken(caller)
		t.making.Lock()
		defer t.making.Unlock()
		switch _, err := t.load(ctx, id); {
		case err == nil:
			return protocol.CreatedToken{}, protocol.Errorf(protocol.Conflict,
				"token %s was made under this key and its secret is not told again; revoke it and use a new key", id)
		case !errors.Is(err, store.ErrNotFound):
			return protocol.CreatedToken{}, err
		}
	}
	scopes := slices.Clone(request.Scopes)
	slices.Sort(scopes)
	token := protocol.Token{
		ID: id, Name: request.Name, Scopes: slices.Compact(scopes),
		Created: t.now().UTC().Truncate(time.Millisecond),
	}
	if request.LifetimeSeconds > 0 {
		expires := token.Created.Add(time.Duration(request.LifetimeSeconds) * time.Second)
		token.Expires = &expires
	}
	secret := tokenPrefix + strings.TrimPrefix(token.ID, "tok_") + "_" + rand.Text() + rand.Text()
	row, err := json.Marshal(storedToken{Token: token, Hash: hashSecret(secret)})
	if err != nil {
		return protocol.CreatedToken{}, fmt.Errorf("encode token: %w", err)
	}
	if err := t.kv.Set(ctx, tokenNamespace, token.ID, row); err != nil {
		return protocol.CreatedToken{}, fmt.Errorf("store token: %w", err)
	}
	return protocol.CreatedToken{Token: token, Secret: secret}, nil
}

// keyedToken is the id of the token that the caller's key makes.
func keyedToken(caller Caller) string {
	sum := sha256.Sum256([]byte("token\x00" + caller.Actor + "\x00" + caller.Key))
	return "tok_" + base32.StdEncoding.EncodeToString(sum[:])[:16]
}

// maxLifetime is a hundred years, in seconds.
const maxLifetime = 100 * 365 * 24 * 3600

func checkToken(request protocol.CreateToken) error {
	if len(request.Scopes) == 0 {
		return protocol.Errorf(protocol.BadRequest, "scopes is empty; a token needs at least one of %v", protocol.Scopes())
	}
	for _, scope := range request.Scopes {
		if !slices.Contains(protocol.Scopes(), scope) {
			return protocol.Errorf(protocol.BadRequest, "scope %q is not one of %v", clip(string(scope)), protocol.Scopes())
		}
	}
	if len(request.Name) > 200 {
		return protocol.Errorf(protocol.BadRequest, "name has %d bytes, the limit is 200", len(request.Name))
	}
	if request.LifetimeSeconds < 0 || request.LifetimeSeconds > maxLifetime {
		return protocol.Errorf(protocol.BadRequest, "lifetimeSeconds must be 0 (no end) to %d", maxLifetime)
	}
	return nil
}

func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Verify answers who the secret belongs to.
func (t *TokenStore) Verify(ctx context.Context, secret string) (Principal, error) {
	refused := protocol.Errorf(protocol.Unauthenticated, "the token is not known or has expired")
	rest, ok := strings.CutPrefix(secret, tokenPrefix)
	id, _, separated := strings.Cut(rest, "_")
	if !ok || !separated || len(secret) > 256 {
		return Principal{}, refused
	}
	row, err := t.load(ctx, "tok_"+id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Principal{}, refused
	case err != nil:
		return Principal{}, err
	case subtle.ConstantTimeCompare([]byte(row.Hash), []byte(hashSecret(secret))) != 1:
		return Principal{}, refused
	}
	p := Principal{Actor: "token:" + row.ID, Token: row.ID, Scopes: row.Scopes}
	if row.Expires != nil {
		if p.Expires = *row.Expires; !t.now().Before(p.Expires) {
			return Principal{}, refused
		}
	}
	return p, nil
}

func (t *TokenStore) load(ctx context.Context, id string) (storedToken, error) {
	value, err := t.kv.Get(ctx, tokenNamespace, id)
	if err != nil {
		return storedToken{}, fmt.Errorf("read token: %w", err)
	}
	var row storedToken
	if err := json.Unmarshal(value, &row); err != nil {
		return storedToken{}, fmt.Errorf("decode token %s: %w", id, err)
	}
	return row, nil
}

// List answers all tokens, oldest first.
func (t *TokenStore) List(ctx context.Context) (protocol.TokenList, error) {
	ids, err := t.kv.List(ctx, tokenNamespace, "", "", maxTokens)
	if err != nil {
		return protocol.TokenList{}, fmt.Errorf("list tokens: %w", err)
	}
	list := protocol.TokenList{Tokens: make([]protocol.Token, 0, len(ids))}
	for _, id := range ids {
		row, err := t.load(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // revoked meanwhile
		}
		if err != nil {
			return protocol.TokenList{}, err
		}
		list.Tokens = append(list.Tokens, row.Token)
	}
	slices.SortFunc(list.Tokens, func(a, b protocol.Token) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Revoke ends the token and all that is open under it.
func (t *TokenStore) Revoke(ctx context.Context, id string) error {
	if _, err := t.load(ctx, id); errors.Is(err, store.ErrNotFound) {
		return protocol.Errorf(protocol.NotFound, "there is no token %q", clip(id))
	} else if err != nil {
		return err
	}
	if err := t.kv.Delete(ctx, tokenNamespace, id); err != nil {
		return fmt.Errorf("revoke token: %w", err)
	}
	t.mu.Lock()
	watches := t.watches[id]
	delete(t.watches, id)
	t.mu.Unlock()
	for revoked := range watches {
		(*revoked)()
	}
	return nil
}

// Watch calls revoked when the token is revoked. Registering comes before the
// look whether it still is valid, so no revocation falls between.
func (t *TokenStore) Watch(ctx context.Context, id string, revoked func()) (stop func(), err error) {
	t.mu.Lock()
	if t.watches[id] == nil {
		t.watches[id] = map[*func()]struct{}{}
	}
	t.watches[id][&revoked] = struct{}{}
	t.mu.Unlock()
	stop = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watches[id], &revoked)
		if len(t.watches[id]) == 0 {
			delete(t.watches, id)
		}
	}
	if _, err := t.load(ctx, id); err != nil {
		stop()
		if errors.Is(err, store.ErrNotFound) {
			err = protocol.Errorf(protocol.Unauthenticated, "the token is not known or has expired")
		}
		return nil, err
	}
	return stop, nil
}
