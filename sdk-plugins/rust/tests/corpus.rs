//! Every message of the contract's corpus is decoded and encoded again to the same bytes.

use base64::Engine;
use plinth::abi::*;
use plinth::Result;
use serde::{de::DeserializeOwned, Deserialize, Serialize};
use std::fs;

#[derive(Deserialize)]
struct Example {
    json: String,
    #[serde(default)]
    raw: String,
}

/// Decodes JSON as a `T` and encodes that.
fn again<T: DeserializeOwned + Serialize>(json: &Json) -> Result<Json> {
    Json::of(&json.read::<T>()?)
}

/// How a message is read, by the name of its file.
fn form(name: &str) -> fn(&Json) -> Result<Json> {
    match name {
        "plinth_init.call" => again::<Call<Init>>,
        "plinth_init.answer" => again::<Answer<None>>,
        "plinth_tool_execute.call" => again::<Call<ToolExecute>>,
        "plinth_tool_execute.answer" => again::<Answer<ToolOutput>>,
        "plinth_context_observe.call" => again::<Call<ContextObserve>>,
        "plinth_context_observe.answer" => again::<Answer<ContextObserved>>,
        "plinth_provider_encode.call" => again::<Call<ProviderEncode>>,
        "plinth_provider_encode.answer" => again::<Answer<ProviderEncoded>>,
        "plinth_provider_decode.call" => again::<Call<ProviderDecode>>,
        "plinth_provider_decode.answer" => again::<Answer<ProviderDecoded>>,
        "plinth_provider_classify.call" => again::<Call<ProviderClassify>>,
        "plinth_provider_classify.answer" => again::<Answer<ProviderError>>,
        "plinth_transform_apply.call" => again::<Call<TransformApply>>,
        "plinth_transform_apply.answer" => again::<Answer<TransformEdits>>,
        "blob_text" => again::<BlobText>,
        "batch.request" => again::<Batch>,
        "batch.answer" => again::<Answer<BatchOk>>,
        "log.request" => again::<Log>,
        "log.answer" => again::<Answer<None>>,
        "progress.request" => again::<Progress>,
        "progress.answer" => again::<Answer<None>>,
        "fs.stat.request" => again::<Path>,
        "fs.stat.answer" => again::<Answer<FileInfo>>,
        "fs.list.request" => again::<FsList>,
        "fs.list.answer" => again::<Answer<FsListed>>,
        "fs.read.request" => again::<FsRead>,
        "fs.read.answer" => again::<Answer<FsReadOk>>,
        "fs.attach.request" => again::<Path>,
        "fs.attach.answer" => again::<Answer<FsAttached>>,
        "fs.glob.request" => again::<FsGlob>,
        "fs.glob.answer" => again::<Answer<FsFound>>,
        "fs.grep.request" => again::<FsGrep>,
        "fs.grep.answer" => again::<Answer<FsMatched>>,
        "fs.commit.request" => again::<FsCommit>,
        "fs.commit.answer" => again::<Answer<FsCommitted>>,
        "kv.get.request" => again::<KvGet>,
        "kv.get.answer" => again::<Answer<KvValue>>,
        "kv.set.request" => again::<KvSet>,
        "kv.set.answer" => again::<Answer<None>>,
        "kv.delete.request" => again::<KvDelete>,
        "kv.delete.answer" => again::<Answer<None>>,
        "kv.list.request" => again::<KvList>,
        "kv.list.answer" => again::<Answer<KvListed>>,
        "process.run.request" => again::<ProcessRun>,
        "process.run.answer" => again::<Answer<ProcessRan>>,
        "http.fetch.request" => again::<HttpFetch>,
        "http.fetch.answer" => again::<Answer<HttpFetched>>,
        "permission.ask.request" => again::<PermissionAsk>,
        "permission.ask.answer" => again::<Answer<None>>,
        "permission.check.request" => again::<PermissionCheck>,
        "permission.check.answer" => again::<Answer<PermissionChecked>>,
        "question.ask.request" => again::<QuestionAsk>,
        "question.ask.answer" => again::<Answer<QuestionAnswered>>,
        "task.run.request" => again::<TaskRun>,
        "task.run.answer" => again::<Answer<TaskRan>>,
        "todo.get.request" => again::<None>,
        "todo.get.answer" => again::<Answer<TodoList>>,
        "todo.set.request" => again::<TodoList>,
        "todo.set.answer" => again::<Answer<TodoList>>,
        "skill.list.request" => again::<None>,
        "skill.list.answer" => again::<Answer<SkillListed>>,
        "skill.get.request" => again::<SkillGet>,
        "skill.get.answer" => again::<Answer<SkillText>>,
        "session.info.request" => again::<None>,
        "session.info.answer" => again::<Answer<SessionInfo>>,
        _ => panic!("{name} has no form"),
    }
}

const FORMS: usize = 65;

#[test]
fn the_corpus_keeps_its_bytes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../abi/v1/testdata/corpus");
    let mut files = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let examples: Vec<Example> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert!(!examples.is_empty(), "{name} has no example");
        files += 1;
        for Example { json, raw } in examples {
            let raw = base64::engine::general_purpose::STANDARD.decode(raw).unwrap();
            let message = encode_message(json.as_bytes(), &raw);
            let (body, behind) = decode_message(&message).unwrap();
            assert_eq!(behind, raw, "{name}");
            let body = Json::parse(std::str::from_utf8(body).unwrap()).unwrap();
            let got = form(name)(&body).unwrap_or_else(|error| panic!("{name}: {error} in {json}"));
            assert_eq!(got.text(), json, "{name}");
        }
    }
    assert_eq!(files, FORMS);
}
