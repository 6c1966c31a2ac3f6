package share_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/host/share"
	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/session/sessiontest"
	"github.com/plinthhost/plinth/store"
	"github.com/plinthhost/plinth/store/sqlite"
)

// hostile is what a model, a tool or a person may write.
const hostile = "</pre><script>alert('x')</script>\r\n> ## assistant\n```\n\"'><img src=x onerror=alert(1)>{{.Title}}javascript:alert(1)"

type rig struct {
	t       *testing.T
	log     *sqlite.Store
	encoder session.Encoder
	id      string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, log: sessiontest.OpenStore(t, t.TempDir()), encoder: session.Encoder{IDs: session.NewIDs(sessiontest.Clock{}), Clock: sessiontest.Clock{}}}
	t.Cleanup(func() { r.log.Close() })
	r.id = r.encoder.IDs.New(session.PrefixSession)
	return r
}

func (r *rig) record(payloads ...session.Payload) {
	r.t.Helper()
	events, err := r.encoder.Encode(session.System(), payloads...)
	if err == nil {
		_, err = r.log.Append(r.t.Context(), store.Batch{Aggregate: r.id, Mode: store.Any(), Events: events})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) put(value []byte) string {
	r.t.Helper()
	digest, err := r.log.Blobs().Put(r.t.Context(), value)
	if err != nil {
		r.t.Fatal(err)
	}
	return digest
}

// fill records a session with something hostile in every field that is shown, and
// something private in every one that is not.
func (r *rig) fill() {
	user, answer, failed := r.encoder.IDs.New("msg_"), r.encoder.IDs.New("msg_"), r.encoder.IDs.New("msg_")
	prompt := session.Prompt{Text: hostile, System: "PRIVATE system", Metadata: json.RawMessage(`{"k":"PRIVATE metadata"}`), Files: []session.PromptFile{
		{Blob: r.put([]byte("small picture")), Mime: "image/png", Name: `"><script>n</script>.png`},
		{Blob: r.put([]byte("<svg onload=alert(1)>")), Mime: "image/svg+xml", Name: "v.svg"},
		{Blob: r.put(bytes.Repeat([]byte("x"), share.MaxImage+1)), Mime: "image/png", Name: "huge.png"},
	}}
	model := session.ModelRef{Provider: "p<b>", Model: "m"}
	r.record(
		session.Created{Title: "<script>t</script>", Location: session.Location{Directory: "/PRIVATE/place"}, Agent: "build<i>", Model: model,
			Rules: []session.Rule{{Action: "shell", Resource: "PRIVATE rule", Effect: session.Allow}}},
		session.PromptAdmitted{Message: user, Prompt: prompt, Delivery: session.Steer})
	r.record(session.PromptPromoted{Message: user, Prompt: prompt, Created: sessiontest.Clock{}.Now().UnixMilli()},
		session.ContextInitialized{Baseline: "PRIVATE baseline", Snapshot: session.Snapshot{}},
		session.ContextUpdated{Message: r.encoder.IDs.New("msg_"), Text: "PRIVATE update"},
		session.StepStarted{Message: answer, Agent: "build", Model: model},
		session.ReasoningEnded{Message: answer, Part: "r", Text: "THOUGHT " + hostile, Metadata: json.RawMessage(`{"signature":"PRIVATE signature"}`)},
		session.TextEnded{Message: answer, Part: "t", Text: "An answer " + hostile},
		session.ToolCalled{Message: answer, Call: "c", Name: "read<script>", Input: json.RawMessage(`{"path":"</pre><script>"}`),
			Metadata: json.RawMessage(`{"m":"PRIVATE call"}`), Revision: "PRIVATE revision"},
		session.ToolSucceeded{Message: answer, Call: "c", Title: hostile, Content: []session.ToolContent{{Type: "text", Text: hostile + " whole in /PRIVATE/out"}},
			Structured: json.RawMessage(`"PRIVATE structured"`), Metadata: json.RawMessage(`{"m":"PRIVATE result"}`), Outputs: []string{"/PRIVATE/out"},
			Diagnostic: "PRIVATE diagnostic", Revision: "PRIVATE revision"},
		session.StepEnded{Message: answer, Finish: session.FinishToolCalls, Snapshot: "PRIVATE snapshot"},
		session.StepStarted{Message: failed, Agent: "build", Model: model},
		session.StepFailed{Message: failed, Error: session.Failure{Code: "internal", Message: hostile}},
		session.Synthetic{Message: r.encoder.IDs.New("msg_"), Text: "a note " + hostile},
	)
	for range 120 { // more than a page of messages
		r.record(session.Synthetic{Message: r.encoder.IDs.New("msg_"), Text: "one more"})
	}
}

func (r *rig) share(options share.Options) string {
	r.t.Helper()
	transcript, err := share.Sharer{Log: r.log, Blobs: r.log.Blobs()}.Open(r.t.Context(), r.id, options)
	if err != nil {
		r.t.Fatal(err)
	}
	var written bytes.Buffer
	if err := transcript.Write(r.t.Context(), &written); err != nil {
		r.t.Fatal(err)
	}
	return written.String()
}

func TestNothingPrivateIsShared(t *testing.T) {
	r := newRig(t)
	r.fill()
	for _, format := range []share.Format{share.HTML, share.Markdown, share.JSON} {
		text := r.share(share.Options{Format: format})
		if at := strings.Index(text, "PRIVATE"); at >= 0 {
			t.Errorf("%s has %q", format, text[max(0, at-60):at+40])
		}
		if strings.Contains(text, "THOUGHT") {
			t.Errorf("%s has reasoning", format)
		}
		if with := r.share(share.Options{Format: format, Reasoning: true}); !strings.Contains(with, "THOUGHT") || strings.Contains(with, "PRIVATE") {
			t.Errorf("%s with reasoning has none, or has what is private", format)
		}
		if got := strings.Count(text, "one more"); got != 120 {
			t.Errorf("%s has %d of 120 notes", format, got)
		}
	}
}

func TestAPageRunsNothing(t *testing.T) {
	r := newRig(t)
	r.fill()
	text := r.share(share.Options{Format: share.HTML, Reasoning: true})
	lower := strings.ToLower(text)
	for _, bad := range []string{"<script", "<svg", "<img src=x", "onerror=alert(1)>{{", "http://", "https://"} {
		if strings.Contains(lower, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	// Every "<" begins a tag of the page's own.
	own := []string{"!doctype", "html", "head", "meta", "title", "style", "body", "header", "h1", "p>", "p ", "main", "article", "div", "details", "summary", "pre", "img src=\"data:image/png;base64,", "/"}
	for piece := range strings.SplitSeq(lower, "<") {
		known := piece == ""
		for _, tag := range own {
			known = known || strings.HasPrefix(piece, tag)
		}
		if !known {
			t.Errorf("a tag that is none of the page's: <%.60s", piece)
		}
	}
	for _, want := range []string{"default-src 'none'", "&lt;script&gt;t&lt;/script&gt;", "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("small picture")), "huge.png", "v.svg", "</html>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if got := strings.Count(text, "<img "); got != 1 {
		t.Errorf("%d images", got)
	}
}

func TestMarkdownKeepsMessagesApart(t *testing.T) {
	r := newRig(t)
	r.fill()
	text := r.share(share.Options{Format: share.Markdown, Reasoning: true})
	fence := ""
	headings := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") && (fence == "" || line == fence) {
			if fence == "" {
				fence = line
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		if strings.HasPrefix(line, "## ") {
			headings++
		}
		if strings.Contains(line, "<") {
			t.Errorf("a line may have a tag: %q", line)
		}
	}
	if fence != "" {
		t.Error("a block of code does not end")
	}
	if headings != 124 { // the prompt, two answers, 121 notes
		t.Errorf("%d headings", headings)
	}
}

func TestJSONIsOneDocument(t *testing.T) {
	r := newRig(t)
	r.fill()
	var document struct {
		Format  string
		Version int
		Title   string
		Entries []share.Entry
	}
	decoder := json.NewDecoder(strings.NewReader(r.share(share.Options{Format: share.JSON})))
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	if document.Format != "plinth.share" || document.Version != 1 || len(document.Entries) != 124 || document.Title != "<script>t</script>" {
		t.Errorf("%s %d %q with %d entries", document.Format, document.Version, document.Title, len(document.Entries))
	}
	if call := document.Entries[1].Parts[1]; call.Tool != "read<script>" || call.State != "completed" || !strings.Contains(call.Text, "whole in (kept by the host)") {
		t.Errorf("the call is %+v", call)
	}
}

func TestWhatIsLostIsAName(t *testing.T) {
	r := newRig(t)
	message := r.encoder.IDs.New("msg_")
	r.record(session.Created{Agent: "build"}, session.MessageImported{Message: session.Message{ID: message, Type: session.MessageUser,
		MessageBody: session.MessageBody{Prompt: &session.Prompt{Text: "look", Files: []session.PromptFile{{Blob: strings.Repeat("0", 64), Mime: "image/png", Name: "lost.png"}}}}}})
	if text := r.share(share.Options{Format: share.HTML}); !strings.Contains(text, "lost.png") || strings.Contains(text, "<img") {
		t.Errorf("the page is %s", text)
	}
}

func TestRefusals(t *testing.T) {
	r := newRig(t)
	sharer := share.Sharer{Log: r.log, Blobs: r.log.Blobs()}
	if _, err := sharer.Open(t.Context(), "ses_unknown", share.Options{Format: share.HTML}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	r.record(session.Created{Agent: "build"})
	transcript, err := sharer.Open(t.Context(), r.id, share.Options{Format: "pdf"})
	if err != nil {
		t.Fatal(err)
	}
	if err := transcript.Write(t.Context(), &bytes.Buffer{}); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("error %v", err)
	}
}
