// Package docs holds the documentation to the program: tables of the reference
// follow the code, shell blocks run through the built binary, programs and
// manifests in the pages are built and loaded, and every link leads somewhere.
//
// `go test ./tests/docs -update` writes what follows from the code into the pages.
// What a person has to say stays as it is, and an empty cell is an error.
package docs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/plinthhost/plinth/tests/toolchains"
)

// root is the repository, from here.
const root = "../.."

var update = flag.Bool("update", false, "write what follows from the code into the pages")

var compilers = flag.String("toolchains", "go", toolchains.Help)

// programs is the folder of the built plinth and follow.
var programs string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "d-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = folder
	code := 1
	if build("plinth", "cmd/host") && build("follow", "docs/examples/follow") {
		code = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(code)
}

func build(name, folder string) bool {
	command := exec.Command("go", "build", "-o", filepath.Join(programs, name), "github.com/plinthhost/plinth/"+folder)
	command.Stderr = os.Stderr
	return command.Run() == nil
}

// program is the path of a built program.
func program(name string) string { return filepath.Join(programs, name) }
