// Command files is the plugin core/files: the tools with which a model looks at files.
// read shows one, or the entries of a directory; list shows a tree; glob finds files by
// name and grep by what is in them. The host asks for permission, keeps paths inside the
// location, walks folders and refuses what is no file; this side makes what the model is
// shown.
package main

import (
	"encoding/json"

	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

func init() {
	tool.Register("read", read)
	tool.Register("list", list)
	tool.Register("glob", glob)
	tool.Register("grep", grep)
	plinth.Prepare(func() error {
		for _, sample := range []any{result{}, listResult{}, globResult{}, grepResult{}} {
			if _, err := json.Marshal(sample); err != nil {
				return err
			}
		}
		return nil
	})
}

func main() {}
