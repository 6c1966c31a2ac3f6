package main

import (
	"bytes"
	"path"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
)

// sample is how much of a file's start says whether it is text.
const sample = 8 << 10

// checkText refuses what is no text, told by the start of the file first and then
// by its name.
func checkText(name string, start []byte) error {
	if binaryName(name) || manyControls(start[:min(len(start), sample)]) {
		return binary(name)
	}
	return checkNUL(name, start)
}

func checkNUL(name string, data []byte) error {
	if bytes.IndexByte(data, 0) >= 0 {
		return binary(name)
	}
	return nil
}

func binary(name string) error {
	return plinth.Errorf(abi.KindInvalidInput, "%s is a binary file; this tool shows text, images, PDF documents and directories", name)
}

func notUTF8(name string) error {
	return plinth.Errorf(abi.KindInvalidInput, "%s is not UTF-8 text; this tool shows UTF-8 text, images, PDF documents and directories", name)
}

// mediaType tells what a model can look at by its first bytes: the formats of images
// that models know, and PDF. Anything else is "".
func mediaType(start []byte) string {
	switch {
	case bytes.HasPrefix(start, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(start, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(start, []byte("GIF87a")), bytes.HasPrefix(start, []byte("GIF89a")):
		return "image/gif"
	case len(start) >= 14 && string(start[:4]) == "RIFF" && string(start[8:14]) == "WEBPVP":
		return "image/webp"
	case bytes.HasPrefix(start, []byte("%PDF-")):
		return "application/pdf"
	}
	return ""
}

// binaryName knows names whose content may look like text for a while.
func binaryName(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".zip", ".tar", ".gz", ".exe", ".dll", ".so", ".class", ".jar", ".war", ".7z",
		".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".ods", ".odp",
		".bin", ".dat", ".obj", ".o", ".a", ".lib", ".wasm", ".pyc", ".pyo":
		return true
	}
	return false
}

// manyControls reports whether more than 30 of 100 bytes are control characters
// that text does not use.
func manyControls(data []byte) bool {
	controls := 0
	for _, c := range data {
		if c < ' ' && (c < '\t' || c > '\r') && c != 0x1b || c == 0x7f {
			controls++
		}
	}
	return controls*100 > len(data)*30
}
