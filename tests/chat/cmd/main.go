// Command chat serves scripted Chat Completions, for driving Plinth by hand. It
// prints its base URL and says every prompt back until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/plinthhost/plinth/tests/chat"
)

func main() {
	address := flag.String("listen", "127.0.0.1:0", "address to listen on")
	deltas := flag.Int("deltas", 50, "pieces that an answer comes in")
	delay := flag.Duration("delay", 20*time.Millisecond, "wait before every piece")
	key := flag.String("key", "", "bearer token to ask for")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, chat.Options{Address: *address, Key: *key}, *deltas, *delay); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options chat.Options, deltas int, delay time.Duration) error {
	server, err := chat.Start(func(request chat.Request) chat.Turn {
		return chat.Turn{Text: reply(request), Deltas: deltas, Delay: delay}
	}, options)
	if err != nil {
		return err
	}
	fmt.Println(server.URL)
	<-ctx.Done()
	return server.Close()
}

func reply(request chat.Request) string {
	tools := "no tools"
	if len(request.Tools) > 0 {
		tools = "the tools " + strings.Join(request.Tools, ", ")
	}
	return fmt.Sprintf("This is a scripted server, no model. You said: %s\nThe request had %d messages and %s.",
		request.LastUser(), len(request.Messages), tools)
}
