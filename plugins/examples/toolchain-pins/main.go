// Command toolchain-pins is an example of a context source: it tells the model which
// versions of languages and tools the project pins, so that it writes for these.
package main

import (
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/host"
	"github.com/plinthhost/plinth/sdk-plugins/go/source"
)

// key is the source's, as the manifest has it.
const key = "example/toolchain-pins"

// Limits of what is read and told.
const (
	maxFileBytes = 64 << 10 // of a file; pins stand near its begin
	maxPins      = 40
	maxTextBytes = 100 // of a name or a version
)

// value is what the host compares: the model is told anew when it differs.
type value struct {
	Pins []pin `json:"pins"`
}

// pin is one version that a file asks for.
type pin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	File    string `json:"file"`
}

func init() { source.Register(observe) }

func main() {}

func observe(abi.ContextObserve) ([]abi.SourceState, error) {
	pins, err := gather()
	switch {
	case err != nil:
		host.Log("warn", err.Error())
		return []abi.SourceState{source.Unavailable(key)}, nil // what was told stands
	case len(pins) == 0:
		return []abi.SourceState{source.Absent(key)}, nil
	}
	list := told(pins)
	state, err := source.Value(key, value{pins}, source.Texts{
		Baseline: "Versions that this project pins; write for these:" + list,
		Update:   "The versions that this project pins have changed. They are now:" + list,
		Removed:  "This project pins no versions any more.",
	})
	return []abi.SourceState{state}, err
}

// gather reads every file that may pin something.
func gather() ([]pin, error) {
	var pins []pin
	for _, file := range files() {
		read, err := host.Read(abi.FSRead{Path: abi.Path{Root: "project", Path: file.name}, Length: maxFileBytes})
		if err != nil {
			if passedOver(err) {
				continue
			}
			return nil, err
		}
		for _, found := range file.read(string(read.Data)) {
			found.File, found.Name, found.Version = file.name, clean(found.Name), clean(found.Version)
			if found.Name != "" && found.Version != "" && len(pins) < maxPins {
				pins = append(pins, found)
			}
		}
	}
	return pins, nil
}

// passedOver reports whether there is no such file, or a folder in its place, or one that may
// not be read.
func passedOver(err error) bool {
	kind := plinth.KindOf(err)
	return kind == abi.KindNotFound || kind == abi.KindDenied || kind == abi.KindInvalidInput
}

// clean is text of the project's in one short line.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.TrimSpace(text))
	return strings.ToValidUTF8(text[:min(len(text), maxTextBytes)], "")
}

// told is a line for each pin.
func told(pins []pin) string {
	var b strings.Builder
	for _, pin := range pins {
		b.WriteString("\n- " + pin.Name + " " + pin.Version + " (" + pin.File + ")")
	}
	return b.String()
}
