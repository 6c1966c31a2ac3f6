//go:build !darwin

package secret

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"
)

// bus is a session bus with a keyring on it, or with less.
type bus struct {
	items  map[string]string // values by user name
	locked bool              // all of them
	opens  bool              // Unlock does, without a window
	answer func(member string) (dbus.Error, bool)
	mute   string // the member that is never answered
	asked  chan struct{}
}

// start serves the bus on a socket and makes it the session's.
func (b *bus) start(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() { listener.Close(); served.Wait() })
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+path)
}

func (b *bus) serve(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(strings.TrimLeft(line, "\x00"))
		said := "ERROR"
		switch strings.Join(words[:min(len(words), 2)], " ") {
		case "BEGIN":
			b.talk(conn, reader)
			return
		case "AUTH":
			said = "REJECTED EXTERNAL"
		case "AUTH EXTERNAL":
			said = "DATA"
		case "DATA", "DATA " + hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid()))):
			said = "OK 0123"
		}
		if _, err := conn.Write([]byte(said + "\r\n")); err != nil {
			return
		}
	}
}

func (b *bus) talk(conn net.Conn, reader *bufio.Reader) {
	for serial := uint32(1); ; serial++ {
		call, err := dbus.DecodeMessage(reader)
		if err != nil {
			return
		}
		if member, _ := call.Headers[dbus.FieldMember].Value().(string); member == b.mute {
			close(b.asked)
			continue
		}
		var message bytes.Buffer
		if b.reply(call).EncodeTo(&message, binary.LittleEndian) != nil {
			return
		}
		binary.LittleEndian.PutUint32(message.Bytes()[8:], serial)
		if _, err := conn.Write(message.Bytes()); err != nil {
			return
		}
	}
}

func (b *bus) reply(call *dbus.Message) *dbus.Message {
	member, _ := call.Headers[dbus.FieldMember].Value().(string)
	path, _ := call.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	reply := &dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()),
	}}
	if b.answer != nil {
		if failure, fails := b.answer(member); fails {
			reply.Type = dbus.TypeError
			reply.Headers[dbus.FieldErrorName] = dbus.MakeVariant(failure.Name)
			reply.Body = failure.Body
		}
	}
	if reply.Type != dbus.TypeError {
		reply.Body = b.body(member, path, call.Body)
	}
	if len(reply.Body) > 0 {
		reply.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(reply.Body...))
	}
	return reply
}

func (b *bus) body(member string, path dbus.ObjectPath, args []any) []any {
	none := []dbus.ObjectPath{}
	switch member {
	case "Hello":
		return []any{":1.1"}
	case "SearchItems":
		wanted := args[0].(map[string]string)
		if _, ok := b.items[wanted["username"]]; !ok || wanted["service"] != "plinth" {
			return []any{none, none}
		}
		found := []dbus.ObjectPath{dbus.ObjectPath("/items/" + wanted["username"])}
		if b.locked {
			return []any{none, found}
		}
		return []any{found, none}
	case "Unlock":
		if b.opens {
			return []any{args[0], dbus.ObjectPath("/")}
		}
		return []any{none, dbus.ObjectPath("/prompt")}
	case "OpenSession":
		return []any{dbus.MakeVariant(""), dbus.ObjectPath("/session")}
	case "GetSecret":
		return []any{struct {
			Session     dbus.ObjectPath
			Parameters  []byte
			Value       []byte
			ContentType string
		}{"/session", nil, []byte(b.items[strings.TrimPrefix(string(path), "/items/")]), "text/plain"}}
	}
	return nil
}

func failing(member, name string) func(string) (dbus.Error, bool) {
	return func(asked string) (dbus.Error, bool) {
		return dbus.Error{Name: name, Body: []any{"said the bus"}}, asked == member
	}
}

func TestKeyring(t *testing.T) {
	items := map[string]string{"openai": "sk-from-the-keyring\n", "empty": ""}
	for name, test := range map[string]struct {
		bus         bus
		ref         string
		want, fails string
	}{
		"found":          {bus{items: items}, "keyring:openai", "sk-from-the-keyring", ""},
		"opened":         {bus{items: items, locked: true, opens: true}, "keyring:openai", "sk-from-the-keyring", ""},
		"locked":         {bus{items: items, locked: true}, "keyring:openai", "", "the keyring is locked; unlock it"},
		"empty":          {bus{items: items}, "keyring:empty", "", "is empty"},
		"not there":      {bus{items: items}, "keyring:other", "", "no such item; run: secret-tool store --label='Plinth other' service plinth username other"},
		"no keyring":     {bus{answer: failing("SearchItems", "org.freedesktop.DBus.Error.ServiceUnknown")}, "keyring:x", "", "no keyring runs on the session bus"},
		"does not start": {bus{answer: failing("SearchItems", "org.freedesktop.DBus.Error.Spawn.ChildExited")}, "keyring:x", "", "no keyring runs on the session bus"},
		"search fails":   {bus{answer: failing("SearchItems", "a.b")}, "keyring:x", "", "search the keyring: said the bus"},
		"unlock fails":   {bus{items: items, locked: true, answer: failing("Unlock", "a.b")}, "keyring:openai", "", "unlock the item: said the bus"},
		"session fails":  {bus{items: items, answer: failing("OpenSession", "a.b")}, "keyring:openai", "", "open a session with the keyring: said the bus"},
		"read fails":     {bus{items: items, answer: failing("GetSecret", "a.b")}, "keyring:openai", "", "read the item: said the bus"},
		"refused":        {bus{answer: failing("Hello", "a.b")}, "keyring:x", "", "the session bus does not answer: said the bus"},
	} {
		t.Run(name, func(t *testing.T) {
			test.bus.start(t)
			value, err := Resolve(t.Context(), test.ref)
			if value.Reveal() != test.want || (err == nil) != (test.fails == "") {
				t.Fatalf("%q, %v", value.Reveal(), err)
			}
			if err != nil && (!strings.Contains(err.Error(), test.fails) || !strings.HasPrefix(err.Error(), "secret "+test.ref)) {
				t.Errorf("%v, want %q", err, test.fails)
			}
		})
	}
}

func TestNoSessionBus(t *testing.T) {
	for address, want := range map[string]string{
		"":                       "there is no session bus, so no keyring; use file:PATH or command:ARGV",
		"unix:path=/nowhere/bus": "the session bus does not answer",
		"unixexec:path=/bin/sh":  "does not name a unix socket",
		"autolaunch:":            "does not name a unix socket",
	} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
		if _, err := Resolve(t.Context(), "keyring:x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestKeyringCancelled: a keyring that does not answer, as one that asks for a
// password does, keeps no goroutine.
func TestKeyringCancelled(t *testing.T) {
	b := bus{items: map[string]string{"openai": "x"}, mute: "SearchItems", asked: make(chan struct{})}
	b.start(t)
	reason := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-b.asked; cancel(reason) }()
	if _, err := Resolve(ctx, "keyring:openai"); !errors.Is(err, reason) {
		t.Errorf("%v", err)
	}
}
