package host

import (
	"fmt"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

func init() {
	guest.Warm(abi.FSStat{})
	guest.Warm(abi.Answer[abi.FileInfo]{OK: &abi.FileInfo{}})
	guest.Warm(abi.FSList{})
	guest.Warm(abi.Answer[abi.FSListed]{OK: &abi.FSListed{Entries: make([]abi.FileInfo, 1)}})
	guest.Warm(abi.FSRead{})
	guest.Warm(abi.Answer[abi.FSReadOK]{OK: &abi.FSReadOK{}})
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
	return ask[abi.FSStat, abi.FileInfo](abi.OpFSStat, abi.FSStat{Path: path})
}

// List answers a page of a directory's children.
func List(request abi.FSList) (abi.FSListed, error) {
	return ask[abi.FSList, abi.FSListed](abi.OpFSList, request)
}

// Read answers a range of a file's bytes.
func Read(request abi.FSRead) (File, error) {
	ok, raw, err := Call[abi.FSRead, abi.FSReadOK](abi.OpFSRead, request)
	if err != nil {
		return File{}, err
	}
	data, err := ok.Data.Of(raw)
	if err != nil {
		return File{}, fmt.Errorf("read the answer of %s: %w", abi.OpFSRead, err)
	}
	return File{Info: ok.Info, Data: data, EOF: ok.EOF}, nil
}

// Attach keeps a whole file at the host and answers its name, which a tool can put
// into its output: the file's bytes do not pass through the plugin.
func Attach(path abi.Path) (abi.FSAttached, error) {
	return ask[abi.FSAttach, abi.FSAttached](abi.OpFSAttach, abi.FSAttach{Path: path})
}

// Glob finds files by their path.
func Glob(request abi.FSGlob) (abi.FSFound, error) {
	return ask[abi.FSGlob, abi.FSFound](abi.OpFSGlob, request)
}

// Grep finds lines by what is in them.
func Grep(request abi.FSGrep) (abi.FSMatched, error) {
	return ask[abi.FSGrep, abi.FSMatched](abi.OpFSGrep, request)
}
