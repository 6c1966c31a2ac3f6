package protocol

import "time"

// Scope is a right of a token.
type Scope string

// The scopes. Admin includes the others.
const (
	ScopeRead    Scope = "session:read"
	ScopeWrite   Scope = "session:write"
	ScopeApprove Scope = "approve"
	// ScopePlugins is to add, approve, change and remove plugins.
	ScopePlugins Scope = "plugin:write"
	ScopeAdmin   Scope = "admin"
)

// Scopes answers all scopes.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeWrite, ScopeApprove, ScopePlugins, ScopeAdmin} }

// Token is what is known of a token; its secret is not.
type Token struct {
	ID      string     `json:"id"`
	Name    string     `json:"name,omitempty"`
	Scopes  []Scope    `json:"scopes"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
}

// CreateToken is the body that makes a token.
type CreateToken struct {
	Name   string  `json:"name,omitempty"`
	Scopes []Scope `json:"scopes"`
	// LifetimeSeconds bounds the token's life; 0 is without end.
	LifetimeSeconds int64 `json:"lifetimeSeconds,omitempty"`
}

// CreatedToken is the only answer that holds the secret.
type CreatedToken struct {
	Token
	// Secret is what goes into "Authorization: Bearer …".
	Secret string `json:"secret"`
}

// TokenList lists the tokens, oldest first.
type TokenList struct {
	Tokens []Token `json:"tokens"`
}
