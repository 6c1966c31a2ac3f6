package egress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/host/secret"
)

// issuer is a token endpoint and a resource that takes its newest token.
type issuer struct {
	mu      sync.Mutex
	forms   []string
	answer  string // with %d for the number; "" for a good one
	status  int
	count   int
	headers []string
	accept  func(token string) bool
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r.URL.Path != "/token" {
		i.headers = append(i.headers, r.Header.Get("Authorization"))
		if i.accept != nil && !i.accept(r.Header.Get("Authorization")) {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, "you are "+r.Header.Get("Authorization"))
		return
	}
	i.count++
	data, _ := io.ReadAll(r.Body)
	i.forms = append(i.forms, strings.TrimSpace(string(data)+" "+r.Header.Get("Authorization")))
	if i.status != 0 {
		w.WriteHeader(i.status)
	}
	answer := i.answer
	if answer == "" {
		answer = `{"access_token":"access-token-%d","token_type":"Bearer","expires_in":3600}`
	}
	fmt.Fprint(w, strings.ReplaceAll(answer, "%d", fmt.Sprint(i.count)))
}

func oauth(t *testing.T, i *issuer, config OAuth2, value string) *Client {
	t.Helper()
	server := serve(t, i.ServeHTTP)
	config.TokenURL = server.URL + "/token"
	config.ClientID = "the client"
	return connect(t, Options{BaseURL: server.URL + "/v1", Auth: Auth{Kind: AuthOAuth2}, OAuth2: &config, Secret: fixed(value).Get})
}

func TestClientCredentials(t *testing.T) {
	for inBody, want := range map[bool]string{
		false: "grant_type=client_credentials&scope=a+b Basic dGhlK2NsaWVudDpjbGllbnQlMkZzZWNyZXQ=", // the+client:client%2Fsecret
		true:  "client_id=the+client&client_secret=client%2Fsecret&grant_type=client_credentials&scope=a+b",
	} {
		i := &issuer{}
		client := oauth(t, i, OAuth2{Grant: GrantClientCredentials, Scope: "a b", InBody: inBody}, "client/secret")
		for range 3 {
			response, err := client.Do(t.Context(), Request{Method: "GET"})
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || string(body) != "you are Bearer [secret]" {
				t.Errorf("%s, %v", body, err)
			}
		}
		if diff := cmp.Diff([]string{want}, i.forms); diff != "" {
			t.Error(diff)
		}
		if i.headers[2] != "Bearer access-token-1" {
			t.Error(i.headers)
		}
	}
}

// TestRefreshTokens: one that replaces another is used from then on, until the
// operator gives a new one.
func TestRefreshTokens(t *testing.T) {
	i := &issuer{answer: `{"access_token":"access-token-%d","expires_in":"1","refresh_token":"refresh-token-%d"}`}
	server := serve(t, i.ServeHTTP)
	given := "refresh-token-0"
	var rotated []string
	client := connect(t, Options{BaseURL: server.URL, Auth: Auth{Kind: AuthOAuth2, Name: "X-Token", Value: "{secret}"},
		Secret: func(context.Context) (secret.Value, error) { return secret.NewValue(given), nil },
		OAuth2: &OAuth2{TokenURL: server.URL + "/token", Grant: GrantRefreshToken, ClientID: "id", ClientSecret: proxySecret("client-secret"),
			Rotated: func(value secret.Value) { rotated = append(rotated, value.Reveal()) }}})
	for n := range 4 {
		if n == 3 {
			given = "refresh-token-new"
		}
		client.injector.tokens.current = token{} // its time has come
		finish(t, client, Request{Method: "GET"})
	}
	basic := " Basic aWQ6Y2xpZW50LXNlY3JldA=="
	want := []string{
		"grant_type=refresh_token&refresh_token=refresh-token-0" + basic, "grant_type=refresh_token&refresh_token=refresh-token-1" + basic,
		"grant_type=refresh_token&refresh_token=refresh-token-2" + basic, "grant_type=refresh_token&refresh_token=refresh-token-new" + basic,
	}
	if diff := cmp.Diff(want, i.forms); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"refresh-token-1", "refresh-token-2", "refresh-token-3", "refresh-token-4"}, rotated); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"refresh-token-0", "refresh-token-2", "access-token-2", "client-secret", "aWQ6Y2xpZW50LXNlY3JldA=="} {
		if got := client.caller.scrubber.Scrub(text); got != "[secret]" {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}

func TestTokenLife(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{"expires_in":3600}`: time.Hour, `{"expires_in":"60"}`: time.Minute, `{}`: tokenLife, `{"expires_in":-1}`: tokenLife,
		`{"expires_in":"soon"}`: tokenLife, `{"expires_in":1e300}`: 365 * 24 * time.Hour, `{"expires_in":0.5}`: 500 * time.Millisecond,
	} {
		var answer tokenAnswer
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.life() != want {
			t.Errorf("%s: %v, %v", text, answer.life(), err)
		}
	}
}

// bubbled makes tokens whose endpoint is in memory and gives one each time.
func bubbled(t *testing.T, config OAuth2, pause time.Duration) (*tokens, *atomic.Int32) {
	t.Helper()
	var count atomic.Int32
	config.TokenURL, config.ClientID = "http://127.0.0.1/token", "id"
	config.Grant = GrantClientCredentials
	handle := func(conn io.Writer) {
		time.Sleep(pause)
		body := fmt.Sprintf(`{"access_token":"access-token-%d","expires_in":600}`, count.Add(1))
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	n := network(t, NetworkOptions{Dial: piped(t, func(conn net.Conn) { handle(conn) })})
	made, err := newTokens(config, fixed("client-secret"), &secret.Scrubber{}, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made, &count
}

// TestTokensAreKept: until a tenth of their life or a minute before its end.
func TestTokensAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, _ := bubbled(t, OAuth2{}, 0)
		for _, step := range []struct {
			after time.Duration
			want  string
		}{{0, "access-token-1"}, {9*time.Minute - time.Second, "access-token-1"}, {time.Second, "access-token-2"}} {
			time.Sleep(step.after)
			if value, err := tokens.token(t.Context()); err != nil || value.Reveal() != step.want {
				t.Errorf("%s, %v, want %s", value.Reveal(), err, step.want)
			}
		}
		second := secret.NewValue("access-token-2")
		if tokens.rejected(second) {
			t.Error("a new token was forgotten")
		}
		if !tokens.rejected(secret.NewValue("access-token-1")) {
			t.Error("the new token was not tried")
		}
		time.Sleep(tokenMinAge)
		if !tokens.rejected(second) {
			t.Error("a rejected token was kept")
		}
		if value, err := tokens.token(t.Context()); err != nil || value.Reveal() != "access-token-3" {
			t.Errorf("%s, %v", value.Reveal(), err)
		}
	})
}

// TestOneFetch: eight callers, one fetch; who leaves takes nobody along.
func TestOneFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, count := bubbled(t, OAuth2{}, time.Second)
		ctx, cancel := context.WithCancelCause(t.Context())
		reason := errors.New("left")
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := tokens.token(ctx); !errors.Is(err, reason) {
				t.Errorf("who left: %v", err)
			}
		})
		for range 8 {
			group.Go(func() {
				time.Sleep(time.Millisecond)
				if value, err := tokens.token(t.Context()); err != nil || value.Reveal() != "access-token-1" {
					t.Errorf("%s, %v", value.Reveal(), err)
				}
			})
		}
		time.Sleep(10 * time.Millisecond)
		cancel(reason)
		group.Wait()
		if n := count.Load(); n != 1 {
			t.Errorf("%d fetches", n)
		}
	})
}

func TestTokensClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, _ := bubbled(t, OAuth2{}, time.Hour)
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := tokens.token(t.Context()); !errors.Is(err, errTokensClosed) {
				t.Errorf("%v", err)
			}
		})
		time.Sleep(time.Second)
		tokens.Close()
		tokens.Close()
		group.Wait()
		if _, err := tokens.token(t.Context()); !errors.Is(err, errTokensClosed) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestTokenFailures(t *testing.T) {
	for name, test := range map[string]struct {
		issuer *issuer
		want   string
	}{
		"refused":       {&issuer{status: 400, answer: `{"error":"invalid_grant","error_description":"client/secret is unknown"}`}, `answers 400 "invalid_grant [secret] is unknown"`},
		"no JSON":       {&issuer{answer: "<html>client/secret"}, "is not the JSON it should be"},
		"refused plain": {&issuer{status: 500, answer: "client/secret"}, `answers 500 ""`},
		"empty":         {&issuer{answer: `{}`}, "holds no access token"},
		"bad token":     {&issuer{answer: `{"access_token":"a\nb"}`}, "holds no access token"},
		"other type":    {&issuer{answer: `{"access_token":"access-token-1","token_type":"mac"}`}, `tokens of type "mac"; only bearer`},
		"too large":     {&issuer{answer: strings.Repeat("x", 100<<10)}, "larger than 65536 bytes"},
		"redirect":      {&issuer{status: 302}, "answers 302"},
	} {
		i := test.issuer
		_, err := oauth(t, i, OAuth2{Grant: GrantClientCredentials}, "client/secret").Do(t.Context(), Request{Method: "GET"})
		wantKind(t, err, KindSecret, test.want)
		if len(i.headers) > 0 || strings.Contains(err.Error(), "client/secret") {
			t.Errorf("%s: %v, %q", name, err, i.headers)
		}
	}
	client := connect(t, Options{BaseURL: "http://127.0.0.1:1", Auth: Auth{Kind: AuthOAuth2}, OAuth2: &OAuth2{TokenURL: "http://127.0.0.1:1/t", Grant: GrantClientCredentials, ClientID: "x"},
		Secret: func(context.Context) (secret.Value, error) { return secret.Value{}, errors.New("X is not set") }})
	_, err := client.Do(t.Context(), Request{Method: "GET"})
	wantKind(t, err, KindSecret, "X is not set")
	for want, config := range map[string]OAuth2{
		"no OAuth2 grant":          {TokenURL: "https://a.example/t", ClientID: "x", Grant: "password"},
		"needs the client's id":    {TokenURL: "https://a.example/t", Grant: GrantRefreshToken},
		"must begin with https://": {TokenURL: "a.example", ClientID: "x", Grant: GrantRefreshToken},
		"over plain http":          {TokenURL: "http://a.example/t", ClientID: "x", Grant: GrantRefreshToken},
	} {
		_, err := New(Options{BaseURL: "https://api.example", Auth: Auth{Kind: AuthOAuth2}, OAuth2: &config, Secret: withKey})
		wantKind(t, err, KindPolicy, want)
	}
}

// TestRejectedClient: the secret's source is told what the token endpoint does not
// take, and of what goes wrong otherwise it is not.
func TestRejectedClient(t *testing.T) {
	for name, test := range map[string]struct {
		issuer *issuer
		want   string
	}{
		"401":            {&issuer{status: 401, answer: "no"}, "client/secret"},
		"invalid client": {&issuer{status: 400, answer: `{"error":"invalid_client"}`}, "client/secret"},
		"invalid grant":  {&issuer{status: 400, answer: `{"error":"invalid_grant"}`}, "client/secret"},
		"invalid scope":  {&issuer{status: 400, answer: `{"error":"invalid_scope"}`}, ""},
		"broken":         {&issuer{status: 500, answer: `{}`}, ""},
	} {
		server := serve(t, test.issuer.ServeHTTP)
		rejected := ""
		client := connect(t, Options{BaseURL: server.URL, Auth: Auth{Kind: AuthOAuth2}, Secret: fixed("client/secret").Get,
			Rejected: func(value secret.Value) { rejected += value.Reveal() },
			OAuth2:   &OAuth2{TokenURL: server.URL + "/token", Grant: GrantClientCredentials, ClientID: "id"}})
		_, err := client.Do(t.Context(), Request{Method: "GET"})
		wantKind(t, err, KindSecret)
		if rejected != test.want {
			t.Errorf("%s: rejected %q, want %q", name, rejected, test.want)
		}
	}
}

// TestRejectedToken: a token that the server ended early is replaced.
func TestRejectedToken(t *testing.T) {
	i := &issuer{accept: func(token string) bool { return token == "Bearer access-token-2" }}
	client := oauth(t, i, OAuth2{Grant: GrantClientCredentials}, "client/secret")
	if response := finish(t, client, Request{Method: "GET"}); response.Status != http.StatusUnauthorized {
		t.Errorf("a new token was replaced: %d", response.Status)
	}
	client.injector.tokens.current.since = time.Now().Add(-tokenMinAge)
	if response := finish(t, client, Request{Method: "GET"}); response.Status != http.StatusOK {
		t.Errorf("%d, %q", response.Status, i.headers)
	}
	if len(i.forms) != 2 {
		t.Errorf("%q", i.forms)
	}
	if _, err := url.ParseQuery(strings.Fields(i.forms[0])[0]); err != nil {
		t.Error(err)
	}
}
