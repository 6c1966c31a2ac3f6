// Command new-plugin is a plugin with one tool: it counts the words, lines or bytes of a
// text file.
package main

import (
	"bytes"
	"strconv"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

// input is what the model gives. The schema it is shown, new-plugin.schema.json, is made
// of this type: change it here, then run plinth plugin test --update.
type input struct {
	Path string `json:"path" doc:"A text file, relative to the working directory" min:"1"`
	Unit string `json:"unit,omitempty" doc:"What to count; words when left out" enum:"words,lines,bytes"`
}

// output is for programs; the model reads the text beside it.
type output struct {
	Count int    `json:"count"`
	Unit  string `json:"unit"`
}

// A module runs package initialisation and never main, so the tool is registered here.
func init() { tool.Register("new-plugin", count) }

func main() {}

func count(_ tool.Call, in input) (tool.Output, error) {
	// A plugin opens nothing itself: the host does, after it has asked for permission.
	file, err := host.Read(abi.FSRead{Path: abi.Path{Path: in.Path}})
	if err != nil {
		return tool.Output{}, err
	}
	if !file.EOF {
		return tool.Output{}, plinth.Errorf(abi.KindLimit, "%s is larger than 1 MiB", in.Path)
	}
	unit := in.Unit
	if unit == "" {
		unit = "words"
	}
	n := len(file.Data)
	switch unit {
	case "words":
		n = len(bytes.Fields(file.Data))
	case "lines":
		n = bytes.Count(file.Data, []byte("\n"))
	}
	return tool.Output{
		Title:      file.Info.Name,
		Text:       file.Info.Path + " has " + strconv.Itoa(n) + " " + unit,
		Structured: output{Count: n, Unit: unit},
	}, nil
}
