package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plinthhost/plinth/store"
)

// ForkRequest asks for a session that goes on from a message of another one. All but
// Session may be empty.
type ForkRequest struct {
	Session string
	// Message is the last one that both have; all of them when empty.
	Message string
	ID      string
	// Title in the place of the other's with "(fork)" behind it, which nil asks for.
	Title *string
	// Directory to work in; the other's when empty.
	Directory string
}

// Fork makes a session with the place, agent, model, rules and budgets that the other
// has now, and the history that its model was sent at the message. It has totals, an
// inbox and an epoch of its own, and needs the other one no more. A repetition with the
// same ID answers the session that was made. ErrNotFound for an unknown session or
// message, a *ConflictError for an ID in use or a history that is too long.
func (s *Sessions) Fork(ctx context.Context, origin Origin, request ForkRequest) (session Session, created bool, err error) {
	if request.ID == "" {
		request.ID = s.encoder.IDs.New(PrefixSession)
	} else if err := CheckID(PrefixSession, request.ID); err != nil {
		return Session{}, false, err
	} else if session, err = s.forked(ctx, request); !isMissing(err) {
		return session, false, err
	}
	payloads, history, err := s.opening(ctx, request)
	if err != nil {
		return Session{}, false, err
	}
	events, err := s.imports(origin, payloads, history, store.EndOfLog, func(id string) string { return forkedID(request.ID, id) })
	if err != nil {
		return Session{}, false, err
	}
	_, err = s.log.Append(ctx, store.Batch{Aggregate: request.ID, Mode: store.Exactly(-1), Events: events})
	switch {
	case errors.Is(err, store.ErrDeleted):
		return Session{}, false, &ConflictError{ID: request.ID, Reason: "a session that was deleted"}
	case errors.Is(err, store.ErrSequence): // another one of the same id won
		session, err = s.forked(ctx, request)
		return session, false, err
	case err != nil:
		return Session{}, false, fmt.Errorf("fork session: %w", err)
	}
	session, err = s.Get(ctx, request.ID)
	return session, true, err
}

// forked answers the session of the request's ID, if that is what the request asks for.
func (s *Sessions) forked(ctx context.Context, request ForkRequest) (session Session, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		session, err = LoadSession(ctx, tx, request.ID)
		return err
	})
	if err != nil {
		return Session{}, err
	}
	if fork := session.Fork; fork == nil || fork.Session != request.Session || request.Message != "" && fork.Message != request.Message {
		return Session{}, &ConflictError{ID: request.ID, Reason: "another session"}
	}
	return session, nil
}

// opening answers the first events of a fork, and the history that follows them.
func (s *Sessions) opening(ctx context.Context, request ForkRequest) (payloads []Payload, history *passage, err error) {
	var parent Session
	var directories []string
	fork := &Fork{Session: request.Session, Message: request.Message, Seq: math.MaxInt64}
	err = s.view(ctx, request.Session, func(tx store.Tx) error {
		if parent, err = LoadSession(ctx, tx, request.Session); err != nil {
			return err
		}
		if parent.Revert != nil {
			fork.Seq = parent.Revert.Boundary // what is after it is on its way out
		}
		if request.Message != "" {
			message, err := LoadMessage(ctx, tx, request.Session, request.Message)
			if err != nil {
				return err
			}
			fork.Seq = message.Seq
		}
		if history, err = loadPassage(ctx, tx, request.Session, fork.Seq); err != nil {
			return err
		}
		directories, err = LoadDirectories(ctx, tx, request.Session)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if request.Message == "" {
		fork.Seq = -1
		if n := len(history.messages); n > 0 {
			fork.Message, fork.Seq = history.messages[n-1].id, history.messages[n-1].seq
		}
	}
	created := Created{Title: forkTitle(parent.Title), Location: parent.Location, Agent: parent.Agent, Model: parent.Model,
		Rules: parent.Rules, Budgets: parent.Budgets, Fork: fork}
	if request.Title != nil {
		if created.Title, err = cleanTitle(*request.Title); err != nil {
			return nil, nil, err
		}
	}
	if request.Directory != "" {
		if created.Location, err = s.resolve(ctx, request.Directory); err != nil {
			return nil, nil, err
		}
	}
	if created.Slug, err = s.slug(ctx, request.ID); err != nil {
		return nil, nil, err
	}
	payloads = append(payloads, created)
	if len(directories) > 0 && created.Location == parent.Location {
		payloads = append(payloads, DirectoriesRead{Directories: directories})
	}
	return payloads, history, nil
}

// imports makes the events of the payloads, then one of each message. What the prompts
// after answered ask for is not done yet.
func (s *Sessions) imports(origin Origin, payloads []Payload, history *passage, answered int64, name func(id string) string) ([]store.Event, error) {
	events, err := s.encoder.Encode(origin, payloads...)
	if err != nil {
		return nil, err
	}
	now := s.encoder.Clock.Now().UTC().Truncate(time.Millisecond)
	for i := range history.messages {
		message := &history.messages[i]
		open := message.kind == MessageUser && message.seq > answered
		event, err := s.encoder.event(origin, now, MessageImported{}.EventType(), message.imported(name(message.id), open))
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// forkedID is the id that a message has in a fork.
func forkedID(fork, message string) string {
	sum := sha256.Sum256([]byte("forked message\n" + fork + "\n" + message))
	rest := strings.TrimPrefix(message, PrefixMessage)
	head := rest[:min(len(rest), idTimeDigits+idCountDigits)]
	var tail [idRandomDigits]byte
	for i := range tail {
		tail[i] = base62[int(sum[i])%len(base62)]
	}
	return PrefixMessage + head + string(tail[:])
}

const forkSuffix = " (fork)"

// forkTitle marks a title. A session without one has none in a fork either: lists show
// its first prompt.
func forkTitle(title string) string {
	if title == "" {
		return ""
	}
	title = strings.TrimSuffix(title, forkSuffix)
	for utf8.RuneCountInString(title)+len(forkSuffix) > MaxTitle {
		_, size := utf8.DecodeLastRuneInString(title)
		title = title[:len(title)-size]
	}
	return title + forkSuffix
}
