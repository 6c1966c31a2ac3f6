package egress

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plinthhost/plinth/host/secret"
)

// tokenAnswer is what a token endpoint says (RFC 6749, section 5).
type tokenAnswer struct {
	AccessToken  string          `json:"access_token"`
	TokenType    string          `json:"token_type"`
	ExpiresIn    json.RawMessage `json:"expires_in"` // a number; some say a string
	RefreshToken string          `json:"refresh_token"`
	Error        string          `json:"error"`
	Description  string          `json:"error_description"`
}

// fetch asks the endpoint for a token.
func (t *tokens) fetch() (token, error) {
	form, header, given, err := t.form()
	if err != nil {
		return token{}, err
	}
	now := time.Now()
	response, err := t.caller.send(t.ctx, hop{
		method: http.MethodPost, target: t.endpoint, header: header, body: []byte(form.Encode()),
		deadline: now.Add(tokenTimeout), total: tokenTimeout, unscrubbed: true,
	})
	if err != nil {
		return token{}, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return token{}, err
	}
	var answer tokenAnswer
	malformed := json.Unmarshal(data, &answer) != nil // what it says shows the data
	if t.source.Rejected != nil && (response.Status == http.StatusUnauthorized || answer.Error == "invalid_client" || answer.Error == "invalid_grant") {
		t.source.Rejected(given)
	}
	switch {
	case response.Status != http.StatusOK:
		return token{}, fmt.Errorf("the token endpoint %s answers %d %q", t.endpoint.Origin, response.Status,
			shown(strings.TrimSpace(answer.Error+" "+answer.Description)))
	case malformed:
		return token{}, fmt.Errorf("the answer of the token endpoint %s is not the JSON it should be", t.endpoint.Origin)
	case answer.AccessToken == "" || len(answer.AccessToken) > maxToken || !validValue(answer.AccessToken):
		return token{}, fmt.Errorf("the answer of the token endpoint %s holds no access token", t.endpoint.Origin)
	case answer.TokenType != "" && !strings.EqualFold(answer.TokenType, "bearer"):
		return token{}, fmt.Errorf("the token endpoint %s gives tokens of type %q; only bearer is understood", t.endpoint.Origin, shown(answer.TokenType))
	}
	t.rotate(answer.RefreshToken)
	fetched := secret.NewValue(answer.AccessToken)
	t.scrubber.Add(fetched)
	life := answer.life()
	return token{value: fetched, since: now, ends: now.Add(life - min(tokenSkew, life/10))}, nil
}

func (a tokenAnswer) life() time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(a.ExpiresIn), `"`), 64)
	if err != nil || seconds <= 0 {
		return tokenLife
	}
	return time.Duration(min(seconds, 365*24*3600) * float64(time.Second))
}

// refreshToken answers the refresh token in force: what replaced the given one, as
// long as that is the one it replaced.
func (t *tokens) refreshToken(given secret.Value) secret.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.refresh.given.Equal(given) {
		t.refresh.given, t.refresh.rotated = given, given
	}
	return t.refresh.rotated
}

// rotate keeps a refresh token that replaces the one in force.
func (t *tokens) rotate(text string) {
	replaced := secret.NewValue(text)
	if text == "" || t.config.Grant != GrantRefreshToken {
		return
	}
	t.scrubber.Add(replaced)
	t.mu.Lock()
	same := t.refresh.rotated.Equal(replaced)
	t.refresh.rotated = replaced
	t.mu.Unlock()
	if !same && t.config.Rotated != nil {
		t.config.Rotated(replaced)
	}
}

// form answers what is sent, with the client's secret where the configuration has
// it, and the secret that it is made from.
func (t *tokens) form() (url.Values, http.Header, secret.Value, error) {
	value, err := t.source.Get(t.ctx)
	if err != nil {
		return nil, nil, value, err
	}
	t.scrubber.Add(value)
	form := url.Values{"grant_type": {t.config.Grant}}
	if t.config.Scope != "" {
		form.Set("scope", t.config.Scope)
	}
	var client secret.Value
	if t.config.Grant == GrantClientCredentials {
		client = value
	} else {
		form.Set("refresh_token", t.refreshToken(value).Reveal())
		if t.config.ClientSecret != nil {
			if client, err = t.config.ClientSecret(t.ctx); err != nil {
				return nil, nil, value, err
			}
			t.scrubber.Add(client)
		}
	}
	header := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"plinth"},
		"Content-Type": {"application/x-www-form-urlencoded"},
	}
	if text := client.Reveal(); text != "" && !t.config.InBody {
		pair := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(t.config.ClientID) + ":" + url.QueryEscape(text)))
		t.scrubber.Add(secret.NewValue(pair))
		header.Set("Authorization", "Basic "+pair)
		return form, header, value, nil
	} else if text != "" {
		form.Set("client_secret", text)
	}
	form.Set("client_id", t.config.ClientID)
	return form, header, value, nil
}

// Close ends a fetch and waits for it.
func (t *tokens) Close() {
	t.mu.Lock()
	t.cancel(errTokensClosed)
	t.mu.Unlock()
	t.fetches.Wait()
	t.caller.transport.CloseIdleConnections()
}
