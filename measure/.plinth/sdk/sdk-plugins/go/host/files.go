package host

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

func init() {
	guest.Warm(abi.FSList{})
	guest.Warm(abi.Answer[abi.FSListed]{OK: &abi.FSListed{Entries: make([]abi.FileInfo, 1)}})
}

// File is what Read answers.
type File struct {
	Info abi.FileInfo
	Data []byte
	// EOF is set when Data reaches the end of the file.
	EOF bool
}

// Stat describes a file or a directory.
func Stat(path abi.Path) (abi.FileInfo, error) {
	ok, _, err := exchange(abi.OpFSStat, sealed(append(appendPath(newMessage(), path), '}')))
	if err != nil {
		return abi.FileInfo{}, err
	}
	r := jsonscan.NewReader(ok)
	info := readFileInfo(&r)
	if !r.End() {
		return abi.FileInfo{}, unreadable(abi.OpFSStat, r.Err())
	}
	return info, nil
}

// List answers a page of a directory's children.
func List(request abi.FSList) (abi.FSListed, error) {
	return ask[abi.FSList, abi.FSListed](abi.OpFSList, request)
}

// Read answers a range of a file's bytes.
func Read(request abi.FSRead) (File, error) {
	message := appendPath(newMessage(), request.Path)
	message = jsonscan.AppendIntField(message, "offset", request.Offset)
	message = jsonscan.AppendIntField(message, "length", request.Length)
	ok, raw, err := exchange(abi.OpFSRead, sealed(append(message, '}')))
	if err != nil {
		return File{}, err
	}
	answer, err := readFSRead(ok)
	if err != nil {
		return File{}, unreadable(abi.OpFSRead, err)
	}
	data, err := answer.Data.Of(raw)
	if err != nil {
		return File{}, unreadable(abi.OpFSRead, err)
	}
	return File{Info: answer.Info, Data: data, EOF: answer.EOF}, nil
}

// Attach keeps a whole file at the host and answers its name, which a tool can put
// into its output: the file's bytes do not pass through the plugin.
func Attach(path abi.Path) (abi.FSAttached, error) {
	return ask[abi.FSAttach, abi.FSAttached](abi.OpFSAttach, abi.FSAttach{Path: path})
}
