package client_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server/servertest"
)

func TestRehearse(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := dial(t, client.Options{Address: h.url, Token: h.admin})
	packed := bytes.Repeat([]byte("x"), 2<<20)
	for _, turns := range []int{0, 3} {
		got, err := c.Rehearse(t.Context(), "ses_1", turns, packed)
		if err != nil || !got.Same || got.SessionID != "ses_1" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	asked := []servertest.Rehearsed{{Session: "ses_1", Turns: 10, Bytes: 2 << 20}, {Session: "ses_1", Turns: 3, Bytes: 2 << 20}}
	if diff := cmp.Diff(asked, h.Rehearsed()); diff != "" {
		t.Error(diff)
	}
	for code, packed := range map[protocol.Code][]byte{protocol.BadRequest: nil, protocol.TooLarge: make([]byte, protocol.MaxPlugin+1)} {
		if _, err := c.Rehearse(t.Context(), "ses_1", 1, packed); !errors.Is(err, &protocol.Error{Code: code}) {
			t.Errorf("%s: %v", code, err)
		}
	}
	if _, err := c.Rehearse(t.Context(), "ses_1", 101, packed); !errors.Is(err, &protocol.Error{Code: protocol.BadRequest}) {
		t.Errorf("too many turns: %v", err)
	}
}
