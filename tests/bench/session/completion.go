package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/plinthhost/plinth/session"
)

// completions asks a Chat Completions server. It is the bare client, and the provider
// of the kernel that is compared with it.
type completions struct {
	url  string
	http *http.Client
}

// newCompletions answers a client with connections of its own.
func newCompletions(url string) *completions {
	return &completions{url: url + "/chat/completions", http: &http.Client{Transport: &http.Transport{}}}
}

func (c *completions) close() { c.http.CloseIdleConnections() }

// ask makes one request and hands on every piece of the answer. An answer without an
// end is an error.
func (c *completions) ask(ctx context.Context, text string, take func(piece string) bool) error {
	body, err := json.Marshal(map[string]any{"model": model().Model, "stream": true,
		"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", response.Status)
	}
	return readPieces(response.Body, take)
}

func readPieces(body io.Reader, take func(piece string) bool) error {
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return nil
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return err
		}
		for _, choice := range chunk.Choices {
			if choice.Delta.Content != "" && !take(choice.Delta.Content) {
				return nil
			}
		}
	}
	return errors.Join(lines.Err(), errors.New("the answer has no end"))
}

// Stream asks with the last text of the request.
func (c *completions) Stream(ctx context.Context, request session.ModelRequest) iter.Seq2[session.ModelEvent, error] {
	return func(yield func(session.ModelEvent, error) bool) {
		parts := request.Messages[len(request.Messages)-1].Parts
		more := true
		err := c.ask(ctx, parts[len(parts)-1].Text, func(piece string) bool {
			more = yield(fragment(piece), nil)
			return more
		})
		switch {
		case !more:
		case err != nil:
			yield(session.ModelEvent{}, err)
		default:
			yield(finish(), nil)
		}
	}
}
