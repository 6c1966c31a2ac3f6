package host

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

func init() {
	guest.Warm(abi.FSGlob{})
	guest.Warm(abi.FSGrep{Include: []string{""}})
}

// Glob finds files by their path.
func Glob(request abi.FSGlob) (abi.FSFound, error) {
	return search(abi.OpFSGlob, request, readFSFound)
}

// Grep finds lines by what is in them.
func Grep(request abi.FSGrep) (abi.FSMatched, error) {
	return search(abi.OpFSGrep, request, readFSMatched)
}

// search is ask with an answer that is read by hand: it may have thousands of files or
// lines.
func search[Request, OK any](operation string, request Request, read func(r *jsonscan.Reader) OK) (none OK, err error) {
	ok, _, err := rawAsk(operation, request)
	if err != nil {
		return none, err
	}
	r := jsonscan.NewReader(ok)
	found := read(&r)
	if !r.End() {
		return none, unreadable(operation, r.Err())
	}
	return found, nil
}

func readFSFound(r *jsonscan.Reader) (found abi.FSFound) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return found
		}
		switch key {
		case "files":
			found.Files = []abi.FileInfo{}
			for r.Array(); r.More(); {
				found.Files = append(found.Files, readFileInfo(r))
			}
		case "matched":
			found.Matched = int(r.Int())
		default:
			readPassed(r, key, &found.FSPassed)
		}
	}
}

// readPassed reads the value of one key of an abi.FSPassed, or passes over it.
func readPassed(r *jsonscan.Reader, key string, passed *abi.FSPassed) {
	switch key {
	case "asks":
		passed.Asks = int(r.Int())
	case "denied":
		passed.Denied = int(r.Int())
	case "unreadable":
		passed.Unreadable = int(r.Int())
	case "partial":
		passed.Partial = r.Bool()
	default:
		r.Skip()
	}
}

func readFSMatched(r *jsonscan.Reader) (matched abi.FSMatched) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return matched
		}
		switch key {
		case "files":
			matched.Files = []abi.FSMatchedFile{}
			for r.Array(); r.More(); {
				matched.Files = append(matched.Files, readMatchedFile(r))
			}
		case "matches":
			matched.Matches = int(r.Int())
		case "more":
			matched.More = r.Bool()
		default:
			readPassed(r, key, &matched.FSPassed)
		}
	}
}

func readMatchedFile(r *jsonscan.Reader) (file abi.FSMatchedFile) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return file
		}
		switch key {
		case "path":
			file.Path = r.String()
		case "lines":
			file.Lines = []abi.FSLine{}
			for r.Array(); r.More(); {
				file.Lines = append(file.Lines, readLine(r))
			}
		case "more":
			file.More = r.Bool()
		default:
			r.Skip()
		}
	}
}

func readLine(r *jsonscan.Reader) (line abi.FSLine) {
	for r.Object(); ; {
		key, ok := r.Next()
		if !ok {
			return line
		}
		switch key {
		case "number":
			line.Number = int(r.Int())
		case "text":
			line.Text = r.String()
		case "match":
			line.Match = r.Bool()
		case "cut":
			line.Cut = r.Bool()
		default:
			r.Skip()
		}
	}
}
