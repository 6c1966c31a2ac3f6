package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/process"
)

// requests that would succeed, by operation, if everything were granted.
func requests() map[string]string {
	return map[string]string{
		abi.OpBatch:           `{"operations":[{"operation":"fs.read","request":{"path":"a.txt"}}]}`,
		abi.OpFSAttach:        `{"path":"a.txt"}`,
		abi.OpFSCommit:        `{"changes":[{"op":"write","path":"made","text":"x"}]}`,
		abi.OpFSGlob:          `{"pattern":"**"}`,
		abi.OpFSGrep:          `{"pattern":"alpha"}`,
		abi.OpFSList:          `{"path":"."}`,
		abi.OpFSRead:          `{"path":"a.txt"}`,
		abi.OpFSStat:          `{"path":"a.txt"}`,
		abi.OpHTTPFetch:       `{"url":"http://127.0.0.1:1/"}`,
		abi.OpKVDelete:        `{"key":"k"}`,
		abi.OpKVGet:           `{"key":"k"}`,
		abi.OpKVList:          `{}`,
		abi.OpKVSet:           `{"key":"k","value":1}`,
		abi.OpLog:             `{"level":"info","message":"x"}`,
		abi.OpPermissionAsk:   `{"action":"bash","resources":["ls"]}`,
		abi.OpPermissionCheck: `{"action":"bash","resources":["ls"]}`,
		abi.OpProcessRun:      `{"command":"touch made"}`,
		abi.OpProgress:        `{"text":"x"}`,
		abi.OpQuestionAsk:     `{"questions":[{"header":"h","text":"t","custom":true}]}`,
		abi.OpSessionInfo:     `{}`,
		abi.OpSkillGet:        `{"name":"go"}`,
		abi.OpSkillList:       `{}`,
		abi.OpTaskRun:         `{"description":"d","prompt":"p","agent":"build"}`,
		abi.OpTodoGet:         `{}`,
		abi.OpTodoSet:         `{"todos":[]}`,
	}
}

// harmless operations need no grant: they show, ask or answer something, and change
// nothing.
var harmless = map[string]bool{abi.OpBatch: true, abi.OpLog: true, abi.OpProgress: true, abi.OpPermissionAsk: true, abi.OpPermissionCheck: true}

// A tool that asks for nothing and tries everything gets nothing: each operation of
// the table is denied for want of a grant, and has no effect, whatever the rules
// allow.
func TestWithoutAGrantNothingIsGot(t *testing.T) {
	r := newRig(t).stored(t).running(t, process.Options{})
	r.reach.Grants = Grants{}
	before := tree(t, filepath.Dir(r.location.Root))
	tries := requests()
	for _, operation := range Table() {
		request, ok := tries[operation.Name]
		if !ok {
			t.Fatalf("%s is not tried", operation.Name)
		}
		if (operation.Grant == "") != harmless[operation.Name] {
			t.Errorf("%s needs the grant %q", operation.Name, operation.Grant)
		}
		if harmless[operation.Name] {
			continue
		}
		for _, refused := range []abi.Error{failure(t, r.ask(t, operation.Name, request)), inBatch(t, r, operation.Name, request)} {
			if refused.Kind != abi.KindDenied || !strings.Contains(refused.Message, "its manifest must ask for it with [") {
				t.Errorf("%s: %s: %s", operation.Name, refused.Kind, refused.Message)
			}
		}
	}
	if diff := cmp.Diff(before, tree(t, filepath.Dir(r.location.Root))); diff != "" {
		t.Errorf("files changed: %s", diff)
	}
	if len(r.host.asked)+len(r.host.tasks)+len(r.host.questions)+len(r.host.todos) != 0 {
		t.Errorf("%+v", r.host)
	}
	for _, namespace := range []string{"plugin:acme/test", "plugin:acme/test:ses_1"} {
		if keys, err := r.reach.Store.kv.List(t.Context(), namespace, "", "", 10); err != nil || len(keys) > 0 {
			t.Errorf("stored: %v, %v", keys, err)
		}
	}
	for operation, count := range r.plugin.Counts.All() {
		if !harmless[operation] && (count.Made != 2 || count.Denied != 2 || count.Failed != 0) {
			t.Errorf("%s: %+v", operation, count)
		}
	}
}

// With the grants, and a rule that denies everything, nothing is got either.
func TestWhatIsGrantedIsStillDenied(t *testing.T) {
	r := newRig(t).stored(t).running(t, process.Options{})
	r.host.rules = nil
	r.host.rules = append(r.host.rules, rule("*", "*", "deny"))
	before := tree(t, filepath.Dir(r.location.Root))
	tries := requests()
	for _, operation := range Table() {
		if operation.Action == "" || operation.Name == abi.OpHTTPFetch {
			continue
		}
		refused := failure(t, r.ask(t, operation.Name, tries[operation.Name]))
		if refused.Kind != abi.KindDenied || !strings.Contains(refused.Message, "is denied by the permission rules") && operation.Name != abi.OpFSCommit {
			t.Errorf("%s: %s: %s", operation.Name, refused.Kind, refused.Message)
		}
	}
	if diff := cmp.Diff(before, tree(t, filepath.Dir(r.location.Root))); diff != "" {
		t.Errorf("files changed: %s", diff)
	}
}

// A grant to read is none to write.
func TestAGrantToReadIsNoneToWrite(t *testing.T) {
	r := newRig(t)
	r.reach.Roots = map[string]Access{RootLocation: AccessRead, RootConfig: AccessRead}
	for _, root := range []string{"", "location", "project", "config", "outside", "/"} {
		request := fmt.Sprintf(`{"root":%q,"changes":[{"op":"write","path":"made","text":"x"}]}`, root)
		if refused := failure(t, r.ask(t, abi.OpFSCommit, request)); refused.Kind != abi.KindDenied || !strings.Contains(refused.Message, grantWrite) {
			t.Errorf("%q: %s: %s", root, refused.Kind, refused.Message)
		}
	}
	// The name of the root for what is outside is none that a guest may say.
	r.reach.Roots["outside"] = AccessRead
	if refused := failure(t, r.ask(t, abi.OpFSRead, `{"root":"outside","path":"/etc/hostname"}`)); refused.Kind != abi.KindInvalidInput {
		t.Errorf("%+v", refused)
	}
}

// inBatch asks for one operation in a batch and answers its error.
func inBatch(t *testing.T, r *rig, operation, request string) abi.Error {
	t.Helper()
	answer := read[abi.BatchOK](t, r.ask(t, abi.OpBatch, fmt.Sprintf(`{"operations":[{"operation":%q,"request":%s}]}`, operation, request)))
	if answer.Answers[0].Error == nil {
		return abi.Error{}
	}
	return *answer.Answers[0].Error
}

// tree is every file below a folder with its content.
func tree(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		all = append(all, path+": "+string(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
