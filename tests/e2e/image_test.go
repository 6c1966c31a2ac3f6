package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/tests/chat"
)

// painted is a PNG of noise, which does not compress away.
func painted(t *testing.T, width, height int) []byte {
	t.Helper()
	canvas := image.NewRGBA(image.Rect(0, 0, width, height))
	seed := uint32(1)
	for y := range height {
		for x := range width {
			seed = seed*1664525 + 1013904223
			canvas.Set(x, y, color.RGBA{R: uint8(seed >> 24), G: uint8(seed >> 16), B: uint8(seed >> 8), A: 255})
		}
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, canvas); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

// images lists the data URLs of a request's messages, by role.
func images(t *testing.T, request chat.Request) (urls []string) {
	t.Helper()
	var body struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(request.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, message := range body.Messages {
		var parts []struct {
			ImageURL struct {
				URL string `json:"url"`
			} `json:"image_url"`
		}
		if json.Unmarshal(message.Content, &parts) != nil {
			continue // a text
		}
		for _, part := range parts {
			if part.ImageURL.URL != "" {
				urls = append(urls, message.Role+" "+part.ImageURL.URL)
			}
		}
	}
	return urls
}

// The model reads a PNG: the next requests show it the very bytes of the file, as they
// were when it was read. The log has its name alone.
func TestTheModelSeesAnImage(t *testing.T) {
	w := newWorld(t)
	picture := painted(t, 200, 150)
	path := filepath.Join(w.project, "shot.png")
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		t.Fatal(err)
	}
	server := w.chat(func(request chat.Request) chat.Turn {
		switch request.Turn {
		case 0:
			return chat.Turn{Calls: []chat.ToolCall{{ID: "call_a", Name: "read", Arguments: `{"path":"shot.png"}`}}}
		case 1:
			if err := os.Remove(path); err != nil {
				return chat.Turn{Text: err.Error()}
			}
			return chat.Turn{Calls: []chat.ToolCall{{ID: "call_b", Name: "read", Arguments: `{"path":"notes.txt"}`}}}
		}
		return chat.Turn{Text: "It is noise."}
	})
	out, notes, code := w.plinth("run", "What is on shot.png?")
	if code != 0 || !strings.Contains(out, "It is noise.") {
		t.Fatalf("exit %d\n%s\n%s", code, out, notes)
	}
	requests := server.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests, want 3", len(requests))
	}
	if urls := images(t, requests[0]); urls != nil {
		t.Errorf("an image before any was read: %.80q", urls)
	}
	text := base64.StdEncoding.EncodeToString(picture)
	for _, request := range requests[1:] {
		urls := images(t, request)
		if len(urls) != 1 || urls[0] != "user data:image/png;base64,"+text {
			t.Errorf("request %d shows %d images: %.80q", request.Turn, len(urls), urls)
		}
	}
	if got := requests[1].Messages[3].Content; !strings.Contains(got, "shot.png is shown as an image (image/png") {
		t.Errorf("the tool's message is %q", got)
	}
	list, _, _ := w.plinth("sessions")
	id, _, _ := strings.Cut(list, " ")
	events, _, code := w.plinth("events", id)
	if code != 0 || !strings.Contains(events, `"name":"shot.png"`) || strings.Contains(events, text[:200]) {
		t.Errorf("exit %d; the events are\n%.2000s", code, events)
	}
}
