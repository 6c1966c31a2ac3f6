package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

const (
	// titleTime bounds one request, and maxTitling how many are made at a time; what
	// comes beyond is tried when the session's next activity completes.
	titleTime  = time.Minute
	maxTitling = 8
	// titleTokens bounds what a model writes, where the agent does not say: a title, and
	// some thought before it.
	titleTokens = 512
	// titlePrompt is how much a model reads of the first prompt, and titleAnswer how much
	// is read of its answer, in bytes.
	titlePrompt = 8 << 10
	titleAnswer = 4 << 10
)

// Named records a title, unless the session has one. *session.Sessions is one.
type Named interface {
	NameUntitled(ctx context.Context, session string, renamed session.Renamed) error
}

// Titler gives sessions without a title one, by a model, beside their work. What fails
// is logged and nothing else: a session goes without.
type Titler struct {
	runner *Runner
	named  Named
	model  *session.ModelRef
	ctx    context.Context // of every request
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	working map[string]bool // by session
	closed  bool
}

// NewTitler makes one that asks the model, or, when it is nil, that of the agent title,
// or else the session's.
func NewTitler(runner *Runner, named Named, model *session.ModelRef) *Titler {
	ctx, cancel := context.WithCancel(context.Background())
	return &Titler{runner: runner, named: named, model: model, ctx: ctx, cancel: cancel, working: map[string]bool{}}
}

// Consider gives the session a title in the background, if it has none and is nobody's
// child. It does not wait.
func (t *Titler) Consider(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.working[id] || len(t.working) >= maxTitling {
		return
	}
	t.working[id] = true
	t.group.Go(func() {
		defer func() {
			t.mu.Lock()
			delete(t.working, id)
			t.mu.Unlock()
		}()
		if err := t.title(id); err != nil && t.ctx.Err() == nil {
			t.runner.Logger.Warn("a session gets no title", "session", id, "error", err)
		}
	})
}

// Wait returns when every title that was begun has its end.
func (t *Titler) Wait() { t.group.Wait() }

// Close gives up the titles that are on their way, and waits for that. Safe twice.
func (t *Titler) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.group.Wait()
}

func (t *Titler) title(id string) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			t.runner.Logger.Error("a title's request panicked", "session", id, "panic", broken, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", broken)
		}
	}()
	ctx, cancel := context.WithTimeout(t.ctx, titleTime)
	defer cancel()
	var lineage []session.Session
	var prompt string
	err = t.runner.Log.View(ctx, func(tx store.Tx) (err error) {
		if lineage, err = session.LoadLineage(ctx, tx, id); err == nil {
			prompt, err = firstPrompt(ctx, tx, id)
		}
		return err
	})
	if errors.Is(err, session.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil || lineage[0].Title != "" || lineage[0].Parent != "" || prompt == "" {
		return err
	}
	renamed, err := t.runner.titleOf(ctx, lineage, prompt, t.model)
	if err != nil || renamed.Title == "" {
		return err
	}
	return t.named.NameUntitled(ctx, id, renamed)
}

// firstPrompt is the beginning of what a person asked first; "" when nobody did.
func firstPrompt(ctx context.Context, tx store.Tx, id string) (string, error) {
	messages, err := session.LoadMessages(ctx, tx, id, -1, 50)
	if err != nil {
		return "", err
	}
	for _, message := range messages {
		if message.Type == session.MessageUser && message.Prompt.Text != "" {
			text := message.Prompt.Text
			return strings.ToValidUTF8(text[:min(len(text), titlePrompt)], ""), nil
		}
	}
	return "", nil
}

// titleOf asks the model. The answer has no title when a budget is used up, or there is no
// agent for it.
func (r *Runner) titleOf(ctx context.Context, lineage []session.Session, prompt string, model *session.ModelRef) (session.Renamed, error) {
	d := &drain{Runner: r, session: lineage[0].ID}
	t := &turn{drain: d, activity: newActivity(d, session.OpenedByPrompt, promoteNothing), pin: r.Registries.Pin(lineage[0].Location.Root),
		current: lineage[0], lineage: lineage}
	defer t.pin.Release()
	agent, known := r.Agents.Agent(session.AgentTitle)
	if !known {
		return session.Renamed{}, nil
	}
	t.agent = agent
	if reached, _, err := t.reached(ctx, t.current); reached != nil || err != nil {
		return session.Renamed{}, err
	}
	switch {
	case model != nil:
		t.current.Model = *model
	case agent.Model != nil:
		t.current.Model = *agent.Model
	}
	if err := t.chooseModel(ctx); err != nil {
		return session.Renamed{}, err
	}
	t.request = t.titleRequest(prompt)
	if err := t.transformRequest(ctx); err != nil {
		return session.Renamed{}, err
	}
	text, usage, err := t.ask(ctx)
	if err != nil {
		return session.Renamed{}, err
	}
	renamed := session.Renamed{Title: cleanTitle(text), Auto: true, Usage: usage}
	if usage != nil {
		renamed.Cost = t.model.Cost(*usage)
	}
	if renamed.Title == "" {
		return renamed, errors.New("the model answered with no title")
	}
	return renamed, nil
}

func (t *turn) titleRequest(prompt string) session.ModelRequest {
	generation, request := t.controls()
	if t.agent.Generation.MaxTokens == nil {
		most := int64(titleTokens)
		generation.MaxTokens = &most
	}
	request.Purpose, request.Session, request.Agent, request.Model = session.PurposeTitle, t.session, t.agent.Name, t.current.Model
	request.Generation, request.ToolChoice = generation, "none"
	if t.agent.System != "" {
		request.System = []session.TextPart{{ID: "agent", Text: t.agent.System}}
	}
	request.Messages = []session.ModelMessage{textMessage("first-prompt", session.RoleUser, prompt)}
	return request
}

// ask makes the request and answers the text; what else a model says is left out.
func (t *turn) ask(ctx context.Context) (text string, usage *session.Usage, err error) {
	watched, watchdog := t.watch(ctx)
	defer watchdog.stop()
	var answer strings.Builder
	finished := false
	for event, err := range t.provider.Stream(watched, t.request) {
		watchdog.pause()
		if err != nil {
			return "", nil, err
		}
		switch event.Type {
		case session.EventTextDelta:
			if answer.Len() < titleAnswer {
				answer.WriteString(event.Text)
			}
		case session.EventUsage:
			spent := clamp(event.Usage)
			usage = &spent
		case session.EventFinish:
			finished = true
		}
		watchdog.resume()
	}
	if cause := context.Cause(watched); cause != nil {
		return "", nil, cause
	}
	if !finished {
		return "", nil, errors.New("the provider's answer ended without saying that it is complete")
	}
	return answer.String(), usage, nil
}

// maxTitle bounds a title, in characters.
const maxTitle = 100

// cleanTitle answers the first line with words in it, without what models put around a
// title.
func cleanTitle(text string) string {
	for line := range strings.Lines(strings.ToValidUTF8(text, "")) {
		line = strings.Map(func(r rune) rune {
			switch {
			case unicode.IsSpace(r):
				return ' '
			case !unicode.IsPrint(r):
				return -1
			}
			return r
		}, line)
		line = strings.Join(strings.Fields(line), " ")
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, "#* "), "Title:"); ok {
			line = rest
		}
		line = strings.TrimSpace(strings.Trim(line, "\"'`“”„«»‘’*_# "))
		if !strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			continue
		}
		if runes := []rune(line); len(runes) > maxTitle {
			line = strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
		}
		return line
	}
	return ""
}
