package main

import "github.com/plinthhost/plinth/abi/v1"

// contentPart is one part of a message that is not plain text.
type contentPart struct {
	Type     string    `json:"type"` // "text", "image_url" or "file"
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
	File     *fileData `json:"file,omitempty"`
}

// imageURL holds a data URL, which the host writes.
type imageURL struct {
	URL abi.BlobText `json:"url"`
}

// fileData is a document: its name and a data URL.
type fileData struct {
	Filename string       `json:"filename"`
	FileData abi.BlobText `json:"file_data"`
}

// mediaKinds are the files that the model can look at, as the options say.
type mediaKinds struct{ image, pdf bool }

// part is what shows the model a file; ok is false when it cannot take it.
func (k mediaKinds) part(file abi.Part) (part contentPart, ok bool) {
	url := abi.BlobText{Blob: abi.Blob{Digest: file.Blob}, As: abi.BlobDataURL, Mime: file.Mime}
	switch file.Mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return contentPart{Type: "image_url", ImageURL: &imageURL{url}}, k.image
	case "application/pdf":
		name := file.Name
		if name == "" {
			name = "document.pdf" // the protocol wants one
		}
		return contentPart{Type: "file", File: &fileData{name, url}}, k.pdf
	}
	return part, false
}

// mention names a file in a text.
func mention(file abi.Part) string {
	if file.Name == "" {
		return "A file (" + file.Mime + ")"
	}
	return "The file " + file.Name + " (" + file.Mime + ")"
}
