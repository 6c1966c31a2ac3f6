package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing/synctest"
	"time"

	"github.com/plinthhost/plinth/session"
)

// do makes a step happen and answers in words what it came to. strict: nothing else
// happens beside it, so the reference knows what the answer must be.
func (w *world) do(ctx context.Context, s step, strict bool) (words string, err error) {
	switch s.Do {
	case "weather", "swap", "remove", "restart", "crash":
		w.mu.Lock()
		w.unsteady = true
		w.mu.Unlock()
	}
	switch s.Do {
	case "steer", "queue", "retry", "clash":
		return w.prompt(ctx, s, strict)
	case "cancel", "edit", "redeliver", "reorder":
		return w.reviseInput(ctx, s, strict)
	case "allow", "always", "reject", "correct":
		return w.reply(ctx, s, strict)
	case "answer", "dismiss":
		return w.answer(ctx, s, strict)
	case "interrupt":
		return w.interrupt(ctx, s)
	case "resume":
		id := w.session(s)
		_, err := w.host.sessions.Resume(ctx, session.System(), id)
		return id, err
	case "agent", "model", "move", "rules":
		return w.change(ctx, s)
	case "release":
		return w.release(s.Item), nil
	case "weather":
		at := s.Other % len(sources)
		w.skies[at].Store(int64(s.Item % 5))
		return fmt.Sprintf("%s is %d", sources[at], s.Item%5), nil
	case "summary":
		w.summary.Store(int64(s.Item % len(summaries)))
		return summaries[s.Item%len(summaries)], nil
	case "compact", "fork", "revert", "clear", "commit", "prune", "keep", "rename", "archive", "erase":
		return w.alter(ctx, s, strict)
	case "swap", "remove":
		plugin := plugins[s.Item%len(plugins)]
		if s.Do == "remove" {
			w.host.unplug(plugin)
			return plugin, nil
		}
		w.revise(plugin)
		w.host.plug(plugin)
		return plugin + " " + w.revision(plugin), nil
	case "wait":
		time.Sleep(time.Hour) // of the bubble's time
		return "an hour", nil
	case "restart":
		return w.restart(ctx, s)
	case "crash":
		return w.crash(ctx, s)
	}
	return "", fmt.Errorf("there is no step %q", s.Do)
}

// timely runs what may wait for others, and fails when it waits for ever.
func timely(run func() (string, error)) (words string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		words, err = run()
	}()
	select {
	case <-done:
		return words, err
	case <-time.After(24 * time.Hour):
		return "", errors.New("it does not return")
	}
}

func (w *world) session(s step) string { return w.history.order[s.Session%len(w.history.order)] }

// openRequest answers a request that is open, a question or a permission.
func (w *world) openRequest(s step, isQuestion bool) *request {
	var open []*request
	for _, r := range w.history.asked {
		if r.open && (r.action == "") == isQuestion {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return open[s.Item%len(open)]
}

func (w *world) reply(ctx context.Context, s step, strict bool) (string, error) {
	r := w.openRequest(s, false)
	if r == nil {
		return "nothing is asked", nil
	}
	reply, feedback := session.ReplyReject, ""
	switch s.Do {
	case "allow":
		reply = session.ReplyOnce
	case "always":
		reply = session.ReplyAlways
	case "correct":
		feedback = "do it otherwise"
	}
	if strict && reply == session.ReplyReject { // it closes whatever else is open
		w.closing = nil
		for _, other := range w.history.asked {
			if other.open && other.session == r.session {
				w.closing = append(w.closing, other.id)
			}
		}
	}
	_, err := w.host.permissions.Reply(ctx, session.System(), r.id, reply, feedback)
	words := fmt.Sprintf("%s about %s in %s: %v", r.id, r.action, r.session, err)
	if strict {
		return words, err
	}
	return words, unless(err, expected)
}

func (w *world) answer(ctx context.Context, s step, strict bool) (string, error) {
	r := w.openRequest(s, true)
	if r == nil {
		return "nothing is asked", nil
	}
	var err error
	if s.Do == "answer" {
		_, err = w.host.permissions.Answer(ctx, session.System(), r.id, [][]string{{"this one"}})
	} else {
		_, err = w.host.permissions.Dismiss(ctx, session.System(), r.id)
	}
	words := fmt.Sprintf("%s in %s: %v", r.id, r.session, err)
	if strict {
		return words, err
	}
	return words, unless(err, expected)
}

// interrupt holds that nothing goes on that was begun before.
func (w *world) interrupt(ctx context.Context, s step) (string, error) {
	id := w.session(s)
	seq, err := w.host.sessions.Interrupt(ctx, session.System(), id)
	if err != nil {
		return id, err
	}
	activity, err := w.host.sessions.Activity(ctx, id)
	if err == nil && activity != nil && activity.Started < seq {
		err = fmt.Errorf("the activity %+v is there after the interrupt at %d", *activity, seq)
	}
	return fmt.Sprintf("%s at %d", id, seq), err
}

func (w *world) change(ctx context.Context, s step) (words string, err error) {
	id, sessions := w.session(s), w.host.sessions
	switch s.Do {
	case "agent":
		words = []string{"build", "plan", "build"}[s.Item%3]
		_, err = sessions.SwitchAgent(ctx, session.System(), id, words)
	case "model":
		ref := session.ModelRef{Provider: scripted, Model: []string{"m1", "m2"}[s.Item%2]}
		if s.Item == 5 {
			ref.Provider = gone
		}
		words = ref.String()
		_, err = sessions.SwitchModel(ctx, session.System(), id, ref)
	case "move":
		words = []string{home, elsewhere}[s.Item%2]
		_, err = sessions.Move(ctx, session.System(), id, words)
	default:
		rules := ruleSets[s.Item%len(ruleSets)]
		words = fmt.Sprint(rules)
		_, err = sessions.SetRules(ctx, session.System(), id, rules)
	}
	return id + " " + words, err
}

// together does steps at the same time.
func (w *world) together(ctx context.Context, parts []step) (string, error) {
	words := make([]string, len(parts))
	errs := make([]error, len(parts))
	erased := slices.ContainsFunc(parts, func(part step) bool { return part.Do == "erase" })
	return timely(func() (string, error) {
		done := make(chan struct{}, len(parts))
		for i, part := range parts {
			go func() {
				defer func() { done <- struct{}{} }()
				words[i], errs[i] = w.do(ctx, part, false)
				errs[i] = unless(errs[i], func(err error) bool { return err == nil || erased && isGone(err) })
				words[i] = "\n        " + part.Do + " " + words[i]
			}()
		}
		for range parts {
			<-done
		}
		text := ""
		for _, word := range words {
			text += word
		}
		return text, errors.Join(errs...)
	})
}

// settle lets everything come to rest that needs neither time nor a person.
func settle() { synctest.Wait() }
