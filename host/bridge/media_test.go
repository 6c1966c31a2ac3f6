package bridge

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge/bridgetest"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/session"
)

// tap keeps all that goes into a guest and comes out of it.
type tap struct {
	inner Caller

	mu       sync.Mutex
	messages [][]byte
}

func (t *tap) keep(messages ...[]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, message := range messages {
		t.messages = append(t.messages, bytes.Clone(message))
	}
}

func (t *tap) Call(ctx context.Context, call Call) ([]byte, error) {
	t.keep(call.Message)
	if call.Operations != nil {
		call.Operations = tappedOperations{t, call.Operations}
	}
	answer, err := t.inner.Call(ctx, call)
	t.keep(answer)
	return answer, err
}

type tappedOperations struct {
	tap   *tap
	inner Operations
}

func (o tappedOperations) Call(ctx context.Context, operation string, request []byte) []byte {
	answer := o.inner.Call(ctx, operation, request)
	o.tap.keep(request, answer)
	return answer
}

// count tells in how many messages one of the pieces is.
func (t *tap) count(pieces ...string) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, message := range t.messages {
		if slices.ContainsFunc(pieces, func(piece string) bool { return bytes.Contains(message, []byte(piece)) }) {
			n++
		}
	}
	return n
}

func tapped(plugin *Plugin) *tap {
	t := &tap{inner: plugin.Caller}
	plugin.Caller = t
	return t
}

// picture is a file that begins like a PNG.
func picture(size int) []byte {
	data := []byte("\x89PNG\r\n\x1a\n")
	random := rand.New(rand.NewPCG(1, 2))
	for len(data) < size {
		data = append(data, byte(random.Uint32()))
	}
	return data
}

// From the tool that reads it to the provider's server: no guest sees an image as
// base64, and the codec does not see its bytes at all.
func TestAnImageReachesTheProviderAroundTheGuests(t *testing.T) {
	image := picture(200_000)
	blobs := &heldBlobs{}
	p := newProject(t)
	p.reach.Blobs = blobs
	if err := os.WriteFile(filepath.Join(p.location.Directory, "dot.png"), image, 0o600); err != nil {
		t.Fatal(err)
	}
	files, codec := loadBuiltin(t, "core/files", abi.ExportTool), openai(t)
	inFiles, inCodec := tapped(files), tapped(codec)

	read, err := NewTool(files, session.ToolDefinition{Name: "read", Input: json.RawMessage(anything)}, p.reach)
	if err != nil {
		t.Fatal(err)
	}
	output, err := execute(t, read, session.ToolCall{ID: "call-1", Location: p.location, Input: json.RawMessage(`{"path":"dot.png"}`)})
	if err != nil || len(output.Content) != 2 || output.Content[1].Blob == "" {
		t.Fatalf("%+v, %v", output, err)
	}
	file := output.Content[1]
	if diff := cmp.Diff(session.ToolContent{Type: "file", Mime: "image/png", Name: "dot.png", Blob: file.Blob}, file); diff != "" || !bytes.Equal(blobs.held[file.Blob], image) {
		t.Fatalf("%d bytes are kept, %s", len(blobs.held[file.Blob]), diff)
	}

	var body []byte
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, transcript(t, "openai", "text"))
	})
	if _, err := streamed(t, NewProvider(codec, "openai", "sse", client, blobs), answered(file)); err != nil {
		t.Fatal(err)
	}
	if got := urlOf(t, body); got != "data:image/png;base64,"+base64.StdEncoding.EncodeToString(image) {
		t.Errorf("the server got %.80q of %d bytes", got, len(got))
	}
	pieces := base64Of(image)
	if n := inFiles.count(pieces...) + inCodec.count(pieces...); n != 0 {
		t.Errorf("%d messages of guests hold the image as base64", n)
	}
	if n := inCodec.count(string(image[1000:1016])); n != 0 {
		t.Errorf("%d messages of the codec hold the image's bytes", n)
	}
	// That the count can be something else than 0: the same for what must be there.
	if inFiles.count(string(image[1000:1016])) == 0 || inCodec.count(`"$blob":"`+file.Blob) != 1 || !slices.ContainsFunc(pieces, func(piece string) bool { return bytes.Contains(body, []byte(piece)) }) {
		t.Error("the taps do not see what is there")
	}
}

// answered is a request behind a tool's answer with a file in it.
func answered(file session.ToolContent) session.ModelRequest {
	request := question()
	request.Messages = append(request.Messages,
		session.ModelMessage{ID: "a", Role: session.RoleAssistant, Parts: []session.ModelPart{{ID: "a/0", Type: session.PartToolCall, Call: "call-1", Name: "read",
			Input: json.RawMessage(`{"x":{"$blob":"` + file.Blob + `","as":"base64"}}`)}}},
		session.ModelMessage{ID: "a/results", Role: session.RoleTool, Parts: []session.ModelPart{
			{ID: "r", Type: session.PartToolResult, Call: "call-1", Name: "read", Text: `{"$blob":"` + file.Blob + `","as":"base64"}`},
			{ID: "r/1", Type: session.PartMedia, Call: "call-1", Mime: file.Mime, Name: file.Name, Blob: file.Blob},
		}})
	return request
}

// urlOf is the one image of a request, whose texts are as they were.
func urlOf(t *testing.T, body []byte) (url string) {
	t.Helper()
	var sent struct {
		Messages []struct {
			Content json.RawMessage
			Calls   []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil || len(sent.Messages) != 5 {
		t.Fatalf("%.300s: %v", body, err)
	}
	if text := sent.Messages[3].Content; !strings.Contains(string(text), `{\"$blob\":\"`) {
		t.Errorf("the tool's text became %.200s", text)
	}
	if arguments := sent.Messages[2].Calls[0].Function.Arguments; !strings.Contains(arguments, `"as":"base64"`) {
		t.Errorf("the call's arguments became %.200s", arguments)
	}
	var parts []struct {
		Image struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(sent.Messages[4].Content, &parts); err != nil || len(parts) != 2 {
		t.Fatalf("%.300s: %v", sent.Messages[4].Content, err)
	}
	return parts[1].Image.URL
}

// What a codec names wrongly, and what gets too long, fails the request with a reason,
// and nothing is sent.
func TestBlobsThatCannotBeSent(t *testing.T) {
	blobs := &heldBlobs{}
	digests, _ := blobs.with(t, "seen", "of another session", strings.Repeat("x", 1000))
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	defer server.Close()
	client, err := egress.New(egress.Options{BaseURL: server.URL, Limits: egress.Limits{RequestBody: 500}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct{ name, named, part, class, says string }{
		{"of another session", digests[1], digests[0], session.ProviderProtocol, "The provider's plugin made a wrong request: the blob"},
		{"only in the text of a part", digests[2], digests[0], session.ProviderProtocol, "it is not the blob of a media part of this request"},
		{"too long", digests[2], digests[2], session.ProviderInvalidRequest, "the limit is 500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plugin := codec(t, `{"ok":{"method":"POST","path":"x","body":{"u":{"$blob":"`+c.named+`","as":"base64"}}}}`)
			request := answered(session.ToolContent{Mime: "image/png", Blob: c.part})
			request.Messages[2].Parts[0].Text = c.named
			events, err := streamed(t, NewProvider(plugin, "codec", "sse", client, blobs), request)
			failed, _ := errors.AsType[*session.ProviderError](err)
			if events != nil || failed == nil || failed.Class != c.class || failed.Retryable || !strings.Contains(failed.Message, c.says) {
				t.Errorf("%v, %#v", events, err)
			}
		})
	}
}

// A codec may pass on as it is what a model, a tool's author or an operator wrote. None
// of it names a blob, though this one is the request's own, and all of it means the same.
func TestOthersCannotNameABlob(t *testing.T) {
	blobs := &heldBlobs{}
	digests, _ := blobs.with(t, "bytes of the file")
	written := json.RawMessage(`{"default":{"$blob":"` + digests[0] + `","as":"base64"}}`)
	request := answered(session.ToolContent{Mime: "image/png", Blob: digests[0]})
	request.Messages[1].Parts[0].Input, request.Messages[1].Parts[0].Metadata, request.Messages[1].Parts[0].Result = written, written, written
	request.Tools = []session.ToolDefinition{{Name: "t", Input: written}}
	request.Options = map[string]json.RawMessage{"codec": written}
	guest := bridgetest.New().Reflects(abi.ExportProviderEncode, `{"ok":{"method":"POST","path":"x","body":`, `}}`).Answers(abi.ExportProviderClassify, `{"ok":{}}`).
		Traps(abi.ExportProviderDecode)
	plugin, _ := loadGuest(t, guest, abi.ExportProviderEncode, abi.ExportProviderDecode, abi.ExportProviderClassify)
	var body []byte
	client := connect(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
	})
	if _, err := streamed(t, NewProvider(plugin, "codec", "sse", client, blobs), request); err == nil {
		t.Error("a status 418 is no failure")
	}
	var sent abi.Call[abi.ProviderEncode]
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	got := sent.Body.Request
	for name, value := range map[string]json.RawMessage{
		"input": got.Messages[1].Parts[0].Input, "metadata": got.Messages[1].Parts[0].Metadata, "result": got.Messages[1].Parts[0].Result,
		"schema": got.Tools[0].Input, "option": got.Options["codec"],
	} {
		if !sameValue(t, value, written) {
			t.Errorf("%s became %s", name, value)
		}
	}
}
