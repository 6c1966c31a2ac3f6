package wire

import (
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// Media are the files that a model can look at.
type Media struct{ Image, PDF bool }

// ReadMedia reads the option called key, a list of "image" and "pdf"; nil is both.
func ReadMedia(key string, list *[]string) (Media, error) {
	if list == nil {
		return Media{Image: true, PDF: true}, nil
	}
	for _, kind := range *list {
		if kind != "image" && kind != "pdf" {
			return Media{}, plinth.Errorf(abi.KindInvalidInput, "options.%s has %q in it; there are image and pdf", key, kind)
		}
	}
	return Media{Image: slices.Contains(*list, "image"), PDF: slices.Contains(*list, "pdf")}, nil
}

// PDF is the type of the documents.
const PDF = "application/pdf"

// Image reports whether a type is one of the images that all protocols take.
func Image(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// Takes reports whether the model can look at a file.
func (m Media) Takes(file abi.Part) bool {
	return m.Image && Image(file.Mime) || m.PDF && file.Mime == PDF
}

// Unseen is what a model is told of a file that it cannot look at.
func Unseen(file abi.Part) string { return Mention(file) + ", which this model cannot look at" }
