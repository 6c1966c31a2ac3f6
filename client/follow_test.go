package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
)

// TestFollowOverCuts: whatever cuts the connection, the events that are yielded are
// the log, each once and in order.
func TestFollowOverCuts(t *testing.T) {
	t.Parallel()
	for name, types := range map[string][]string{"all": nil, "filtered": {"test.even", "test.end"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t)
			session := h.Session()
			const n, cuts = 1000, 20
			written := make(chan struct{})
			go func() {
				defer close(written)
				for i := range n {
					h.Append(session, []string{"test.even", "test.odd"}[i%2], strings.Repeat("x", 200))
					h.Grow(session, "msg_1", "p", "word ")
				}
				h.Append(session, "test.end", nil)
			}()
			p := startProxy(t, strings.TrimPrefix(h.url, "http://"), cuts)
			c := dial(t, client.Options{Address: "http://" + p.listener.Addr().String(), Token: h.admin})
			retries := 0
			var got []protocol.Event
			options := client.FollowOptions{Types: types, Deltas: true, Retry: func(error, time.Duration) { retries++ }}
			for update, err := range c.Follow(t.Context(), session, options) {
				if err != nil {
					t.Fatalf("after %d events: %v", len(got), err)
				}
				if update.Part != nil && strings.Replace(update.Part.Text, "word ", "", -1) != "" {
					t.Fatalf("part %q", update.Part.Text)
				}
				if update.Event != nil {
					got = append(got, *update.Event)
					if update.Event.Type == "test.end" && retries >= cuts {
						break
					}
					if update.Event.Type == "test.end" {
						h.Append(session, "test.end", nil) // until every cut was made
					}
				}
			}
			<-written
			var want []protocol.Event
			for _, event := range h.Events(session) {
				if types == nil || event.Type != "test.odd" && event.Type != "session.created" {
					want = append(want, event)
				}
			}
			if len(got) != len(want) {
				t.Fatalf("%d events were yielded, the log has %d", len(got), len(want))
			}
			for i := range want {
				if got[i].Seq != want[i].Seq || got[i].ID != want[i].ID {
					t.Fatalf("event %d is %d %s, want %d %s", i, got[i].Seq, got[i].ID, want[i].Seq, want[i].ID)
				}
			}
			t.Logf("%d connections were lost", retries)
		})
	}
}

func TestFollowParts(t *testing.T) {
	t.Parallel()
	h := start(t)
	session := h.Session()
	h.Grow(session, "msg_1", "a", "early ")
	c := dial(t, client.Options{Address: "unix:" + h.socket})
	live, last := false, ""
	for update, err := range c.Follow(t.Context(), session, client.FollowOptions{Deltas: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if update.Live {
			live = true
		}
		if part := update.Part; part != nil {
			if !live || !strings.HasSuffix(part.Text, part.Added) || !strings.HasPrefix(part.Text, last) {
				t.Errorf("part %+v after %q, live %v", part, last, live)
			}
			switch last = part.Text; last {
			case "early ":
				h.Grow(session, "msg_1", "a", "bird")
			case "early bird":
				h.EndPart(session, "msg_1", "a")
			}
		}
		if update.Event != nil && update.Event.Type == "session.text.ended" {
			break
		}
	}
	if last != "early bird" {
		t.Errorf("the part was %q", last)
	}
}

// TestFollowOverRestart: a host that goes away and comes back is followed on.
func TestFollowOverRestart(t *testing.T) {
	t.Parallel()
	h := start(t)
	session := h.Session()
	c := dial(t, client.Options{Address: "unix:" + h.socket})
	retried := make(chan error, 1000)
	seen := 0
	options := client.FollowOptions{Retry: func(err error, _ time.Duration) {
		select {
		case retried <- err:
		default:
		}
	}}
	for update, err := range c.Follow(t.Context(), session, options) {
		if err != nil {
			t.Fatal(err)
		}
		if update.Event != nil {
			seen++
		}
		if update.Live && seen == 1 {
			if err := h.server.Close(); err != nil {
				t.Fatal(err)
			}
			h.Append(session, "test.away", nil)
			startWith(t, h.Memory, h.socket)
		}
		if seen == 2 {
			break
		}
	}
	if len(retried) == 0 {
		t.Error("no connection was lost")
	}
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := dial(t, client.Options{Address: "unix:" + h.socket})
	session := h.Session()
	follow := func(ctx context.Context, c *client.Client, session, after string, each func(client.Update)) error {
		for update, err := range c.Follow(ctx, session, client.FollowOptions{After: after}) {
			if err != nil {
				return err
			}
			each(update)
		}
		return nil
	}
	nothing := func(client.Update) {}

	if err := follow(t.Context(), c, "ses_none", "", nothing); !errors.Is(err, &protocol.Error{Code: protocol.NotFound}) {
		t.Errorf("unknown session: %v", err)
	}
	if err := follow(t.Context(), c, session, "nonsense", nothing); !errors.Is(err, &protocol.Error{Code: protocol.BadRequest}) {
		t.Errorf("bad cursor: %v", err)
	}
	var reset *protocol.ResetError
	if err := follow(t.Context(), c, session, protocol.NewCursor("log_before", 0, "").String(), nothing); !errors.As(err, &reset) || reset.Reason != protocol.ResetLog {
		t.Errorf("foreign cursor: %v", err)
	}
	if err := follow(t.Context(), c, session, reset.First, func(u client.Update) {
		if u.Live {
			h.Delete(session)
		}
	}); !isEnded(err, protocol.EndDeleted) {
		t.Errorf("deleted: %v", err)
	}

	session = h.Session()
	token, err := h.Create(t.Context(), server.Caller{}, protocol.CreateToken{Scopes: []protocol.Scope{protocol.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	remote := dial(t, client.Options{Address: h.url, Token: token.Secret})
	if err := follow(t.Context(), remote, session, "", func(u client.Update) {
		if u.Live {
			if err := h.Revoke(t.Context(), token.ID); err != nil {
				t.Error(err)
			}
		}
	}); !isEnded(err, protocol.EndRevoked) {
		t.Errorf("revoked: %v", err)
	}
	if err := follow(t.Context(), remote, session, "", nothing); !errors.Is(err, &protocol.Error{Code: protocol.Unauthenticated}) {
		t.Errorf("with a revoked token: %v", err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	if err := follow(ctx, c, session, "", func(u client.Update) {
		if u.Live {
			cancel(why)
		}
	}); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
	bound, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if err := h.Unwatched(bound); err != nil {
		t.Errorf("what was followed is still watched: %v", err)
	}
}

func isEnded(err error, reason protocol.EndReason) bool {
	var ended *client.EndedError
	return errors.As(err, &ended) && ended.Reason == reason
}

// TestFollowOfASlowConsumer: a consumer that takes its time past several
// heartbeats loses nothing.
func TestFollowOfASlowConsumer(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.Heartbeat = 20 * time.Millisecond })
	session := h.Session()
	for range 50 {
		h.Append(session, "test.number", strings.Repeat("x", 100_000))
	}
	c := dial(t, client.Options{Address: "unix:" + h.socket})
	next := int64(0)
	for update, err := range c.Follow(t.Context(), session, client.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if update.Event == nil {
			continue
		}
		if update.Event.Seq != next {
			t.Fatalf("event %d, want %d", update.Event.Seq, next)
		}
		next++
		if next%20 == 0 {
			<-time.After(100 * time.Millisecond) // the work of the consumer
		}
		if next == 51 {
			break
		}
	}
}
