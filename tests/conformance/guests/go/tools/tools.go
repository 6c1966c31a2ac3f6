package main

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/random"
	"github.com/plinthhost/plinth/sdk-plugins/go/tool"
)

func registerTools() {
	tool.Register("echo", echo)
	tool.Register("fail", fail)
	tool.Register("files", files)
	tool.Register("settings", func(tool.Call, struct{}) (tool.Output, error) {
		return tool.Output{Structured: configured}, nil
	})
	tool.Register("read", read)
	tool.Register("ask", ask)
	tool.Register("random", numbers)
	tool.Register("count", count)
	tool.Register("trap", func(tool.Call, struct{}) (tool.Output, error) { panic("the guest breaks") })
	tool.Register("spin", func(tool.Call, struct{}) (tool.Output, error) {
		for {
			calls++
		}
	})
}

func echo(call tool.Call, input json.RawMessage) (tool.Output, error) {
	return tool.Output{Structured: map[string]any{
		"input": input, "call": abi.ToolCall{ID: call.ID, Message: call.Message}, "session": call.Session,
		"location": call.Location, "deadline_ms": call.Timeout.Milliseconds(), "meta": call.Meta,
	}}, nil
}

func fail(_ tool.Call, input abi.Error) (tool.Output, error) {
	return tool.Output{}, plinth.Errorf(input.Kind, "%s", input.Message)
}

// files answers content with bytes behind the message, one run per file.
func files(_ tool.Call, input struct{ Sizes []int }) (tool.Output, error) {
	output := tool.Output{Text: fmt.Sprintf("%d files", len(input.Sizes)), Title: "files"}
	total := 0
	for file, size := range input.Sizes {
		data := make([]byte, size)
		for at := range data {
			data[at] = byte(file*7 + at)
		}
		output.Files = append(output.Files, tool.File{Name: fmt.Sprint("file", file), Mime: "application/octet-stream", Data: data})
		total += size
	}
	output.Metadata = map[string]int{"bytes": total}
	return output, nil
}

func read(_ tool.Call, input abi.FSRead) (tool.Output, error) {
	file, err := host.Read(input)
	if err != nil {
		return tool.Output{}, err
	}
	hash := fnv.New32a()
	_, _ = hash.Write(file.Data)
	return tool.Output{Structured: map[string]any{
		"path": file.Info.Path, "size": file.Info.Size, "eof": file.EOF, "bytes": len(file.Data), "hash": hash.Sum32(),
	}}, nil
}

func ask(_ tool.Call, input struct {
	Op      string
	Request json.RawMessage
}) (tool.Output, error) {
	ok, _, err := host.Call[json.RawMessage, json.RawMessage](input.Op, input.Request)
	var told *abi.Error
	switch {
	case errors.As(err, &told):
		return tool.Output{Structured: abi.Answer[json.RawMessage]{Error: told}}, nil
	case err != nil:
		return tool.Output{}, err
	}
	return tool.Output{Structured: abi.Answer[json.RawMessage]{OK: &ok}}, nil
}

// numbers answers one of the SDK and one of the standard library.
func numbers(tool.Call, struct{}) (tool.Output, error) {
	var key [8]byte
	if _, err := cryptorand.Read(key[:]); err != nil {
		return tool.Output{}, err
	}
	return tool.Output{Structured: map[string]any{"numbers": []string{
		fmt.Sprintf("%016x", random.Rand().Uint64()), fmt.Sprintf("%016x", binary.BigEndian.Uint64(key[:])),
	}}}, nil
}

var calls int

func count(tool.Call, struct{}) (tool.Output, error) {
	calls++
	return tool.Output{Structured: map[string]int{"calls": calls}}, nil
}
