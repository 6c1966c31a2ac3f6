package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/plinthhost/plinth/store"
)

// Limits bound what may wait in the inbox of one session.
type Limits struct {
	Pending int // prompts
	Steers  int // those among them that steer
}

// DefaultLimits is what design/session.md decides.
func DefaultLimits() Limits { return Limits{Pending: 256, Steers: 32} }

func (l Limits) orDefault() Limits {
	def := DefaultLimits()
	if l.Pending == 0 {
		l.Pending = def.Pending
	}
	if l.Steers == 0 {
		l.Steers = def.Steers
	}
	return l
}

// check refuses one more prompt of that delivery.
func (l Limits) check(waiting Backlog, delivery Delivery) error {
	if waiting.Pending >= l.Pending {
		return fmt.Errorf("%w: %d prompts wait in this session, the limit; wait until it has taken some, or cancel some", ErrBusy, waiting.Pending)
	}
	return l.checkSteer(waiting, delivery)
}

func (l Limits) checkSteer(waiting Backlog, delivery Delivery) error {
	if delivery == Steer && waiting.Steers >= l.Steers {
		return fmt.Errorf("%w: %d steering prompts wait in this session, the limit; send it with delivery queue, or wait until the session has taken them",
			ErrBusy, waiting.Steers)
	}
	return nil
}

// inboxLocks keep what is read of a session and what is appended because of it
// together, against the other commands of this process. Sessions share them by hash.
type inboxLocks struct {
	seed    maphash.Seed
	stripes [256]sync.Mutex
}

func newInboxLocks() *inboxLocks { return &inboxLocks{seed: maphash.MakeSeed()} }

func (l *inboxLocks) lock(session string) (unlock func()) {
	stripe := &l.stripes[maphash.String(l.seed, session)%uint64(len(l.stripes))]
	stripe.Lock()
	return stripe.Unlock
}

// PromptRequest asks for the admission of a prompt. An empty ID is made; Delivery
// is Steer when empty.
type PromptRequest struct {
	ID       string
	Session  string
	Prompt   Prompt
	Delivery Delivery
	// AdmitOnly leaves the prompt for a later wake or resume.
	AdmitOnly bool
	// Sent is the JSON of what the client sent, where Prompt was made of it: an exact
	// retry repeats Sent, and Prompt may differ. Nil when Prompt is what was sent.
	Sent json.RawMessage
}

// digest is what an exact retry repeats.
func (r PromptRequest) digest(canonical []byte) (string, error) {
	if len(r.Sent) == 0 {
		return admissionDigest(canonical, r.Delivery), nil
	}
	sent, err := CanonicalJSON(r.Sent)
	if err != nil {
		return "", fmt.Errorf("%w: what was sent: %w", ErrInvalid, err)
	}
	return admissionDigest(append([]byte("sent "), sent...), r.Delivery), nil
}

// identified is the request with what it leaves out: how it joins, and its id.
func (s *Sessions) identified(request PromptRequest) (PromptRequest, error) {
	if request.Delivery == "" {
		request.Delivery = Steer
	}
	if err := request.Delivery.check(); err != nil {
		return request, err
	}
	if request.ID == "" {
		request.ID = s.encoder.IDs.New(PrefixMessage)
		return request, nil
	}
	return request, CheckID(PrefixMessage, request.ID)
}

// Admit records the prompt durably and answers its receipt; nothing has run when
// it returns. An exact retry answers the stored receipt, with what became of it
// since, and wakes again while it waits and no interrupt came; the same id with another session, body or
// delivery is a *ConflictError. ErrBusy when the inbox is full.
func (s *Sessions) Admit(ctx context.Context, origin Origin, request PromptRequest) (Input, error) {
	request, err := s.identified(request)
	if err != nil {
		return Input{}, err
	}
	canonical, err := request.Prompt.checked()
	if err != nil {
		return Input{}, err
	}
	digest, err := request.digest(canonical)
	if err != nil {
		return Input{}, err
	}
	input, known, err := s.admitted(ctx, request)
	if err == nil && !known {
		input, err = s.admit(ctx, origin, request, digest)
	}
	if err != nil {
		return Input{}, err
	}
	return s.repeated(ctx, origin, request, input, digest)
}

// Retry is Admit of a request whose Sent was admitted before: it answers that receipt,
// or another one's conflict. known is false when nothing was admitted under the id: then
// Prompt may be made of Sent. By now it need not have a text; what else it has is
// checked, so that nothing is done for a prompt that would be refused.
func (s *Sessions) Retry(ctx context.Context, origin Origin, request PromptRequest) (input Input, known bool, err error) {
	if request, err = s.identified(request); err != nil {
		return Input{}, false, err
	}
	digest, err := request.digest(nil)
	if err != nil {
		return Input{}, false, err
	}
	if input, known, err = s.admitted(ctx, request); err != nil {
		return Input{}, false, err
	}
	if known {
		input, err = s.repeated(ctx, origin, request, input, digest)
		return input, true, err
	}
	prompt := request.Prompt
	if prompt.Text == "" {
		prompt.Text = "?"
	}
	if _, err := prompt.checked(); err != nil {
		return Input{}, false, err
	}
	prompt.Files = nil
	if err := s.checkPrompt(ctx, request.Session, prompt); err != nil {
		return Input{}, false, err
	}
	return Input{}, false, s.view(ctx, request.Session, func(tx store.Tx) error {
		waiting, err := LoadBacklog(ctx, tx, request.Session)
		if err != nil {
			return err
		}
		return s.options.Limits.check(waiting, request.Delivery)
	})
}

// admitted finds what was admitted under the request's id.
func (s *Sessions) admitted(ctx context.Context, request PromptRequest) (input Input, known bool, err error) {
	err = s.view(ctx, request.Session, func(tx store.Tx) error {
		input, err = LoadInput(ctx, tx, request.ID)
		if isMissing(err) {
			return nil
		}
		known = err == nil
		return err
	})
	return input, known, err
}

// repeated answers the receipt of an admission that the request is, and wakes for it.
func (s *Sessions) repeated(ctx context.Context, origin Origin, request PromptRequest, input Input, digest string) (Input, error) {
	if reason := differs(input, request, digest); reason != "" {
		return Input{}, &ConflictError{ID: request.ID, Reason: reason}
	}
	if request.AdmitOnly || !input.waits() {
		return input, nil
	}
	return s.wake(ctx, origin, input)
}

// admit appends the admission. A race that another request of the same id won
// answers the winner's row.
func (s *Sessions) admit(ctx context.Context, origin Origin, request PromptRequest, digest string) (Input, error) {
	if err := s.checkPrompt(ctx, request.Session, request.Prompt); err != nil {
		return Input{}, err
	}
	defer s.inboxes.lock(request.Session)()
	var known *Input
	var waiting Backlog
	err := s.log.View(ctx, func(tx store.Tx) error {
		input, err := LoadInput(ctx, tx, request.ID)
		if err == nil {
			known = &input
		}
		if !isMissing(err) {
			return err
		}
		waiting, err = LoadBacklog(ctx, tx, request.Session)
		return err
	})
	switch {
	case err != nil:
		return Input{}, err
	case known != nil:
		return *known, nil
	}
	if err := s.options.Limits.check(waiting, request.Delivery); err != nil {
		return Input{}, err
	}
	admitted := PromptAdmitted{Message: request.ID, Prompt: request.Prompt, Delivery: request.Delivery, Wake: !request.AdmitOnly}
	if len(request.Sent) > 0 {
		admitted.Sent = digest
	}
	_, err = s.append(ctx, origin, request.Session, store.Any(), admitted)
	var conflict *ConflictError
	switch {
	case errors.As(err, &conflict): // in another session, or another process
		input, loadErr := s.Input(ctx, request.ID)
		if errors.Is(loadErr, ErrNotFound) {
			return Input{}, conflict
		}
		return input, loadErr
	case err != nil:
		return Input{}, fmt.Errorf("admit prompt: %w", err)
	}
	return s.Input(ctx, request.ID)
}

// checkPrompt checks what depends on more than the prompt itself. An exact retry
// does not come here: what was admitted stays so.
func (s *Sessions) checkPrompt(ctx context.Context, session string, prompt Prompt) error {
	if prompt.Agent != "" {
		if err := s.checkAgent("prompt.agent", prompt.Agent, s.placeOf(ctx, session)); err != nil {
			return err
		}
	}
	if err := s.checkPromptModel(ctx, session, prompt); err != nil {
		return err
	}
	switch {
	case len(prompt.Files) == 0:
		return nil
	case s.options.Files == nil:
		return fmt.Errorf("%w: prompt.files is not supported by this host; leave it out", ErrInvalid)
	}
	return s.options.Files(ctx, prompt.Files)
}

// checkPromptModel checks the model that the prompt chooses. A variant alone is of the
// session's model.
func (s *Sessions) checkPromptModel(ctx context.Context, session string, prompt Prompt) error {
	if model := prompt.ModelRef(); model != nil {
		return s.checkModel(ctx, "prompt.model", *model)
	}
	if prompt.Variant == "" {
		return nil
	}
	current, err := s.Get(ctx, session)
	if err != nil {
		return err
	}
	current.Model.Variant = prompt.Variant
	return s.checkModel(ctx, "prompt.variant", current.Model)
}

// differs says what an admitted prompt is that the request does not repeat exactly. It
// is compared with what was admitted, whatever became of it since.
func differs(input Input, request PromptRequest, digest string) string {
	if input.Session != request.Session {
		return "a prompt of another session"
	}
	admitted := input.Digest
	if admitted == "" { // admitted before digests were kept; it could not be edited then
		stored, err := input.Prompt.Canonical()
		if err != nil {
			return "a prompt that cannot be compared"
		}
		admitted = admissionDigest(stored, input.Delivery)
	}
	if admitted != digest {
		return "another prompt, or one with another delivery"
	}
	return ""
}

// wake makes the request for execution durable when the admission did not ask for
// it, once, and tells the coordinator.
func (s *Sessions) wake(ctx context.Context, origin Origin, input Input) (Input, error) {
	if input.Wake < 0 {
		var err error
		if input, err = s.woken(ctx, origin, input.ID, input.Session); err != nil {
			return Input{}, fmt.Errorf("wake prompt: %w", err)
		}
	}
	if input.waits() {
		s.execution.Wake(input.Session, input.Wake)
	}
	return input, nil
}

func (s *Sessions) woken(ctx context.Context, origin Origin, id, session string) (Input, error) {
	defer s.inboxes.lock(session)()
	input, err := s.Input(ctx, id)
	if err != nil || input.Wake >= 0 || !input.waits() {
		return input, err
	}
	origin.Cause = id
	_, err = s.append(ctx, origin, session, store.Any(), PromptWoken{Message: id})
	var conflict *ConflictError
	if err != nil && !errors.As(err, &conflict) { // a conflict: it was promoted meanwhile
		return Input{}, err
	}
	return s.Input(ctx, id)
}

// Input answers one admitted prompt; ErrNotFound when there is none.
func (s *Sessions) Input(ctx context.Context, id string) (input Input, err error) {
	err = s.log.View(ctx, func(tx store.Tx) error {
		input, err = LoadInput(ctx, tx, id)
		return err
	})
	return input, err
}

// Inbox answers the prompts that wait, in the order of the inbox.
func (s *Sessions) Inbox(ctx context.Context, session string) (pending []Input, err error) {
	err = s.view(ctx, session, func(tx store.Tx) error {
		pending, err = LoadPending(ctx, tx, session)
		return err
	})
	return pending, err
}
