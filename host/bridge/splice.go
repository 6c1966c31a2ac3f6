package bridge

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/egress"
	"github.com/plinthhost/plinth/store"
)

// MaxSplicedBytes bounds a request's body with its blobs in it. It is egress's own
// limit of a body, judged here before the memory is taken.
const MaxSplicedBytes = 64 << 20

// SpliceError is a body in which a codec names a blob wrongly.
type SpliceError struct {
	Offset int    // in the body
	Blob   string // as named
	Err    error
}

func (e *SpliceError) Error() string {
	return fmt.Sprintf("the blob %q at byte %d of the body: %v", clip(e.Blob), e.Offset, e.Err)
}

func (e *SpliceError) Unwrap() error { return e.Err }

// splice puts the blobs that body names into it, as abi.BlobText says; all other bytes
// stay. Only the blobs in named may be. The result is made once, in its final size. A
// body that names nothing is answered itself. Errors are *SpliceError, *egress.Error
// for a body that gets too long, or the store's.
func splice(ctx context.Context, body []byte, named map[string]bool, blobs store.Blobs) ([]byte, error) {
	places, err := blobTexts(body)
	if err != nil || len(places) == 0 {
		return body, err
	}
	length := int64(len(body))
	sizes := map[string]int64{}
	for _, place := range places {
		if err := place.check(named); err != nil {
			return nil, &SpliceError{Offset: place.start, Blob: place.Digest, Err: err}
		}
		size, known := sizes[place.Digest]
		if !known {
			if size, err = blobSize(ctx, blobs, place.Digest); err != nil {
				return nil, err
			}
			sizes[place.Digest] = size
		}
		if length += place.length(size); length > MaxSplicedBytes {
			return nil, &egress.Error{Kind: egress.KindLimit, Limit: "request_body", Text: fmt.Sprintf(
				"the request has more than %d bytes with its %d files in it, which is the limit; go on in a new session", MaxSplicedBytes, len(places))}
		}
	}
	whole := bytes.NewBuffer(make([]byte, 0, length))
	at := 0
	for _, place := range places {
		whole.Write(body[at:place.start])
		if err := place.write(ctx, whole, blobs); err != nil {
			return nil, err
		}
		at = place.end
	}
	whole.Write(body[at:])
	return whole.Bytes(), nil
}

func blobSize(ctx context.Context, blobs store.Blobs, digest string) (int64, error) {
	reader, size, err := blobs.Open(ctx, digest)
	if err != nil {
		return 0, fmt.Errorf("open a file of the request: %w", err)
	}
	return size, reader.Close()
}

// blobText is a place of a body where a blob goes.
type blobText struct {
	start, end int
	abi.BlobText
}

func (b blobText) check(named map[string]bool) error {
	switch {
	case !named[b.Digest]:
		return errors.New("it is not the blob of a media part of this request")
	case b.As != abi.BlobBase64 && b.As != abi.BlobDataURL:
		return fmt.Errorf("as is %q; it must be base64 or data_url", clip(b.As))
	case b.As == abi.BlobDataURL && !mimeForm.MatchString(b.Mime):
		return fmt.Errorf("mime is %q; it must be like image/png", clip(b.Mime))
	}
	return nil
}

// field is the member of that name, nil for none.
func (b *blobText) field(key []byte) *string {
	switch string(key) {
	case "$blob":
		return &b.Digest
	case "as":
		return &b.As
	case "mime":
		return &b.Mime
	}
	return nil
}

// length is how many bytes the body grows by with a blob of that size.
func (b blobText) length(size int64) int64 {
	return int64(len(b.before())+1+b.start-b.end) + (size+2)/3*4
}

// before is what stands before the base64. Nothing in it needs escaping in JSON.
func (b blobText) before() string {
	if b.As == abi.BlobDataURL {
		return `"data:` + b.Mime + `;base64,`
	}
	return `"`
}

// write adds the JSON string.
func (b blobText) write(ctx context.Context, whole *bytes.Buffer, blobs store.Blobs) error {
	reader, _, err := blobs.Open(ctx, b.Digest)
	if err != nil {
		return fmt.Errorf("open a file of the request: %w", err)
	}
	defer reader.Close()
	whole.WriteString(b.before())
	encoder := base64.NewEncoder(base64.StdEncoding, whole)
	if _, err := io.Copy(encoder, reader); err != nil {
		return fmt.Errorf("read a file of the request: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return err
	}
	whole.WriteByte('"')
	return nil
}

// blobTexts finds the places in a body, which is JSON. What stands in strings is
// passed over: there a quote is escaped.
func blobTexts(body []byte) (places []blobText, err error) {
	for c := (cursor{text: body}); c.at < len(body); {
		switch body[c.at] {
		case '"':
			if _, ok := c.string(); !ok {
				return places, nil // no JSON, so nothing that a codec could mean
			}
		case '{':
			place, ok, err := blobTextAt(body, c.at)
			switch {
			case err != nil:
				return nil, err
			case ok:
				places, c.at = append(places, place), place.end
			default:
				c.at++
			}
		default:
			c.at++
		}
	}
	return places, nil
}

// blobTextAt reads the object at start as a BlobText. It is one as soon as it has no
// members but those, and the string $blob among them; a further member is an error.
func blobTextAt(body []byte, start int) (place blobText, ok bool, err error) {
	c := cursor{text: body, at: start + 1}
	place.start = start
	names := false
	for {
		key, _ := c.string()
		field := place.field(key)
		if field == nil || *field != "" || !c.skip(':') {
			break
		}
		value, ok := c.string()
		if !ok {
			break
		}
		*field = string(value)
		names = names || field == &place.Digest
		if c.skip('}') {
			place.end = c.at
			return place, names, nil
		}
		if !c.skip(',') {
			break
		}
	}
	if names {
		return place, false, &SpliceError{Offset: start, Blob: place.Digest, Err: errors.New(`beside "$blob" there may be "as" and "mime", each once and a string`)}
	}
	return place, false, nil
}

// cursor steps through JSON.
type cursor struct {
	text []byte
	at   int
}

// skip passes over white space and then over b, if that is there.
func (c *cursor) skip(b byte) bool {
	for c.at < len(c.text) && (c.text[c.at] == ' ' || c.text[c.at] == '\n' || c.text[c.at] == '\t' || c.text[c.at] == '\r') {
		c.at++
	}
	if c.at == len(c.text) || c.text[c.at] != b {
		return false
	}
	c.at++
	return true
}

// string passes over a string and answers what is between its quotes, as written.
func (c *cursor) string() (inside []byte, ok bool) {
	if !c.skip('"') {
		return nil, false
	}
	for first := c.at; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case '\\':
			c.at++
		case '"':
			c.at++
			return c.text[first : c.at-1], true
		}
	}
	c.at = len(c.text)
	return nil, false
}
