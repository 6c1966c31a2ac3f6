package server_test

import (
	"bytes"
	"runtime"
	"strconv"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/host/server/servertest"
)

// benchRig is a server for a benchmark and a live connection to it.
func benchRig(b *testing.B) (*servertest.Memory, func() *websocket.Conn) {
	b.Helper()
	memory := servertest.New()
	s, err := server.New(server.Options{Listen: "127.0.0.1:0"}, memory.Backend())
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	token, err := memory.Create(b.Context(), server.Caller{}, protocol.CreateToken{Scopes: protocol.Scopes()})
	if err != nil {
		b.Fatal(err)
	}
	return memory, func() *websocket.Conn {
		b.Helper()
		header := map[string][]string{"Authorization": {"Bearer " + token.Secret}}
		ws, response, err := websocket.DefaultDialer.DialContext(b.Context(), "ws://"+s.Addr().String()+protocol.LivePath, header)
		if err != nil {
			b.Fatal(err)
		}
		response.Body.Close()
		b.Cleanup(func() { ws.Close() })
		write(b, ws, `{"t":"hello","proto":1}`)
		read(b, ws, `{"t":"welcome"`)
		return ws
	}
}

func write(b *testing.B, ws *websocket.Conn, frame string) {
	if err := ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		b.Fatal(err)
	}
}

// read reads up to a frame with that beginning.
func read(b *testing.B, ws *websocket.Conn, beginning string) {
	for {
		_, data, err := ws.ReadMessage()
		if err != nil {
			b.Fatal(err)
		}
		if bytes.HasPrefix(data, []byte(beginning)) {
			return
		}
	}
}

// BenchmarkPromptRoundTrip is a prompt over the live connection up to its receipt.
func BenchmarkPromptRoundTrip(b *testing.B) {
	memory, connect := benchRig(b)
	session, ws := memory.Session(), connect()
	for b.Loop() {
		write(b, ws, `{"t":"req","id":"r","method":"session.prompt","params":{"sessionID":"`+session+`","text":"hello"}}`)
		read(b, ws, `{"t":"res"`)
	}
}

// BenchmarkEvent is one event from its append to the client.
func BenchmarkEvent(b *testing.B) {
	memory, connect := benchRig(b)
	session, ws := memory.Session(), connect()
	write(b, ws, `{"t":"sub","sub":"s","scope":"session","session":"`+session+`"}`)
	read(b, ws, `{"t":"live"`)
	for b.Loop() {
		memory.Append(session, "test.number", 1)
		read(b, ws, `{"t":"ev"`)
	}
}

// BenchmarkHistory is a thousand events of history to the client.
func BenchmarkHistory(b *testing.B) {
	memory, connect := benchRig(b)
	session := memory.Session()
	for i := range 1000 {
		memory.Append(session, "test.number", i)
	}
	ws, n := connect(), 0
	for b.Loop() {
		n++
		name := strconv.Itoa(n)
		write(b, ws, `{"t":"sub","sub":"`+name+`","scope":"session","session":"`+session+`"}`)
		read(b, ws, `{"t":"live"`)
		write(b, ws, `{"t":"unsub","sub":"`+name+`"}`)
		read(b, ws, `{"t":"end"`)
	}
}

// BenchmarkIdle is the memory of a connection with one subscription, both ends of
// it counted.
func BenchmarkIdle(b *testing.B) {
	memory, connect := benchRig(b)
	session := memory.Session()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const connections = 200
	for range connections {
		ws := connect()
		write(b, ws, `{"t":"sub","sub":"s","scope":"session","session":"`+session+`","deltas":true}`)
		read(b, ws, `{"t":"live"`)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() { // the figure is of the state, not of a loop
	}
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/connections, "B/connection")
}
