package bridge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/filetype"
	"github.com/plinthhost/plinth/session"
)

// blobSet is the blobs that a guest was given in one call. It may name no other:
// a digest that it knows by another way opens nothing. The zero value is empty.
type blobSet struct {
	mu    sync.Mutex
	known map[string]string // the type that the bytes tell, by digest
	bytes int64             // kept by the call
}

// MaxKeptBytes is how much the host keeps for one call: attached files, answers and
// outputs.
const MaxKeptBytes = 128 << 20

func (b *blobSet) add(digest, found string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]string{}
	}
	b.known[digest] = found
}

// reserve counts what is about to be kept.
func (b *blobSet) reserve(size int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes += int64(size); b.bytes > MaxKeptBytes {
		return refuse(abi.KindLimit, "the call keeps more than %d bytes at the host", int64(MaxKeptBytes))
	}
	return nil
}

// find answers the type that a blob's bytes tell; ok is false when it was not given.
func (b *blobSet) find(digest string) (found string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok = b.known[digest]
	return found, ok
}

// keep stores a value and lets the guest name it.
func (o *operations) keep(ctx context.Context, value []byte) (abi.Blob, error) {
	if err := o.blobs.reserve(len(value)); err != nil {
		return abi.Blob{}, err
	}
	digest, err := o.reach.Blobs.Put(ctx, value)
	if err != nil {
		return abi.Blob{}, fmt.Errorf("keep %d bytes: %w", len(value), err)
	}
	o.blobs.add(digest, filetype.Found(value))
	return abi.Blob{Digest: digest}, nil
}

// toolContent is one part of a tool's answer. A file comes as bytes of the answer, or
// as a blob that the guest was given in this call.
func (o *operations) toolContent(ctx context.Context, part abi.Content, raw []byte) (session.ToolContent, error) {
	switch part.Type {
	case "text":
		return session.ToolContent{Type: "text", Text: part.Text}, nil
	case "file":
	default:
		return session.ToolContent{}, fmt.Errorf("the type is %q; it must be text or file", clip(part.Type))
	}
	if !mimeForm.MatchString(part.Mime) {
		return session.ToolContent{}, fmt.Errorf("mime is %q; it must be like image/png", clip(part.Mime))
	}
	if (part.Data == nil) == (part.Blob == nil) {
		return session.ToolContent{}, errors.New("a file has either data or a blob")
	}
	content := session.ToolContent{Type: "file", Mime: part.Mime, Name: clean(part.Name)}
	if part.Data != nil {
		kept, err := o.keepFile(ctx, part, raw)
		content.Blob = kept.Digest
		return content, err
	}
	found, ok := o.blobs.find(part.Blob.Digest)
	if !ok {
		return session.ToolContent{}, fmt.Errorf("the blob %q was not given in this call", clip(part.Blob.Digest))
	}
	content.Blob = part.Blob.Digest
	return content, filetype.Check(part.Mime, found)
}

// keepFile keeps a file that came with the answer.
func (o *operations) keepFile(ctx context.Context, part abi.Content, raw []byte) (abi.Blob, error) {
	value, err := part.Data.Of(raw)
	if err != nil {
		return abi.Blob{}, err
	}
	if len(value) > MaxAttachBytes {
		return abi.Blob{}, fmt.Errorf("the file has %d bytes; the most that is attached is %d", len(value), MaxAttachBytes)
	}
	if err := filetype.Check(part.Mime, filetype.Found(value)); err != nil {
		return abi.Blob{}, err
	}
	return o.keep(ctx, value)
}

// mimeForm is a type without parameters.
var mimeForm = regexp.MustCompile(`^[a-z]+/[A-Za-z0-9][A-Za-z0-9.+-]{0,80}$`)
