package protocol

import (
	"encoding/json"
)

// Raw is an opaque JSON value.
type Raw = json.RawMessage

// maxName bounds the names a client chooses: of subscriptions and requests.
const maxName = 64

// FrameError is a client frame that was no good.
type FrameError struct {
	// Of is the frame's id or sub as far as it could be read.
	Of  string
	Err *Error
}

func (e *FrameError) Error() string { return e.Err.Error() }

func (e *FrameError) Unwrap() error { return e.Err }

// frameHead is what a frame is told apart by.
type frameHead struct {
	T   string `json:"t"`
	Sub string `json:"sub"`
	ID  string `json:"id"`
}

// ParseClientFrame decodes a client frame: *Hello, *Sub, *Ack, *Unsub, *Req or
// *Pong. Unknown fields are refused, but for hello, where versions meet. Error:
// *FrameError.
func ParseClientFrame(data []byte) (any, error) {
	var head frameHead
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, &FrameError{Err: Errorf(BadRequest, "%s", explain(err))}
	}
	of := head.ID
	if head.Sub != "" {
		of = head.Sub
	}
	if len(of) > maxName {
		return nil, &FrameError{Err: Errorf(BadRequest, "a sub or id may have at most %d bytes", maxName)}
	}
	frame, err := decodeClientFrame(head, data)
	if err != nil {
		return nil, &FrameError{Of: of, Err: err}
	}
	return frame, nil
}

func decodeClientFrame(head frameHead, data []byte) (any, *Error) {
	switch head.T {
	case "hello":
		frame := &Hello{}
		if err := json.Unmarshal(data, frame); err != nil {
			return nil, Errorf(BadRequest, "%s", explain(err))
		}
		if len(frame.Client.ID) > maxName {
			return nil, Errorf(BadRequest, "field \"client.id\" has %d bytes, the limit is %d", len(frame.Client.ID), maxName)
		}
		return frame, nil
	case "sub":
		return strict(data, &Sub{}, "sub", head.Sub)
	case "ack":
		return strict(data, &Ack{}, "sub", head.Sub)
	case "unsub":
		return strict(data, &Unsub{}, "sub", head.Sub)
	case "req":
		return request(data, head.ID)
	case "pong":
		return strict(data, &Pong{}, "t", head.T)
	case "":
		return nil, Errorf(BadRequest, "field \"t\" is missing")
	default:
		return nil, Errorf(BadRequest, "there is no frame %q", clip(head.T))
	}
}

// request decodes a req, whose key is bounded as the header of HTTP is.
func request(data []byte, id string) (any, *Error) {
	req := &Req{}
	if frame, err := strict(data, req, "id", id); err != nil {
		return frame, err
	}
	if len(req.Key) > MaxKey {
		return nil, Errorf(BadRequest, "field \"key\" has %d bytes, the limit is %d", len(req.Key), MaxKey)
	}
	return req, nil
}

// strict decodes the frame and requires that its name is not empty.
func strict[T any](data []byte, frame *T, field, name string) (any, *Error) {
	if err := Decode(data, frame); err != nil {
		return nil, AsError(err)
	}
	if name == "" {
		return nil, Errorf(BadRequest, "field %q is missing", field)
	}
	return frame, nil
}

// ParseServerFrame decodes a server frame into a pointer to its type. A frame it
// does not know is nil without an error: clients ignore it.
func ParseServerFrame(data []byte) (any, error) {
	var head frameHead
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, Errorf(BadRequest, "server frame: %s", explain(err))
	}
	frame := newServerFrame(head.T)
	if frame == nil {
		return nil, nil
	}
	if err := json.Unmarshal(data, frame); err != nil {
		return nil, Errorf(BadRequest, "server frame %s: %s", head.T, explain(err))
	}
	return frame, nil
}

func newServerFrame(t string) any {
	switch t {
	case "welcome":
		return &Welcome{}
	case "subscribed":
		return &Subscribed{}
	case "ev":
		return &Ev{}
	case "mark":
		return &Mark{}
	case "live":
		return &Live{}
	case "d", "part":
		return &Delta{}
	case "reset":
		return &Reset{}
	case "end":
		return &End{}
	case "res":
		return &Res{}
	case "err":
		return &ErrFrame{}
	case "ping":
		return &Ping{}
	case "bye":
		return &Bye{}
	default:
		return nil
	}
}

// clip shortens what a stranger sent before it is repeated to them.
func clip(text string) string {
	if len(text) > maxName {
		return text[:maxName] + "…"
	}
	return text
}
