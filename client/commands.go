package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/plinthhost/plinth/client/protocol"
)

// CreateSession makes a session, or answers the one with that id. A session without an
// id is given one, so that repeating it is safe.
func (c *Client) CreateSession(ctx context.Context, session protocol.CreateSession) (created protocol.Session, err error) {
	if session.ID == "" {
		session.ID = c.ids.Session()
	}
	err = c.do(ctx, request{method: http.MethodPost, path: "/v1/sessions", body: session}, &created)
	return created, err
}

// Session answers one session.
func (c *Client) Session(ctx context.Context, id string) (session protocol.Session, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(id, "")}, &session)
	return session, err
}

// Sessions answers a page of sessions, newest first.
func (c *Client) Sessions(ctx context.Context, list protocol.ListSessions) (page protocol.SessionList, err error) {
	query := url.Values{}
	setNumber(query, "limit", list.Limit)
	set(query, "cursor", list.Cursor)
	set(query, "directory", list.Directory)
	set(query, "text", list.Text)
	set(query, "slug", list.Slug)
	if list.Archived {
		query.Set("archived", "true")
	}
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/sessions", query: query}, &page)
	return page, err
}

// Messages answers a page of a session's transcript, by sequence.
func (c *Client) Messages(ctx context.Context, session string, list protocol.ListMessages) (page protocol.MessageList, err error) {
	query := url.Values{}
	setNumber(query, "limit", list.Limit)
	if list.After != nil {
		query.Set("after", strconv.FormatInt(*list.After, 10))
	}
	if list.Timeline {
		query.Set("timeline", "true")
	}
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(session, "/messages"), query: query}, &page)
	return page, err
}

// Prompt admits a prompt and answers its receipt; what follows is events. A prompt
// without an id is given one, so that repeating it is safe.
func (c *Client) Prompt(ctx context.Context, session string, prompt protocol.Prompt) (receipt protocol.Receipt, err error) {
	if prompt.ID == "" {
		prompt.ID = c.NewMessageID()
	}
	err = c.do(ctx, request{method: http.MethodPost, path: sessionPath(session, "/prompts"), body: prompt}, &receipt)
	return receipt, err
}

// PromptAndWait admits a prompt and answers what became of it. When the
// connection fails meanwhile, the prompt is repeated and the wait goes on.
func (c *Client) PromptAndWait(ctx context.Context, session string, prompt protocol.Prompt) (answer protocol.PromptAnswer, err error) {
	if prompt.ID == "" {
		prompt.ID = c.NewMessageID()
	}
	err = c.do(ctx, request{
		method: http.MethodPost, path: sessionPath(session, "/prompts"), query: url.Values{"wait": {"settled"}}, body: prompt,
	}, &answer)
	return answer, err
}

// Expand answers what a prompt would be, without admitting it. Nobody is asked for
// anything.
func (c *Client) Expand(ctx context.Context, session string, prompt protocol.Prompt) (expansion protocol.Expansion, err error) {
	err = c.do(ctx, request{method: http.MethodPost, path: sessionPath(session, "/expand"), body: prompt}, &expansion)
	return expansion, err
}

// Commands answers the prompts that were written beforehand.
func (c *Client) Commands(ctx context.Context, in protocol.In) (list protocol.CommandList, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/commands", query: place(in)}, &list)
	return list, err
}

// RunShell runs a command line in a session and answers when it has ended. One without an
// id is given one, so that repeating it is safe. When ctx ends the command goes on.
func (c *Client) RunShell(ctx context.Context, session string, shell protocol.RunShell) (run protocol.ShellRun, err error) {
	if shell.ID == "" {
		shell.ID = c.NewMessageID()
	}
	err = c.do(ctx, request{
		method: http.MethodPost, path: sessionPath(session, "/shell"), query: url.Values{"wait": {"ended"}}, body: shell,
	}, &run)
	return run, err
}

// Inbox answers the prompts that wait.
func (c *Client) Inbox(ctx context.Context, session string) (inbox protocol.Inbox, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(session, "/inbox")}, &inbox)
	return inbox, err
}

// Interrupt stops the session's work and answers when it has stopped.
func (c *Client) Interrupt(ctx context.Context, session string) (receipt protocol.CommandReceipt, err error) {
	err = c.command(ctx, request{method: http.MethodPost, path: sessionPath(session, "/interrupt")}, &receipt)
	return receipt, err
}

// Resume lets the session go on from its transcript.
func (c *Client) Resume(ctx context.Context, session string) (receipt protocol.CommandReceipt, err error) {
	err = c.command(ctx, request{method: http.MethodPost, path: sessionPath(session, "/resume")}, &receipt)
	return receipt, err
}

// Compact asks for a summary in the place of the older history, and does not wait for
// it. The session.compaction.started after the receipt's sequence serves it.
func (c *Client) Compact(ctx context.Context, session string) (receipt protocol.CommandReceipt, err error) {
	err = c.command(ctx, request{method: http.MethodPost, path: sessionPath(session, "/compact")}, &receipt)
	return receipt, err
}

// Events answers a page of a session's events after a cursor; 0 leaves the limit
// to the host.
func (c *Client) Events(ctx context.Context, session, after string, limit int) (page protocol.EventList, err error) {
	query := url.Values{}
	set(query, "after", after)
	setNumber(query, "limit", limit)
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(session, "/events"), query: query}, &page)
	return page, err
}

// Permissions answers the open permissions of a session and those under it, of all
// when it is empty.
func (c *Client) Permissions(ctx context.Context, session string) (list protocol.PermissionList, err error) {
	query := url.Values{}
	set(query, "session", session)
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/permissions", query: query}, &list)
	return list, err
}

// Reply answers a permission. The error has the code already_resolved when another
// answer was first.
func (c *Client) Reply(ctx context.Context, id string, reply protocol.PermissionReply) (receipt protocol.PermissionReceipt, err error) {
	err = c.command(ctx, request{method: http.MethodPost, path: "/v1/permissions/" + url.PathEscape(id) + "/reply", body: reply}, &receipt)
	return receipt, err
}

// Questions answers the open questions of a session and those under it, of all when it
// is empty.
func (c *Client) Questions(ctx context.Context, session string) (list protocol.QuestionList, err error) {
	query := url.Values{}
	set(query, "session", session)
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/questions", query: query}, &list)
	return list, err
}

// Answer answers a question. The error has the code already_resolved when it was
// closed before.
func (c *Client) Answer(ctx context.Context, id string, answer protocol.QuestionAnswer) (receipt protocol.QuestionReceipt, err error) {
	err = c.command(ctx, request{method: http.MethodPost, path: "/v1/questions/" + url.PathEscape(id) + "/answer", body: answer}, &receipt)
	return receipt, err
}

// Dismiss closes a question without an answer, which halts who waits for it.
func (c *Client) Dismiss(ctx context.Context, id string) (receipt protocol.QuestionReceipt, err error) {
	err = c.command(ctx, request{method: http.MethodPost, path: "/v1/questions/" + url.PathEscape(id) + "/dismiss"}, &receipt)
	return receipt, err
}

// Approvals answers what people allowed for always in the project with this root, in
// all when it is empty.
func (c *Client) Approvals(ctx context.Context, root string) (list protocol.ApprovalList, err error) {
	query := url.Values{}
	set(query, "root", root)
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/approvals", query: query}, &list)
	return list, err
}

// RemoveApproval takes an approval back: what it allowed is asked again.
func (c *Client) RemoveApproval(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: "/v1/approvals/" + url.PathEscape(id)}, nil)
}

// Todos answers the session's list of what there is to do.
func (c *Client) Todos(ctx context.Context, session string) (list protocol.TodoList, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: sessionPath(session, "/todos")}, &list)
	return list, err
}

// Agents answers the agents, hidden ones too.
func (c *Client) Agents(ctx context.Context, in protocol.In) (list protocol.AgentList, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/agents", query: place(in)}, &list)
	return list, err
}

// Skills answers the skills that agents may load.
func (c *Client) Skills(ctx context.Context, in protocol.In) (list protocol.SkillList, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/skills", query: place(in)}, &list)
	return list, err
}

func place(in protocol.In) url.Values {
	query := url.Values{}
	set(query, "directory", in.Directory)
	return query
}

// Models answers the models that may be chosen, with what is known of them.
func (c *Client) Models(ctx context.Context, list protocol.ListModels) (models protocol.ModelList, err error) {
	query := url.Values{}
	set(query, "provider", list.Provider)
	if list.Refresh {
		query.Set("refresh", "true")
	}
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/models", query: query}, &models)
	return models, err
}

// Tokens lists the tokens.
func (c *Client) Tokens(ctx context.Context) (list protocol.TokenList, err error) {
	err = c.do(ctx, request{method: http.MethodGet, path: "/v1/tokens"}, &list)
	return list, err
}

// CreateToken makes a token. It is not repeated: a token whose secret was lost on
// the way would stay behind.
func (c *Client) CreateToken(ctx context.Context, token protocol.CreateToken) (created protocol.CreatedToken, err error) {
	err = c.attempt(ctx, request{method: http.MethodPost, path: "/v1/tokens", body: token}, &created)
	return created, err
}

// RevokeToken ends a token and all that is open under it.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id)}, nil)
}

// Ready answers nil when the host can do its work.
func (c *Client) Ready(ctx context.Context) error {
	return c.attempt(ctx, request{method: http.MethodGet, path: "/readyz"}, nil)
}

func sessionPath(id, rest string) string { return "/v1/sessions/" + url.PathEscape(id) + rest }

func set(query url.Values, key, value string) {
	if value != "" {
		query.Set(key, value)
	}
}

func setNumber(query url.Values, key string, value int) {
	if value != 0 {
		query.Set(key, strconv.Itoa(value))
	}
}
