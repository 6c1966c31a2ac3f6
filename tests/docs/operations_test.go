package docs

import (
	"fmt"
	"reflect"
	"testing"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/bridge"
	"github.com/plinthhost/plinth/host/fsys"
)

// TestOperations holds docs/reference/operations.md to what the host offers guests.
func TestOperations(t *testing.T) {
	messages := map[string]struct{ request, answer any }{
		abi.OpLog:      {abi.Log{}, abi.None{}},
		abi.OpProgress: {abi.Progress{}, abi.None{}},
		abi.OpFSStat:   {abi.FSStat{}, abi.FileInfo{}},
		abi.OpFSList:   {abi.FSList{}, abi.FSListed{}},
		abi.OpFSRead:   {abi.FSRead{}, abi.FSReadOK{}},
	}
	s := newShapes(t)
	all := table{head: []string{"operation", "permission action", "resource", "grant", "limits", "errors"}, written: 5}
	tables := map[string]table{}
	for _, name := range bridge.Offered() {
		message, ok := messages[name]
		if !ok {
			t.Errorf("%s is offered; say in this test what its messages are", name)
			continue
		}
		all.rows = append(all.rows, []string{code(name)})
		tables[name+" request"] = s.fields(reflect.TypeOf(message.request))
		if answer := reflect.TypeOf(message.answer); answer == reflect.TypeFor[abi.FileInfo]() {
			s.mention(answer)
		} else {
			tables[name+" answer"] = s.fields(answer)
		}
	}
	tables["operations"] = all
	s.mentioned(tables)
	delete(tables, "Bytes") // a reference into the message, which the page explains
	tables["kinds"] = table{head: []string{"kind", "means"}, rows: rowsOfConstants(t, "abi/v1", typed("Kind")), written: 1}
	hold(t, "docs/reference/operations.md", tables)
	mustContain(t, "docs/reference/operations.md",
		fmt.Sprintf("%d MiB a call", bridge.MaxReadBytes>>20), grouped(fsys.MaxPage)+" entries a page",
		fmt.Sprintf("%d KiB", bridge.MaxSourceBytes>>10), fmt.Sprintf("%d ms", bridge.ContextDeadline.Milliseconds()),
		fmt.Sprintf("%d s", int(bridge.DefaultToolTimeout.Seconds())))
}
