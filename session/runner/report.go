package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/epoch"
	"github.com/plinthhost/plinth/store"
)

// bytesPerToken is what a token of English or of code has, about. No model's own
// tokenizer is at hand here.
const bytesPerToken = 4

// Report tells what the next request of a session would be made of, were it made now.
type Report struct {
	// Epoch is the sequence that began the context epoch, -1 when the next turn begins one.
	Epoch int64
	// Sources are the parts of the baseline by key, and what transforms and separators add
	// under an empty key; the largest first.
	Sources []Size
	// Tools by name, the largest first, and the messages in their order.
	Tools    []Size
	Messages []MessageSize
	// Total and Context are tokens; Context is that of the model's window, 0 when it is not
	// known.
	Bytes, Total, Context int64
	// Largest is the greatest of all parts, "" when there is none.
	Largest string
	// Unavailable are the keys that could not be sampled, and Blocked those that a new
	// epoch waits for. Held are kept at what was told last because they flap.
	Unavailable, Blocked, Held []string
	// Problem is why there would be no request now, "" when there would be one. The other
	// fields hold what is known nevertheless.
	Problem string
}

// Size is how much of a request a part is.
type Size struct {
	Name   string
	Bytes  int64
	Tokens int64 // estimated: a fourth of the bytes, rounded up
}

// MessageSize is how much of a request a message of the transcript is.
type MessageSize struct {
	ID   string
	Type session.MessageType
	// Pending: it is not recorded yet, a prompt that waits or news of the context.
	Pending bool
	// Media are files in it that are not text; Bytes has nothing of them.
	Media  int
	Bytes  int64
	Tokens int64
}

func sizeOf(name string, bytes int64) Size {
	return Size{Name: name, Bytes: bytes, Tokens: tokens(bytes)}
}

func tokens(bytes int64) int64 { return (bytes + bytesPerToken - 1) / bytesPerToken }

// ContextCounts answers what the contexts of all sessions took since the runner was made.
func (r *Runner) ContextCounts() epoch.Counts { return r.metrics.Counts() }

// Report samples the sources of a session as its next boundary would, and records and
// promotes nothing. Sources and transforms that are plugins are asked.
func (r *Runner) Report(ctx context.Context, id string) (Report, error) {
	quiet := *r
	quiet.metrics = nil // it is no boundary
	d := &drain{Runner: &quiet, session: id}
	w, err := d.window(ctx)
	if err != nil {
		return Report{}, err
	}
	promoted, step, err := d.upcoming(ctx, &w)
	if err != nil {
		return Report{}, err
	}
	t := &turn{drain: d, pin: d.Registries.Pin(w.session.Location.Root)}
	defer t.pin.Release()
	report := Report{Epoch: -1}
	_, err = t.draft(ctx, &w, promoted, step)
	if cause := context.Cause(ctx); cause != nil {
		return Report{}, cause
	}
	if failure, ok := errors.AsType[*session.Failure](err); ok {
		report.Problem = failure.Message
	} else if err != nil {
		return Report{}, err
	}
	report.fill(t, w)
	return report, nil
}

// upcoming applies to the window what the next boundary would promote, and says which
// step it would be.
func (d *drain) upcoming(ctx context.Context, w *window) (promoted []session.Input, step int, err error) {
	kind, step := promotionOf(w.pending), 1
	err = d.Log.View(ctx, func(tx store.Tx) error {
		running, err := session.LoadActivity(ctx, tx, d.session)
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		kind, step = promoteSteers, running.Steps+1
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	promoted = eligible(w.pending, kind)
	if len(promoted) > 0 {
		step = 1
	}
	w.promote(promoted)
	return promoted, step, nil
}

// fill measures what the turn would send of the window.
func (r *Report) fill(t *turn, w window) {
	r.Context = t.model.Context
	r.Blocked, r.Held = t.outcome.Blocked, t.outcome.Held
	for _, o := range t.observed {
		if o.State == session.SourceUnavailable {
			r.Unavailable = append(r.Unavailable, o.Key)
		}
	}
	if w.epoch != nil {
		if w.epoch.Seq != maxSeq {
			r.Epoch = w.epoch.Seq
		}
		r.baseline(*w.epoch)
	}
	for _, tool := range t.request.Tools {
		r.Tools = append(r.Tools, sizeOf(tool.Name, int64(len(tool.Name)+len(tool.Description)+len(tool.Input))))
	}
	r.messages(t.request.Messages, w)
	largestFirst(r.Sources)
	largestFirst(r.Tools)
	r.total()
}

func (r *Report) baseline(epoch session.Epoch) {
	rest := int64(len(epoch.Baseline))
	for key, admitted := range epoch.Snapshot {
		if admitted.Bytes > 0 {
			r.Sources = append(r.Sources, sizeOf(key, int64(admitted.Bytes)))
			rest -= int64(admitted.Bytes)
		}
	}
	if rest > 0 {
		r.Sources = append(r.Sources, sizeOf("", rest))
	}
}

// messages measures a message of the transcript with all that it was lowered to.
func (r *Report) messages(lowered []session.ModelMessage, w window) {
	sizes := map[string]*MessageSize{}
	for _, message := range lowered {
		id, _, _ := strings.Cut(message.ID, "/")
		if sizes[id] == nil {
			sizes[id] = &MessageSize{ID: id}
		}
		for _, part := range message.Parts {
			if part.Type == session.PartMedia {
				sizes[id].Media++
			}
			sizes[id].Bytes += int64(len(part.Text) + len(part.Input) + len(part.Result) + len(part.Metadata))
		}
	}
	for _, message := range w.history {
		size := sizes[message.ID]
		if size == nil {
			continue // nothing of it is sent
		}
		size.Type, size.Pending, size.Tokens = message.Type, message.Seq == maxSeq, tokens(size.Bytes)
		r.Messages = append(r.Messages, *size)
	}
}

func largestFirst(sizes []Size) {
	slices.SortFunc(sizes, func(a, b Size) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
}

// total adds the parts up and finds the largest.
func (r *Report) total() {
	var most int64
	add := func(kind, name string, bytes int64) {
		r.Bytes, r.Total = r.Bytes+bytes, r.Total+tokens(bytes)
		if bytes > most {
			most, r.Largest = bytes, strings.TrimSpace(kind+" "+name)
		}
	}
	for _, source := range r.Sources {
		if source.Name == "" {
			add("text", "of transforms and separators", source.Bytes)
			continue
		}
		add("source", source.Name, source.Bytes)
	}
	for _, tool := range r.Tools {
		add("tool", tool.Name, tool.Bytes)
	}
	for _, message := range r.Messages {
		add("message", message.ID, message.Bytes)
	}
}
