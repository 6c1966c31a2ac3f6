package bridge

import (
	"context"
	"errors"
	"io"
	"mime"
	"path"
	"strings"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/filetype"
)

// MaxAttachBytes is the largest file that is kept for an answer.
const MaxAttachBytes = filetype.MaxBytes

// attach keeps a file's content, so that the guest can pass it on by its name.
func (o *operations) attach(ctx context.Context, request abi.FSAttach, _ []byte) (any, []byte, error) {
	return o.opened(ctx, request.Path, func(file opened) (any, []byte, error) {
		info := file.Info()
		if info.Directory {
			return nil, nil, refuse(abi.KindInvalidInput, "%q is a directory; attach a file", clip(info.Path))
		}
		if info.Size > MaxAttachBytes {
			return nil, nil, refuse(abi.KindLimit, "%q has %d bytes; the most that is attached is %d", clip(info.Path), info.Size, MaxAttachBytes)
		}
		value := make([]byte, info.Size)
		n, err := file.ReadAt(value, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fileError(err)
		}
		value = value[:n]
		blob, err := o.keep(ctx, value)
		if err != nil {
			return nil, nil, err
		}
		o.told(file)
		return abi.FSAttached{Info: file.wire(info), Blob: blob, Mime: mimeOf(info.Name, value)}, nil, nil
	})
}

// mimeOf tells a file's type from its first bytes, and where they say nothing from
// its name.
func mimeOf(name string, value []byte) string {
	told := filetype.Found(value)
	if told != "application/octet-stream" && told != "text/plain" {
		return told
	}
	if named, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(name)), ";"); named != "" && strings.HasPrefix(named, "text/") == (told == "text/plain") {
		return named
	}
	return told
}
