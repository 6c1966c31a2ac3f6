package main

import (
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// maxMedia bounds a file that is shown as a whole, in bytes. Providers refuse larger
// ones, and every further request would carry it.
const maxMedia = 10 << 20

// media shows an image or a PDF document. The host keeps its bytes and sends them to
// the model; the text is for a model that cannot look at them.
func (in input) media(info abi.FileInfo, mime string) (tool.Output, error) {
	if info.Size > maxMedia {
		return tool.Output{}, plinth.Errorf(abi.KindLimit, "%s (%s) has %d bytes; images and documents of at most %d are shown", in.Path, mime, info.Size, maxMedia)
	}
	attached, err := host.Attach(abi.Path{Path: in.Path})
	if err != nil {
		return tool.Output{}, err
	}
	if attached.Mime != mime || attached.Info.Size > maxMedia {
		return tool.Output{}, changed(in.Path)
	}
	what := "an image"
	if mime == "application/pdf" {
		what = "a document"
	}
	return tool.Output{
		Text:       fmt.Sprintf("%s is shown as %s (%s, %d bytes)", info.Path, what, mime, attached.Info.Size),
		Files:      []tool.File{{Name: info.Name, Mime: mime, Blob: &attached.Blob}},
		Title:      info.Path,
		Structured: result{Type: "file", Path: info.Path, Offset: 1, Size: attached.Info.Size, Mime: mime},
	}, nil
}

func changed(name string) error {
	return plinth.Errorf(abi.KindConflict, "%s changed while it was read; read it again", name)
}
