// Package host is what a plugin may ask of the program that runs it. Every
// operation needs a grant and obeys the call's deadline. Failures are *abi.Error
// and keep the host's kind: plinth.KindOf tells a missing file from a refusal.
package host

import (
	"encoding/json"
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
	info, _, err := Call[abi.FSStat, abi.FileInfo](abi.OpFSStat, abi.FSStat{Path: path})
	return info, err
}

// List answers a page of a directory's children.
func List(request abi.FSList) (abi.FSListed, error) {
	listed, _, err := Call[abi.FSList, abi.FSListed](abi.OpFSList, request)
	return listed, err
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

// Log writes a line to the plugin's log. Level is debug, info, warn or error. A
// line the host refuses is lost: a plugin has nowhere else to say so.
func Log(level, message string) {
	_, _, _ = Call[abi.Log, abi.None](abi.OpLog, abi.Log{Level: level, Message: message})
}

// Progress shows a line to who watches the tool call that is under way.
func Progress(text string) {
	_, _, _ = Call[abi.Progress, abi.None](abi.OpProgress, abi.Progress{Text: text})
}

// Call asks for an operation by name: for operations this package has no function
// for yet. It answers the ok and the raw bytes that came with it.
func Call[Request, OK any](operation string, request Request) (ok OK, raw []byte, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return ok, nil, fmt.Errorf("encode the request of %s: %w", operation, err)
	}
	body, raw, err = abi.DecodeMessage(guest.Operate(operation, abi.EncodeMessage(body, nil)))
	if err != nil {
		return ok, nil, fmt.Errorf("read the answer of %s: %w", operation, err)
	}
	var answer abi.Answer[OK]
	if err := json.Unmarshal(body, &answer); err != nil {
		return ok, nil, fmt.Errorf("read the answer of %s: %w", operation, err)
	}
	switch {
	case answer.Error != nil:
		return ok, nil, answer.Error
	case answer.OK == nil:
		return ok, nil, fmt.Errorf("read the answer of %s: it has neither ok nor error", operation)
	}
	return *answer.OK, raw, nil
}
