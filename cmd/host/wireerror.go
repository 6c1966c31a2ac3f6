package main

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/bundle"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// wireError puts the kernel's errors into the closed list of codes, with a text for who
// asked. What is not for clients gets a reference, under which the server's log has it.
func wireError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err // the server knows which of its contexts ended
	}
	if wire, ok := errors.AsType[*protocol.Error](err); ok {
		return wire
	}
	if code, text := worded(err); code != "" {
		return protocol.Errorf(code, "%s", text)
	}
	return withheld(err)
}

// worded answers the code and the text of an error that clients may read, "" of others.
func worded(err error) (code protocol.Code, text string) {
	var conflict *session.ConflictError
	var blocked *session.BlockedError
	var model *session.ModelError
	var denied *session.DeniedError
	var file *fsys.Error
	var refused *bundle.FormatError
	var backup *sqlite.BackupError
	switch {
	case undecodable(err), errors.Is(err, store.ErrCorrupt):
		return "", ""
	case errors.As(err, &conflict):
		return protocol.Conflict, conflict.Error()
	case errors.As(err, &blocked):
		return protocol.Unavailable, blocked.Error()
	case errors.As(err, &denied):
		return protocol.Forbidden, denied.Error()
	case errors.As(err, &file):
		return protocol.BadRequest, "location.directory " + file.Error()
	case errors.As(err, &refused):
		return protocol.BadRequest, refused.Error()
	case errors.As(err, &backup):
		return protocol.BadRequest, backup.Error()
	case errors.Is(err, session.ErrInvalid), errors.As(err, &model):
		return protocol.BadRequest, reason(err)
	}
	for _, one := range sentinels {
		switch {
		case !errors.Is(err, one.err):
		case one.text != "":
			return one.code, one.text
		default:
			return one.code, reason(err) + one.more
		}
	}
	return "", ""
}

// sentinels are the errors without fields: the code they have, and the text in the place
// of the error's own, or more behind it.
var sentinels = [...]struct {
	err        error
	code       protocol.Code
	text, more string
}{
	{err: session.ErrNotFound, code: protocol.NotFound},
	{err: store.ErrNotFound, code: protocol.NotFound},
	{err: session.ErrResolved, code: protocol.AlreadyResolved, more: "; the first answer counts"},
	{err: session.ErrNoSnapshot, code: protocol.Gone, text: "the files are not kept in that state any more; ask for the changes without patches, and of a revert, " + session.RevertWithoutFiles},
	{err: session.ErrBusy, code: protocol.Busy},
	{err: session.ErrMoved, code: protocol.Conflict, more: "; look where it works now, and send it again"},
	{err: session.ErrInterrupted, code: protocol.Unavailable, text: "this was interrupted before it was done; send it again"},
	{err: session.ErrShutdown, code: protocol.Unavailable, text: "the host is shutting down; send it again when one is back"},
	{err: store.ErrClosed, code: protocol.Unavailable, text: "the host is shutting down; send it again when one is back"},
	{err: store.ErrFailed, code: protocol.Unavailable, text: "the host cannot write its log any more and stops; look at its disk, start it again, then send it again"},
	{err: store.ErrFull, code: protocol.Busy, text: "the disk of the host is full and nothing was written; make room on it, then send it again"},
	{err: store.ErrTooLarge, code: protocol.TooLarge},
	{err: store.ErrDeleted, code: protocol.Gone, text: "the session was deleted, and its id cannot be used again; create another one"},
	{err: store.ErrPruned, code: protocol.Gone, text: "the events from this place on were removed; read the session anew"},
	{err: store.ErrSequence, code: protocol.Conflict, text: "something else was recorded in the session at the same time; look at it, and send this again"},
	{err: store.ErrEventExists, code: protocol.Conflict, text: "this was recorded before; look at the session"},
	{err: store.ErrFenced, code: protocol.Unavailable, text: "another host works on the session by now; send it again to that one"},
	{err: store.ErrReplayOwner, code: protocol.Unavailable, text: "the session is copied here from another host; send it to that one"},
}

// reason is the error's text without what its code says already.
func reason(err error) string {
	text := err.Error()
	for _, said := range []error{session.ErrInvalid, session.ErrBusy} {
		text = strings.ReplaceAll(text, said.Error()+": ", "")
	}
	return text
}

// undecodable reports whether stored bytes cannot be read. What they are is for the
// operator alone.
func undecodable(err error) bool {
	_, message := errors.AsType[*session.MessageDecodeError](err)
	_, snapshot := errors.AsType[*session.SnapshotDecodeError](err)
	return message || snapshot
}

// withheld hides an error from clients. They get a reference to it, which stands before
// the error where the server logs it.
func withheld(err error) error {
	reference := "err_" + rand.Text()[:16]
	wire := protocol.Errorf(protocol.Internal, "the host failed; its log says why, under %s", reference)
	wire.Details = map[string]any{"reference": reference}
	return &withheldError{wire: wire, reference: reference, err: err}
}

// withheldError is what was hidden, with what is shown in its place.
type withheldError struct {
	wire      *protocol.Error
	reference string
	err       error
}

func (e *withheldError) Error() string { return e.reference + ": " + e.err.Error() }

// Unwrap gives both: the server shows the one and knows the other.
func (e *withheldError) Unwrap() []error { return []error{e.wire, e.err} }
