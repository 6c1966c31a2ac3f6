package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
)

func TestWatchPlugin(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := dial(t, client.Options{Address: h.url, Token: h.admin})
	named := protocol.PluginParams{ID: "acme/a", Location: "/p"}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	notices, err := c.WatchPlugin(ctx, named)
	if err != nil {
		t.Fatal(err)
	}
	want := []protocol.PluginNotice{
		{Revision: "r1", Log: &protocol.PluginLine{Level: "info", Text: "one"}},
		{Revision: "r1", Failed: &protocol.FailedCall{Recording: strings.Repeat("line\n", 1<<20)}},
	}
	for _, notice := range want { // at once: nothing is missed once it watches
		h.Notice(named, notice)
	}
	var got []protocol.PluginNotice
	for notice, err := range notices {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, notice); len(got) == len(want) {
			cancel() // ends it without an error
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWatchPluginThatEnds(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := dial(t, client.Options{Address: h.url, Token: h.admin})
	notices, err := c.WatchPlugin(t.Context(), protocol.PluginParams{ID: "acme/a"})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- h.server.Close() }()
	var ended error
	for _, ended = range notices {
		if ended == nil {
			t.Error("a notice from nowhere")
		}
	}
	if err := <-closed; err != nil || !errors.Is(ended, &protocol.Error{Code: protocol.Unavailable}) {
		t.Errorf("%v, %v", ended, err)
	}
	if _, err := c.WatchPlugin(t.Context(), protocol.PluginParams{ID: "acme/a"}); !errors.Is(err, &protocol.Error{Code: protocol.Unavailable}) {
		t.Errorf("without a host: %v", err)
	}
}

func TestWatchPluginIsRefused(t *testing.T) {
	t.Parallel()
	h := start(t)
	c := dial(t, client.Options{Address: h.url, Token: "plinth_none"})
	if _, err := c.WatchPlugin(t.Context(), protocol.PluginParams{ID: "acme/a"}); !errors.Is(err, &protocol.Error{Code: protocol.Unauthenticated}) {
		t.Errorf("%v", err)
	}
}
