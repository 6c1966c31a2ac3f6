package session

import (
	"strings"
	"sync"

	"github.com/plinthhost/plinth/store"
)

// Live holds the text of the parts that are streaming now, and nothing else. It
// is a state, not a queue: a subscriber derives fragments from its own offsets,
// so a slow one costs nothing and a late one starts with the whole.
type Live struct {
	mu       sync.Mutex
	sessions map[string]*liveSession
}

type liveSession struct {
	parts    []*livePart
	watchers map[*store.Wake]struct{}
}

type livePart struct {
	message, id string
	kind        PartKind
	text        strings.Builder // its String shares the bytes, so a look costs no copy
}

// PartKind is what streams in a part.
type PartKind string

// The kinds.
const (
	LiveText         PartKind = "text"
	LiveReasoning    PartKind = "reasoning"
	LiveToolInput    PartKind = "tool_input"
	LiveToolProgress PartKind = "tool_progress"
	LiveSummary      PartKind = "summary" // of a compaction
)

// OpenPart is one part that is streaming.
type OpenPart struct {
	Message string
	Part    string
	Kind    PartKind
	// Text is everything so far.
	Text string
}

// NewLive makes an empty state.
func NewLive() *Live { return &Live{sessions: map[string]*liveSession{}} }

// Append adds text to a part, which it opens when it is new.
func (l *Live) Append(session, message, part string, kind PartKind, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session(session)
	p := s.find(message, part, kind)
	if p == nil {
		p = &livePart{message: message, id: part, kind: kind}
		s.parts = append(s.parts, p)
	}
	p.text.WriteString(text)
	s.poke()
}

// End removes a part: the durable event that carries it whole is readable now.
func (l *Live) End(session, message, part string, kind PartKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[session]
	if s == nil {
		return
	}
	for i, p := range s.parts {
		if p.message == message && p.id == part && p.kind == kind {
			s.parts = append(s.parts[:i], s.parts[i+1:]...)
			break
		}
	}
	s.poke()
	l.prune(session, s)
}

// Open answers the parts that are streaming, in the order they began.
func (l *Live) Open(session string) []OpenPart {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[session]
	if s == nil {
		return nil
	}
	open := make([]OpenPart, len(s.parts))
	for i, p := range s.parts {
		open[i] = OpenPart{Message: p.message, Part: p.id, Kind: p.kind, Text: p.text.String()}
	}
	return open
}

// Watch registers for changes of a session's open parts.
func (l *Live) Watch(session string) *store.Wake {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session(session)
	var wake *store.Wake
	wake = store.NewWake(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(s.watchers, wake)
		l.prune(session, s)
	})
	s.watchers[wake] = struct{}{}
	return wake
}

func (l *Live) session(id string) *liveSession {
	s := l.sessions[id]
	if s == nil {
		s = &liveSession{watchers: map[*store.Wake]struct{}{}}
		l.sessions[id] = s
	}
	return s
}

// prune forgets a session nobody streams in or watches. l.mu is held.
func (l *Live) prune(id string, s *liveSession) {
	if len(s.parts) == 0 && len(s.watchers) == 0 {
		delete(l.sessions, id)
	}
}

func (s *liveSession) find(message, part string, kind PartKind) *livePart {
	for _, p := range s.parts {
		if p.message == message && p.id == part && p.kind == kind {
			return p
		}
	}
	return nil
}

func (s *liveSession) poke() {
	for wake := range s.watchers {
		wake.Poke()
	}
}
