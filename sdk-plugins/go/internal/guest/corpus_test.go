package guest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// again decodes JSON as a T and encodes that.
func again[T any](text []byte) ([]byte, error) {
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return guest.Marshal(value)
}

type (
	recode = func([]byte) ([]byte, error)
	none   = abi.None
)

// forms has how each message of the corpus is read, by the name of its file.
var forms = map[string]recode{
	"plinth_init.call": again[abi.Call[abi.Init]], "plinth_init.answer": again[abi.Answer[none]],
	"plinth_tool_execute.call": again[abi.Call[abi.ToolExecute]], "plinth_tool_execute.answer": again[abi.Answer[abi.ToolOutput]],
	"plinth_context_observe.call": again[abi.Call[abi.ContextObserve]], "plinth_context_observe.answer": again[abi.Answer[abi.ContextObserved]],
	"plinth_provider_encode.call": again[abi.Call[abi.ProviderEncode]], "plinth_provider_encode.answer": again[abi.Answer[abi.ProviderEncoded]],
	"plinth_provider_decode.call": again[abi.Call[abi.ProviderDecode]], "plinth_provider_decode.answer": again[abi.Answer[abi.ProviderDecoded]],
	"plinth_provider_classify.call": again[abi.Call[abi.ProviderClassify]], "plinth_provider_classify.answer": again[abi.Answer[abi.ProviderError]],
	"plinth_transform_apply.call": again[abi.Call[abi.TransformApply]], "plinth_transform_apply.answer": again[abi.Answer[abi.TransformEdits]],
	"blob_text":     again[abi.BlobText],
	"batch.request": again[abi.Batch], "batch.answer": again[abi.Answer[abi.BatchOK]],
	"log.request": again[abi.Log], "log.answer": again[abi.Answer[none]],
	"progress.request": again[abi.Progress], "progress.answer": again[abi.Answer[none]],
	"fs.stat.request": again[abi.FSStat], "fs.stat.answer": again[abi.Answer[abi.FileInfo]],
	"fs.list.request": again[abi.FSList], "fs.list.answer": again[abi.Answer[abi.FSListed]],
	"fs.read.request": again[abi.FSRead], "fs.read.answer": again[abi.Answer[abi.FSReadOK]],
	"fs.attach.request": again[abi.FSAttach], "fs.attach.answer": again[abi.Answer[abi.FSAttached]],
	"fs.glob.request": again[abi.FSGlob], "fs.glob.answer": again[abi.Answer[abi.FSFound]],
	"fs.grep.request": again[abi.FSGrep], "fs.grep.answer": again[abi.Answer[abi.FSMatched]],
	"fs.commit.request": again[abi.FSCommit], "fs.commit.answer": again[abi.Answer[abi.FSCommitted]],
	"kv.get.request": again[abi.KVGet], "kv.get.answer": again[abi.Answer[abi.KVValue]],
	"kv.set.request": again[abi.KVSet], "kv.set.answer": again[abi.Answer[none]],
	"kv.delete.request": again[abi.KVDelete], "kv.delete.answer": again[abi.Answer[none]],
	"kv.list.request": again[abi.KVList], "kv.list.answer": again[abi.Answer[abi.KVListed]],
	"process.run.request": again[abi.ProcessRun], "process.run.answer": again[abi.Answer[abi.ProcessRan]],
	"http.fetch.request": again[abi.HTTPFetch], "http.fetch.answer": again[abi.Answer[abi.HTTPFetched]],
	"permission.ask.request": again[abi.PermissionAsk], "permission.ask.answer": again[abi.Answer[none]],
	"permission.check.request": again[abi.PermissionCheck], "permission.check.answer": again[abi.Answer[abi.PermissionChecked]],
	"question.ask.request": again[abi.QuestionAsk], "question.ask.answer": again[abi.Answer[abi.QuestionAnswered]],
	"task.run.request": again[abi.TaskRun], "task.run.answer": again[abi.Answer[abi.TaskRan]],
	"todo.get.request": again[none], "todo.get.answer": again[abi.Answer[abi.TodoList]],
	"todo.set.request": again[abi.TodoList], "todo.set.answer": again[abi.Answer[abi.TodoList]],
	"skill.list.request": again[none], "skill.list.answer": again[abi.Answer[abi.SkillListed]],
	"skill.get.request": again[abi.SkillGet], "skill.get.answer": again[abi.Answer[abi.SkillText]],
	"session.info.request": again[none], "session.info.answer": again[abi.Answer[abi.SessionInfo]],
}

// Every message of the contract's corpus is decoded and encoded again to the same bytes.
func TestCorpus(t *testing.T) {
	const corpus = "../../../../abi/v1/testdata/corpus"
	files, err := os.ReadDir(corpus)
	if err != nil || len(files) != len(forms) {
		t.Fatalf("%d files for %d forms: %v", len(files), len(forms), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".json")
		text, err := os.ReadFile(filepath.Join(corpus, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var examples []struct {
			JSON string
			Raw  []byte
		}
		if err := json.Unmarshal(text, &examples); err != nil || len(examples) == 0 {
			t.Fatalf("%s has %d examples: %v", name, len(examples), err)
		}
		recode, ok := forms[name]
		if !ok {
			t.Errorf("%s has no form", name)
			continue
		}
		for _, one := range examples {
			body, raw, err := abi.DecodeMessage(abi.EncodeMessage([]byte(one.JSON), one.Raw))
			if err != nil || string(raw) != string(one.Raw) {
				t.Fatalf("%s: %v", name, err)
			}
			if got, err := recode(body); err != nil || string(got) != one.JSON {
				t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, one.JSON)
			}
		}
	}
}
