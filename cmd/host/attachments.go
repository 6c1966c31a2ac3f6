package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/plinthhost/plinth/client"
	"github.com/plinthhost/plinth/client/protocol"
	"github.com/plinthhost/plinth/host/server"
	"github.com/plinthhost/plinth/store"
)

// blobService is server.Blobs.
type blobService struct{ store.Blobs }

// Put keeps a file. What no prompt names stays too: blobs are not cleaned up yet.
func (b blobService) Put(ctx context.Context, value []byte) (string, error) {
	digest, err := b.Blobs.Put(ctx, value)
	return digest, wireError(err)
}

var _ server.Blobs = blobService{}

// attachment is a file that goes with a prompt.
type attachment struct {
	name, mime string
	value      []byte
}

// readAttachments reads the files that flags name, before anything is sent.
func readAttachments(paths []string) ([]attachment, error) {
	var all []attachment
	for _, path := range paths {
		value, err := readAttachment(path)
		if err != nil {
			return nil, fmt.Errorf("--file %s: %w", path, err)
		}
		mime := protocol.FileType(value)
		if mime == "" {
			return nil, fmt.Errorf("--file %s: it is none of %s", path, strings.Join(protocol.BlobTypes(), ", "))
		}
		all = append(all, attachment{name: filepath.Base(path), mime: mime, value: value})
	}
	return all, nil
}

func readAttachment(path string) ([]byte, error) {
	info, err := os.Stat(path) // first: opening a pipe would wait for who writes to it
	if err != nil {
		return nil, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer file.Close()
	value, err := io.ReadAll(io.LimitReader(file, protocol.MaxBlob+1))
	switch {
	case err != nil:
		return nil, withoutPath(err)
	case len(value) == 0:
		return nil, errors.New("it is empty")
	case len(value) > protocol.MaxBlob:
		return nil, fmt.Errorf("it has more than %d bytes, the limit", protocol.MaxBlob)
	}
	return value, nil
}

// withoutPath is for a message that names the path already.
func withoutPath(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	return err
}

// attach uploads the files and answers them as a prompt names them.
func attach(ctx context.Context, host *client.Client, attachments []attachment) ([]protocol.File, error) {
	var files []protocol.File
	for _, one := range attachments {
		blob, err := host.Upload(ctx, one.mime, one.value)
		if err != nil {
			return nil, fmt.Errorf("upload %s: %w", one.name, err)
		}
		files = append(files, protocol.File{Blob: blob.Blob, Mime: blob.Mime, Name: one.name})
	}
	return files, nil
}
