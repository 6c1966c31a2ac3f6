package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/session"
)

// doors are the three ways into one host: HTTP and the WebSocket as anybody would
// write them by hand, and the terminal.
type doors struct {
	*world
	host  *host
	token string
	model string // of the good prompts
}

// refusal is what a door says no with.
type refusal struct {
	code    protocol.Code // of the failure of an activity, the kernel's word
	message string
}

// call is one HTTP request. Empty fields have what a good request has.
type call struct {
	method, path, body string
	header             map[string]string
}

// http makes a request over a connection of its own.
func (d *doors) http(c call) (status int, header http.Header, body []byte) {
	d.t.Helper()
	if c.method == "" {
		c.method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(d.t.Context(), c.method, d.host.address+c.path, strings.NewReader(c.body))
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+d.token)
	if c.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.header {
		switch {
		case name == "Host":
			request.Host = value
		case value == "":
			request.Header.Del(name)
		default:
			request.Header.Set(name, value)
		}
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}).Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		d.t.Fatal(err)
	}
	return response.StatusCode, response.Header, body
}

// httpRefusal makes a request that must be refused, in the form of a problem.
func (d *doors) httpRefusal(c call) refusal {
	d.t.Helper()
	status, header, body := d.http(c)
	return d.problem(status, header, body)
}

// problem checks the form of a refusal: its parts go together.
func (d *doors) problem(status int, header http.Header, body []byte) refusal {
	d.t.Helper()
	var p protocol.Problem
	err := json.Unmarshal(body, &p)
	if err != nil || p.Status != status || p.Code.Status() != status || p.Retryable != p.Code.Retryable() ||
		p.Title == "" || header.Get("Content-Type") != "application/problem+json" {
		d.t.Errorf("HTTP answered %d %v with %s (%v)", status, header, body, err)
	}
	return refusal{p.Code, p.Detail}
}

// httpResult answers a prompt's result.
func (d *doors) httpResult(id, body string) *protocol.PromptResult {
	d.t.Helper()
	status, _, answer := d.http(call{path: "/v1/sessions/" + id + "/prompts?wait=settled", body: body})
	var prompted protocol.PromptAnswer
	if err := json.Unmarshal(answer, &prompted); err != nil || status != http.StatusOK || prompted.Result == nil {
		d.t.Fatalf("HTTP answered %d %s", status, answer)
	}
	return prompted.Result
}

// frames is a WebSocket whose frames the test writes itself.
type frames struct {
	t  *testing.T
	ws *websocket.Conn
}

// dial opens a WebSocket, or answers the refusal of its upgrade.
func (d *doors) dial(header map[string]string) (*frames, refusal) {
	d.t.Helper()
	all := http.Header{"Authorization": {"Bearer " + d.token}}
	for name, value := range header {
		all.Set(name, value)
		if value == "" {
			all.Del(name)
		}
	}
	ws, response, err := websocket.DefaultDialer.DialContext(d.t.Context(), "ws"+strings.TrimPrefix(d.host.address, "http")+protocol.LivePath, all)
	if err == nil {
		d.t.Cleanup(func() { ws.Close() })
		f := &frames{d.t, ws}
		f.send(`{"t":"hello","proto":1}`)
		expect[*protocol.Welcome](f)
		return f, refusal{}
	}
	if response == nil {
		d.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return nil, d.problem(response.StatusCode, response.Header, body)
}

// dialRefusal is the refusal of an upgrade, which there must be.
func (d *doors) dialRefusal(header map[string]string) refusal {
	d.t.Helper()
	f, no := d.dial(header)
	if f != nil {
		d.t.Error("the WebSocket was opened")
	}
	return no
}

func (f *frames) send(frame string) {
	f.t.Helper()
	if err := f.ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *frames) next() any {
	f.t.Helper()
	f.ws.SetReadDeadline(time.Now().Add(patience))
	_, data, err := f.ws.ReadMessage()
	if err != nil {
		f.t.Fatal(err)
	}
	frame, err := protocol.ParseServerFrame(data)
	if err != nil {
		f.t.Fatal(err)
	}
	return frame
}

// expect reads frames up to the first of type T.
func expect[T any](f *frames) T {
	f.t.Helper()
	for {
		if frame, ok := f.next().(T); ok {
			return frame
		}
	}
}

// wsRefusal sends one frame and answers the error it must get, which names it.
func (d *doors) wsRefusal(frame string) refusal {
	d.t.Helper()
	f, _ := d.dial(nil)
	f.send(frame)
	var no *protocol.Error
	switch answer := f.next().(type) {
	case *protocol.Res:
		no = answer.Error
	case *protocol.ErrFrame:
		no = answer.Error
	}
	if no == nil || no.Retryable != no.Code.Retryable() {
		d.t.Fatalf("the WebSocket answered %.100s with %+v", frame, no)
	}
	f.send(`{"t":"req","id":"after","method":"sessions.list"}`) // the connection is unhurt
	if res := expect[*protocol.Res](f); !res.OK || res.ID != "after" {
		d.t.Errorf("after %.100s: %+v", frame, res)
	}
	return refusal{no.Code, no.Message}
}

// wsClosed sends one frame that must end the connection and answers how.
func (d *doors) wsClosed(frame string) (code int, reason string) {
	d.t.Helper()
	f, _ := d.dial(nil)
	_ = f.ws.WriteMessage(websocket.TextMessage, []byte(frame)) // it may be closed before all of it is out
	for {
		f.ws.SetReadDeadline(time.Now().Add(patience))
		_, _, err := f.ws.ReadMessage()
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			return closed.Code, closed.Text
		}
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

// wsEnded sends a prompt and answers the end of its activity and the text on the way.
func (d *doors) wsEnded(id, params string) (ended session.ActivityEnded, text string) {
	d.t.Helper()
	f, _ := d.dial(nil)
	f.send(`{"t":"req","id":"prompt","method":"session.prompt","params":` + params + `}`)
	res := expect[*protocol.Res](f)
	if !res.OK {
		d.t.Fatalf("the prompt was refused: %+v", res.Error)
	}
	f.send(`{"t":"sub","sub":"s","scope":"session","session":"` + id + `","after":"` + res.Cursor + `"}`)
	for {
		ev := expect[*protocol.Ev](f)
		switch ev.Type {
		case session.TextEnded{}.EventType():
			var part session.TextEnded
			d.decode(ev.Data, &part)
			text += part.Text
		case ended.EventType():
			d.decode(ev.Data, &ended)
			return ended, text
		}
	}
}

func (d *doors) decode(data []byte, v any) {
	d.t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(v); err != nil {
		d.t.Fatal(err)
	}
}

// usable sends a good prompt through each door and wants its answer.
func (d *doors) usable(id string) {
	d.t.Helper()
	provider, model, _ := strings.Cut(d.model, "/")
	body := `"text":"good","model":{"provider":"` + provider + `","model":"` + model + `"}`
	if result := d.httpResult(id, "{"+body+"}"); result.Outcome != protocol.OutcomeCompleted || result.Text != "fine" {
		d.t.Errorf("afterwards HTTP answered %+v", result)
	}
	if ended, text := d.wsEnded(id, `{"sessionID":"`+id+`",`+body+`}`); ended.Outcome != session.Completed || text != "fine" {
		d.t.Errorf("afterwards the WebSocket answered %q, %+v", text, ended)
	}
	if out, notes, code := d.plinth("run", "--session", id, "--model", d.model, "good"); code != 0 || out != "fine\n" {
		d.t.Errorf("afterwards the terminal answered %d %q\n%s", code, out, notes)
	}
}
