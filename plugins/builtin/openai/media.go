package main

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider/wire"
)

// contentPart is one part of a message that is not plain text.
type contentPart struct {
	kind     string // "text", "image_url" or "file"
	text     string
	filename string       // of a file
	url      abi.BlobText // a data URL, which the host writes
}

func appendPart(dst []byte, part contentPart) []byte {
	dst = jsonscan.AppendString(append(dst, `{"type":`...), part.kind)
	switch part.kind {
	case "image_url":
		dst = wire.AppendBlob(append(dst, `,"image_url":{"url":`...), part.url)
		dst = append(dst, '}')
	case "file":
		dst = jsonscan.AppendString(append(dst, `,"file":{"filename":`...), part.filename)
		dst = wire.AppendBlob(jsonscan.AppendField(dst, "file_data"), part.url)
		dst = append(dst, '}')
	default:
		dst = jsonscan.AppendStringField(dst, "text", part.text)
	}
	return append(dst, '}')
}

// mediaKinds are the files that the model can look at, as the options say.
type mediaKinds struct{ image, pdf bool }

// part is what shows the model a file; ok is false when it cannot take it.
func (k mediaKinds) part(file abi.Part) (part contentPart, ok bool) {
	url := abi.BlobText{Blob: abi.Blob{Digest: file.Blob}, As: abi.BlobDataURL, Mime: file.Mime}
	switch file.Mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return contentPart{kind: "image_url", url: url}, k.image
	case "application/pdf":
		name := file.Name
		if name == "" {
			name = "document.pdf" // the protocol wants one
		}
		return contentPart{kind: "file", filename: name, url: url}, k.pdf
	}
	return part, false
}
