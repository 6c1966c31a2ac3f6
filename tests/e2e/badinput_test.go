package e2e

import (
	"net/http"
	"strings"

	"github.com/plinthhost/plinth/client/protocol"
)

// badInput is one mistake at each door. A nil door cannot make it.
type badInput struct {
	name     string
	http     func(d *doors, id string) refusal
	ws       func(d *doors, id string) refusal
	terminal func(d *doors, id string) (notes string, exit int)
	code     protocol.Code
	exit     int
	says     []string // SESSION stands for the session's id
}

const (
	noSession = "ses_0123456789abcdefAAAAAAAAAAAAAA"
	message   = "msg_0123456789abcdefAAAAAAAAAAAAAA"
	badToken  = "plinth_AAAAAAAAAAAAAAAA_BBBB"
)

// prompting is an HTTP prompt with a body and headers.
func prompting(to, body string, header map[string]string) func(*doors, string) refusal {
	return func(d *doors, id string) refusal {
		return d.httpRefusal(call{path: "/v1/sessions/" + orSession(to, id) + "/prompts", body: body, header: header})
	}
}

// requesting is a prompt over the WebSocket.
func requesting(to, rest string) func(*doors, string) refusal {
	return func(d *doors, id string) refusal {
		return d.wsRefusal(`{"t":"req","id":"r","method":"session.prompt","params":{"sessionID":"` + orSession(to, id) + `"` + rest + `}}`)
	}
}

// framing is any frame.
func framing(frame string) func(*doors, string) refusal {
	return func(d *doors, id string) refusal { return d.wsRefusal(strings.ReplaceAll(frame, "SESSION", id)) }
}

// typing is a command line.
func typing(args ...string) func(*doors, string) (string, int) {
	return func(d *doors, id string) (string, int) {
		line := make([]string, len(args))
		for i, arg := range args {
			line[i] = strings.NewReplacer("SESSION", id, "ADDRESS", d.host.address, "PORT", d.host.address[strings.LastIndex(d.host.address, ":")+1:]).Replace(arg)
		}
		_, notes, code := d.plinthWith([]string{"PLINTH_TOKEN=" + d.token}, line...)
		return notes, code
	}
}

func orSession(to, id string) string {
	if to == "" {
		return id
	}
	return to
}

func badInputs() []badInput {
	upgrading := func(header map[string]string) func(*doors, string) refusal {
		return func(d *doors, _ string) refusal { return d.dialRefusal(header) }
	}
	with := func(name, value string) map[string]string { return map[string]string{name: value} }
	return []badInput{
		{
			name: "unknown session", code: protocol.NotFound, exit: 1, says: []string{"session " + noSession, "not found"},
			http: prompting(noSession, `{"text":"x"}`, nil), ws: requesting(noSession, `,"text":"x"`),
			terminal: typing("run", "--session", noSession, "x"),
		},
		{
			name: "following an unknown session", code: protocol.NotFound, exit: 1, says: []string{"session " + noSession, "not found"},
			http: func(d *doors, _ string) refusal {
				return d.httpRefusal(call{method: http.MethodGet, path: "/v1/sessions/" + noSession + "/events"})
			},
			ws: framing(`{"t":"sub","sub":"s","scope":"session","session":"` + noSession + `"}`), terminal: typing("events", noSession, "--follow"),
		},
		{
			name: "conflicting retry", code: protocol.Conflict, exit: 1, says: []string{"the id " + message, "another prompt", "use a new id, or repeat the first request exactly"},
			http: prompting("", `{"id":"`+message+`","text":"other"}`, nil), ws: requesting("", `,"id":"`+message+`","text":"other"`),
			terminal: typing("run", "--session", "SESSION", "--id", message, "other"),
		},
		{
			name: "conflicting key", code: protocol.Conflict, says: []string{"the key was used for another prompt", "use a new key"},
			http: prompting("", `{"text":"other"}`, with("Idempotency-Key", "k")),
			ws:   framing(`{"t":"req","id":"r","method":"session.prompt","key":"k","params":{"sessionID":"SESSION","text":"other"}}`),
		},
		{
			name: "malformed id", code: protocol.BadRequest, exit: 2, says: []string{`"msg_x" is not an id of the form msg_`, "30 characters"},
			http: prompting("", `{"id":"msg_x","text":"x"}`, nil), ws: requesting("", `,"id":"msg_x","text":"x"`),
			terminal: typing("run", "--session", "SESSION", "--id", "msg_x", "x"),
		},
		{
			name: "malformed JSON", code: protocol.BadRequest, says: []string{"the JSON value is cut off"},
			http: prompting("", `{"text":`, nil), ws: framing(`{"t":"req","id":`),
		},
		{
			name: "unknown field", code: protocol.BadRequest, exit: 2, says: []string{"txet"},
			http: prompting("", `{"text":"x","txet":1}`, nil), ws: requesting("", `,"text":"x","txet":1`),
			terminal: typing("run", "--txet", "x"),
		},
		{
			name: "unknown field of a frame", code: protocol.BadRequest, says: []string{"extra"},
			ws: framing(`{"t":"req","id":"r","method":"sessions.list","extra":1}`),
		},
		{
			name: "another kind of value", code: protocol.BadRequest, says: []string{`field "text" cannot be a JSON number`},
			http: prompting("", `{"text":7}`, nil), ws: requesting("", `,"text":7`),
		},
		{
			name: "empty prompt", code: protocol.BadRequest, exit: 2, says: []string{"text is empty"},
			http: prompting("", `{"text":""}`, nil), ws: requesting("", `,"text":""`), terminal: typing("run", "--session", "SESSION", ""),
		},
		{
			name: "malformed cursor", code: protocol.BadRequest, exit: 2, says: []string{"the cursor is malformed; send one as the server gave it"},
			http: func(d *doors, id string) refusal {
				return d.httpRefusal(call{method: http.MethodGet, path: "/v1/sessions/" + id + "/events?after=x"})
			},
			ws: framing(`{"t":"sub","sub":"s","scope":"session","session":"SESSION","after":"x"}`), terminal: typing("events", "SESSION", "--after", "x"),
		},
		{
			name: "limit out of range", code: protocol.BadRequest, exit: 2, says: []string{"limit", "200"},
			http: func(d *doors, _ string) refusal {
				return d.httpRefusal(call{method: http.MethodGet, path: "/v1/sessions?limit=201"})
			},
			ws: framing(`{"t":"req","id":"r","method":"sessions.list","params":{"limit":201}}`), terminal: typing("sessions", "--limit", "201"),
		},
		{
			name: "too large", code: protocol.TooLarge, says: []string{"larger than 1048576 bytes"},
			http: prompting("", `{"text":"`+strings.Repeat("x", protocol.MaxFrame)+`"}`, nil),
			ws: func(d *doors, _ string) refusal {
				code, reason := d.wsClosed(strings.Repeat(" ", protocol.MaxFrame+1))
				if code != protocol.CloseFrameSize {
					d.t.Errorf("closed with %d", code)
				}
				return refusal{protocol.TooLarge, reason}
			},
		},
		{
			name: "missing token", code: protocol.Unauthenticated, exit: 1, says: []string{"Authorization: Bearer TOKEN"},
			http: prompting("", `{"text":"x"}`, with("Authorization", "")), ws: upgrading(with("Authorization", "")),
			terminal: func(d *doors, _ string) (string, int) {
				_, notes, code := d.plinth("sessions", "--server", d.host.address)
				if !strings.Contains(notes, "set PLINTH_TOKEN to a token") {
					d.t.Errorf("the terminal does not say what to do: %s", notes)
				}
				return notes, code
			},
		},
		{
			name: "wrong token", code: protocol.Unauthenticated, exit: 1, says: []string{"the token is not known or has expired"},
			http: prompting("", `{"text":"x"}`, with("Authorization", "Bearer "+badToken)), ws: upgrading(with("Authorization", "Bearer "+badToken)),
			terminal: func(d *doors, _ string) (string, int) {
				_, notes, code := d.plinthWith([]string{"PLINTH_TOKEN=" + badToken}, "sessions", "--server", d.host.address)
				return notes, code
			},
		},
		{
			name: "missing right", code: protocol.Forbidden, exit: 1, says: []string{"needs a token with the scope admin"},
			http: func(d *doors, _ string) refusal {
				return d.httpRefusal(call{method: http.MethodGet, path: "/v1/tokens"})
			},
			terminal: typing("token", "list", "--server", "ADDRESS"),
		},
		{
			name: "wrong host", code: protocol.Forbidden, exit: 1, says: []string{"host name", "add it to allowed_hosts"},
			http: prompting("", `{"text":"x"}`, with("Host", "evil.example")), ws: upgrading(with("Host", "evil.example")),
			terminal: typing("sessions", "--server", "http://[::ffff:127.0.0.1]:PORT"),
		},
		{
			name: "wrong origin", code: protocol.Forbidden, says: []string{`"https://evil.example"`, "add it to allowed_origins"},
			http: prompting("", `{"text":"x"}`, with("Origin", "https://evil.example")), ws: upgrading(with("Origin", "https://evil.example")),
		},
		{
			name: "unknown provider", code: protocol.BadRequest, exit: 2, says: []string{`prompt.model: there is no provider "nobody"`, "add a table [providers.nobody]"},
			http: prompting("", `{"text":"x","model":{"provider":"nobody","model":"x"}}`, nil), ws: requesting("", `,"text":"x","model":{"provider":"nobody","model":"x"}`),
			terminal: typing("run", "--session", "SESSION", "--model", "nobody/x", "x"),
		},
		{
			name: "no such directory", code: protocol.BadRequest, exit: 2, says: []string{"/nowhere"},
			http: func(d *doors, _ string) refusal {
				return d.httpRefusal(call{path: "/v1/sessions", body: `{"location":{"directory":"/nowhere"}}`})
			},
			ws:       framing(`{"t":"req","id":"r","method":"session.create","params":{"location":{"directory":"/nowhere"}}}`),
			terminal: typing("run", "--dir", "/nowhere", "x"),
		},
		{
			name: "no such method", code: protocol.BadRequest, exit: 2, says: []string{"session.nothing"},
			ws: framing(`{"t":"req","id":"r","method":"session.nothing"}`), terminal: typing("session.nothing"),
		},
		{
			name: "no host", exit: 6, says: []string{"the host at http://127.0.0.1:1 does not answer"},
			terminal: typing("sessions", "--server", "http://127.0.0.1:1"),
		},
		{
			name: "no address", exit: 2, says: []string{`"nonsense"`, "unix:/path, http://host:port or https://host"},
			terminal: typing("sessions", "--server", "nonsense"),
		},
	}
}
