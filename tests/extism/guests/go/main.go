// A plugin built with Extism's Go PDK, by TinyGo and by Go. Its entries are the
// same as those of the guests in other languages, so that the tests are as well.
package main

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmexport plinth_abi_1
func marker() {}

//go:wasmimport extism:host/user host_call
func hostCall(operation, request uint64) uint64

func ask(operation string, request []byte) []byte {
	name, body := pdk.AllocateString(operation), pdk.AllocateBytes(request)
	defer name.Free()
	defer body.Free()
	answer := pdk.FindMemory(hostCall(name.Offset(), body.Offset()))
	defer answer.Free()
	return answer.ReadBytes()
}

//go:wasmexport echo
func echo() int32 {
	pdk.Output(pdk.Input())
	return 0
}

//go:wasmexport vowels
func vowels() int32 {
	count := 0
	for _, letter := range strings.ToLower(pdk.InputString()) {
		if strings.ContainsRune("aeiou", letter) {
			count++
		}
	}
	pdk.OutputString(strconv.Itoa(count))
	return 0
}

//go:wasmexport setting
func setting() int32 {
	colour, ok := pdk.GetConfig("colour")
	if !ok {
		colour = "none"
	}
	if _, ok := pdk.GetConfig("flavour"); !ok {
		colour += ", no flavour"
	}
	pdk.OutputString(colour)
	return 0
}

//go:wasmexport variable
func variable() int32 {
	before := len(pdk.GetVar("name"))
	pdk.SetVar("name", pdk.Input())
	kept := string(pdk.GetVar("name"))
	pdk.RemoveVar("name")
	pdk.OutputString(strconv.Itoa(before) + " " + kept + " " + strconv.Itoa(len(pdk.GetVar("name"))))
	return 0
}

//go:wasmexport logs
func logs() int32 {
	pdk.Log(pdk.LogInfo, "about "+pdk.InputString())
	pdk.Log(pdk.LogWarn, "careful")
	pdk.Log(pdk.LogError, "broken")
	return 0
}

//go:wasmexport fail
func fail() int32 {
	pdk.SetError(errors.New("cannot do " + pdk.InputString()))
	return 1
}

//go:wasmexport crash
func crash() int32 {
	panic("on purpose")
}

//go:wasmexport operate
func operate() int32 {
	pdk.Output(append(ask("echo", pdk.Input()), ask("nothing", nil)...))
	return 0
}

//go:wasmexport fetch
func fetch() int32 {
	answer := pdk.NewHTTPRequest(pdk.MethodGet, "http://127.0.0.1:1/").Send()
	pdk.OutputString(strconv.Itoa(int(answer.Status())))
	return 0
}

//go:wasmexport plinth_tool_execute
func tool() int32 {
	message := pdk.Input()
	if len(message) < 4 || int(binary.LittleEndian.Uint32(message)) > len(message)-4 {
		pdk.SetErrorString("this is no message")
		return 1
	}
	ask("log", encode(`{"level":"info","message":"the tool runs"}`))
	pdk.Output(encode(`{"ok":{"content":[{"type":"text","text":"done by Extism"}]}}`))
	return 0
}

// encode makes a message without bytes.
func encode(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}
