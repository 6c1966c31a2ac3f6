package wire

import (
	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// MediaKinds are the files that a model can look at.
type MediaKinds struct{ Image, PDF bool }

// ReadMediaKinds reads the option named, a list of "image" and "pdf"; nil is both.
func ReadMediaKinds(option string, list *[]string) (kinds MediaKinds, err error) {
	if list == nil {
		return MediaKinds{Image: true, PDF: true}, nil
	}
	for _, kind := range *list {
		switch kind {
		case "image":
			kinds.Image = true
		case "pdf":
			kinds.PDF = true
		default:
			return kinds, plinth.Errorf(abi.KindInvalidInput, "%s has %q in it; there are image and pdf", option, kind)
		}
	}
	return kinds, nil
}

// Image reports whether a type is one of the images that all protocols take.
func Image(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// PDF is the type of the documents.
const PDF = "application/pdf"

// Takes reports whether the model can look at a file.
func (k MediaKinds) Takes(file abi.Part) bool {
	return k.Image && Image(file.Mime) || k.PDF && file.Mime == PDF
}

// NotShown stands for a file of the user's that the model cannot look at.
func NotShown(file abi.Part) string { return Mention(file) + ", which this model cannot look at" }
