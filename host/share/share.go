package share

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plinthhost/plinth/session"
	"github.com/plinthhost/plinth/store"
)

// Format is the form of what is written.
type Format string

// The formats.
const (
	HTML     Format = "html"
	Markdown Format = "markdown"
	JSON     Format = "json"
)

// Limits of the images in one file, in bytes. Above them only a name is left.
const (
	MaxImage  = 4 << 20
	MaxImages = 32 << 20
)

// pageMessages is how many messages are held at a time.
const pageMessages = 50

// Sharer writes transcripts.
type Sharer struct {
	Log   store.Log
	Blobs store.Blobs
}

// Options say how a transcript looks.
type Options struct {
	Format Format
	// Reasoning keeps what the model thought.
	Reasoning bool
}

// head is what stands above the entries.
type head struct {
	Title   string
	Created string
	Agent   string
	Model   string
}

// form writes one format.
type form interface {
	begin(head) error
	entry(Entry) error
	end() error
}

// Transcript is one session that is about to be written.
type Transcript struct {
	sharer  Sharer
	session session.Session
	options Options
	images  int64 // bytes so far
}

// Open looks for the session. Errors: session.ErrNotFound.
func (s Sharer) Open(ctx context.Context, id string, options Options) (*Transcript, error) {
	t := &Transcript{sharer: s, options: options}
	err := s.Log.View(ctx, func(tx store.Tx) (err error) {
		t.session, err = session.LoadSession(ctx, tx, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	return t, nil
}

// Write writes the transcript as it is now, a few messages at a time.
func (t *Transcript) Write(ctx context.Context, to io.Writer) error {
	if err := t.write(ctx, to); err != nil {
		return fmt.Errorf("share %s: %w", t.session.ID, err)
	}
	return nil
}

func (t *Transcript) write(ctx context.Context, to io.Writer) error {
	out, err := t.form(to)
	if err != nil {
		return err
	}
	page, err := t.page(ctx, -1)
	if err != nil {
		return err
	}
	if err := out.begin(head{Title: title(t.session, page), Created: date(t.session.Created), Agent: t.session.Agent,
		Model: t.session.Model.Provider + "/" + t.session.Model.Model}); err != nil {
		return err
	}
	for len(page) > 0 {
		for _, message := range page {
			if err := t.message(ctx, out, message); err != nil {
				return err
			}
		}
		if page, err = t.page(ctx, page[len(page)-1].Seq); err != nil {
			return err
		}
	}
	return out.end()
}

func (t *Transcript) page(ctx context.Context, after int64) (page []session.Message, err error) {
	err = t.sharer.Log.View(ctx, func(tx store.Tx) (err error) {
		page, err = session.LoadMessages(ctx, tx, t.session.ID, after, pageMessages)
		return err
	})
	return page, err
}

// maxTitle bounds a title that is made of a prompt, in characters.
const maxTitle = 80

// title is the session's, or the beginning of its first prompt.
func title(s session.Session, first []session.Message) string {
	if s.Title != "" {
		return s.Title
	}
	for _, message := range first {
		if message.Type != session.MessageUser || message.Prompt == nil {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(message.Prompt.Text), "\n")
		if runes := []rune(line); len(runes) > maxTitle {
			return string(runes[:maxTitle]) + "…"
		}
		return line
	}
	return "A session"
}

func (t *Transcript) message(ctx context.Context, out form, message session.Message) error {
	shown, visible := entry(message, t.options.Reasoning)
	if !visible {
		return nil
	}
	for i := range shown.Parts {
		if err := t.image(ctx, &shown.Parts[i]); err != nil {
			return err
		}
	}
	return out.entry(shown)
}

// isImage reports a type that a page can show and that runs nothing.
func isImage(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// image puts the bytes of an image into its part, while there is room. What is lost is
// left as a name.
func (t *Transcript) image(ctx context.Context, part *Part) error {
	if part.Kind != KindFile || part.blob == "" {
		return nil
	}
	reader, size, err := t.sharer.Blobs.Open(ctx, part.blob)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		return nil
	}
	if err != nil {
		return err
	}
	part.Size = size
	if isImage(part.Mime) && size <= MaxImage && t.images+size <= MaxImages {
		t.images += size
		part.Data, err = io.ReadAll(reader)
	}
	return errors.Join(err, reader.Close())
}

func (t *Transcript) form(to io.Writer) (form, error) {
	switch t.options.Format {
	case HTML:
		return newPage(to)
	case Markdown:
		return &markdown{to: to}, nil
	case JSON:
		return &document{to: to}, nil
	}
	return nil, fmt.Errorf("%w: the format is %q; it must be html, markdown or json", session.ErrInvalid, t.options.Format)
}
