package protocol

import (
	"errors"
	"fmt"
	"net/http"
)

// Code is the kind of an error, the same over HTTP and WebSocket. The list is
// closed.
type Code string

// The codes.
const (
	BadRequest         Code = "bad_request"
	Unauthenticated    Code = "unauthenticated"
	Forbidden          Code = "forbidden"
	NotFound           Code = "not_found"
	Gone               Code = "gone"
	Conflict           Code = "conflict"
	AlreadyResolved    Code = "already_resolved"
	PreconditionFailed Code = "precondition_failed"
	TooLarge           Code = "too_large"
	Busy               Code = "busy"
	RateLimited        Code = "rate_limited"
	QuotaExceeded      Code = "quota_exceeded"
	NotOwner           Code = "not_owner"
	Unavailable        Code = "unavailable"
	Internal           Code = "internal"
)

// Codes answers all codes.
func Codes() []Code {
	return []Code{
		BadRequest, Unauthenticated, Forbidden, NotFound, Gone, Conflict, AlreadyResolved, PreconditionFailed,
		TooLarge, Busy, RateLimited, QuotaExceeded, NotOwner, Unavailable, Internal,
	}
}

// Retryable tells whether the same request may succeed later.
func (c Code) Retryable() bool {
	switch c {
	case Busy, RateLimited, NotOwner, Unavailable:
		return true
	default:
		return false
	}
}

// Status is the HTTP status that goes with the code.
func (c Code) Status() int {
	switch c {
	case BadRequest:
		return http.StatusBadRequest
	case Unauthenticated:
		return http.StatusUnauthorized
	case Forbidden:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case Gone:
		return http.StatusGone
	case Conflict, AlreadyResolved:
		return http.StatusConflict
	case PreconditionFailed:
		return http.StatusPreconditionFailed
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case RateLimited, QuotaExceeded:
		return http.StatusTooManyRequests
	case NotOwner:
		return http.StatusMisdirectedRequest
	case Busy, Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// Error is a failure as a client sees it.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Retryable is fixed by the code; it is on the wire for clients that do not
	// know the code.
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details,omitempty"`
}

// Errorf makes an error of a code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Retryable: code.Retryable()}
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is lets errors.Is compare two errors by code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code && other.Message == ""
}

// Problem is an Error as an HTTP answer: RFC 9457, application/problem+json.
type Problem struct {
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail"`
	Code      Code           `json:"code"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details,omitempty"`
}

// Problem answers the error as a problem.
func (e *Error) Problem() Problem {
	status := e.Code.Status()
	return Problem{
		Title: http.StatusText(status), Status: status, Detail: e.Message,
		Code: e.Code, Retryable: e.Code.Retryable(), Details: e.Details,
	}
}

// Err answers the problem as an error.
func (p Problem) Err() *Error {
	return &Error{Code: p.Code, Message: p.Detail, Retryable: p.Retryable, Details: p.Details}
}

// ResetReason is why a cursor cannot be resumed.
type ResetReason string

// The reasons.
const (
	// ResetLog: the cursor is of another incarnation of the log, as after a restore.
	ResetLog ResetReason = "log"
	// ResetPruned: the events after the cursor were removed by retention.
	ResetPruned ResetReason = "pruned"
	// ResetUnknown: the cursor names an event this session does not have.
	ResetUnknown ResetReason = "unknown"
)

// ResetError is a cursor that cannot be resumed. The reader fetches the state
// anew and goes on from that answer's cursor, or from First.
type ResetError struct {
	Reason ResetReason
	// First is the cursor before the first event that can be read, Head the one
	// of the last event.
	First, Head string
}

func (e *ResetError) Error() string {
	switch e.Reason {
	case ResetLog:
		return "the cursor belongs to another log: the store was restored or replaced"
	case ResetPruned:
		return "the events after the cursor were pruned"
	default:
		return "the cursor names no event of this session"
	}
}

// Wire answers the error as HTTP tells it: gone, with reason, first and head in
// the details.
func (e *ResetError) Wire() *Error {
	wire := Errorf(Gone, "%s; read the session anew, or from the cursor in details.first", e.Error())
	wire.Details = map[string]any{"reason": string(e.Reason), "first": e.First, "head": e.Head}
	return wire
}

// AsError answers err as a wire error: the *Error in its chain, a *ResetError as
// gone, anything else as internal without its detail. Nil stays nil.
func AsError(err error) *Error {
	var wire *Error
	var reset *ResetError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wire):
		return wire
	case errors.As(err, &reset):
		return reset.Wire()
	default:
		return Errorf(Internal, "the server failed; its log says why")
	}
}
