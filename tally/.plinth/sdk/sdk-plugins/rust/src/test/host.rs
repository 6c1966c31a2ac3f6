use crate::abi::{self, decode_message, Bytes, FileInfo, FsList, FsListed, FsRead, FsReadOk, HttpFetch, HttpFetched, Json, KvValue, Path};
use crate::abi::{FILE_DIRECTORY, FILE_REGULAR};
use crate::guest::{fail, ok, with_operations};
use crate::{Error, Kind, Result};
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Answers one operation, named by the test: the request and the raw bytes behind it, to
/// the ok and the raw bytes behind that.
type Operation = Box<dyn Fn(&Json, &[u8]) -> Result<(Json, Vec<u8>)>>;

/// Answers operations from memory: files, the plugin's store, HTTP answers, permissions,
/// and whatever else a test names. It records what was asked for and what was logged.
///
/// ```
/// use plinth::{host, test::MockHost};
///
/// let host = MockHost::new()
///     .file("notes.txt", "hello")
///     .http("GET", "https://api.example/now", 200, r#"{"c": 21}"#)
///     .permission("deploy", "production", "deny");
/// let size = host.run(|| host::stat("notes.txt")).unwrap().size;
/// assert_eq!(size, 5);
/// assert_eq!(host.asked(), ["fs.stat location:notes.txt"]);
/// ```
#[derive(Clone, Default)]
pub struct MockHost {
    pub(super) state: Rc<RefCell<State>>,
}

#[derive(Default)]
pub(super) struct State {
    /// By root, then by path.
    pub(super) files: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    pub(super) location: String,
    /// By scope and key.
    pub(super) values: BTreeMap<(String, String), KvValue>,
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    http: BTreeMap<(String, String), (u16, BTreeMap<String, String>, Vec<u8>)>,
    permissions: BTreeMap<(String, String), String>,
    answers: BTreeMap<String, Rc<Operation>>,
    pub(super) asked: Vec<String>,
    fetched: Vec<(HttpFetch, Vec<u8>)>,
    lines: Vec<String>,
}

impl MockHost {
    /// A host with an empty Location and an empty store, that allows everything.
    pub fn new() -> MockHost {
        MockHost::default()
    }

    /// With a file below the Location.
    pub fn file(self, path: &str, content: impl Into<Vec<u8>>) -> MockHost {
        self.file_below("location", path, content)
    }

    /// With a file below another root: `project`, `config` or `operator`.
    pub fn file_below(self, root: &str, path: &str, content: impl Into<Vec<u8>>) -> MockHost {
        self.state.borrow_mut().files.entry(root.into()).or_default().insert(path.into(), content.into());
        self
    }

    /// With the absolute path of the Location: paths below it are understood too.
    pub fn location(self, directory: &str) -> MockHost {
        self.state.borrow_mut().location = directory.into();
        self
    }

    /// With a value in the plugin's store, in a scope.
    ///
    /// # Panics
    /// When the value is no JSON.
    pub fn value(self, scope: &str, key: &str, value: &impl Serialize) -> MockHost {
        let value = Json::of(value).unwrap_or_else(|error| panic!("the value of {key}: {error}"));
        self.state.borrow_mut().values.insert((scope.into(), key.into()), KvValue { value, version: 0 });
        self
    }

    /// With an answer to a request over HTTP. Any other request is refused.
    pub fn http(self, method: &str, url: &str, status: u16, body: impl Into<Vec<u8>>) -> MockHost {
        self.http_with(method, url, status, &[], body)
    }

    /// With an answer to a request over HTTP that has headers; their names are in lower
    /// case.
    pub fn http_with(self, method: &str, url: &str, status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> MockHost {
        let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        self.state.borrow_mut().http.insert((method.into(), url.into()), (status, headers, body.into()));
        self
    }

    /// With what is said to an action on a resource: `allow`, `ask` or `deny`. Anything
    /// else is allowed. To ask for what is `ask` is allowed: the person says yes.
    pub fn permission(self, action: &str, resource: &str, effect: &str) -> MockHost {
        self.state.borrow_mut().permissions.insert((action.into(), resource.into()), effect.into());
        self
    }

    /// With the answer to an operation that this host has nothing for, or in the place of
    /// what it has.
    pub fn answer<Q: DeserializeOwned, A: Serialize>(self, operation: &str, answer: impl Fn(Q) -> Result<A> + 'static) -> MockHost {
        self.answer_raw(operation, move |request, _| Ok((Json::of(&answer(request.read()?)?)?, Vec::new())))
    }

    /// [`answer`](MockHost::answer) where raw bytes come and go.
    pub fn answer_raw(self, operation: &str, answer: impl Fn(&Json, &[u8]) -> Result<(Json, Vec<u8>)> + 'static) -> MockHost {
        self.state.borrow_mut().answers.insert(operation.into(), Rc::new(Box::new(answer)));
        self
    }

    /// Is the host of this thread while `run` runs.
    pub fn run<T>(&self, run: impl FnOnce() -> T) -> T {
        let host = self.clone();
        let operations = move |operation: &str, request: &[u8]| {
            let answered = decode_message(request).and_then(|(body, raw)| {
                let body = Json::parse(String::from_utf8_lossy(body))?;
                host.serve(operation, &body, raw)
            });
            match answered {
                Ok((answer, raw)) => ok(&answer, &raw),
                Err(error) => fail(&error),
            }
        };
        with_operations(Box::new(operations), run)
    }

    /// The operations so far, in order: `fs.stat location:a.txt`, `http.fetch GET https://…`,
    /// `permission.ask deploy production`, or the name with the request.
    pub fn asked(&self) -> Vec<String> {
        self.state.borrow().asked.clone()
    }

    /// The requests over HTTP so far with their bodies.
    pub fn fetched(&self) -> Vec<(HttpFetch, Vec<u8>)> {
        self.state.borrow().fetched.clone()
    }

    /// What was logged and shown: `info: text`, `progress: text`.
    pub fn lines(&self) -> Vec<String> {
        self.state.borrow().lines.clone()
    }

    /// A file below the Location as it is now.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.state.borrow().files.get("location")?.get(path).cloned()
    }

    /// A value of the plugin's store as it is now.
    pub fn kept(&self, scope: &str, key: &str) -> Option<Json> {
        Some(self.state.borrow().values.get(&(scope.into(), key.into()))?.value.clone())
    }

    /// The bytes of a blob that an operation of this host has kept.
    pub fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        self.state.borrow().blobs.get(digest).cloned()
    }

    pub(super) fn serve(&self, operation: &str, body: &Json, raw: &[u8]) -> Result<(Json, Vec<u8>)> {
        let known = self.state.borrow().answers.get(operation).cloned();
        if let Some(answer) = known {
            self.note(format!("{operation} {}", body.text()));
            return answer(body, raw);
        }
        match operation {
            "fs.stat" => plain(&self.describe(&self.find(operation, &body.read()?)?)?),
            "fs.list" => plain(&self.list(&body.read()?)?),
            "fs.read" => self.read(&body.read()?),
            "fs.attach" => plain(&self.attach(&body.read()?)?),
            "fs.commit" => plain(&self.commit(&body.read()?, raw)?),
            "batch" => self.batch(body, raw),
            "log" => {
                let abi::Log { level, message } = body.read()?;
                self.line(format!("{level}: {message}"))
            }
            "progress" => self.line(format!("progress: {}", body.read::<abi::Progress>()?.text)),
            "http.fetch" => self.fetch(&body.read()?, raw),
            "permission.ask" => self.permit(&body.read()?),
            "permission.check" => self.check(&body.read()?),
            _ if operation.starts_with("kv.") => {
                self.note(format!("{operation} {}", body.text()));
                self.store(operation, body)
            }
            _ => Err(Error::unavailable(format!("the test's host has no operation {operation}: give it one with MockHost::answer"))),
        }
    }

    fn note(&self, asked: String) {
        self.state.borrow_mut().asked.push(asked);
    }

    fn line(&self, line: String) -> Result<(Json, Vec<u8>)> {
        self.state.borrow_mut().lines.push(line);
        plain(&abi::None {})
    }

    /// The root and the name in it that a path leads to.
    pub(super) fn find(&self, operation: &str, path: &Path) -> Result<(String, String)> {
        let root = if path.root.is_empty() { "location" } else { &path.root };
        self.note(format!("{operation} {root}:{}", path.path));
        let state = self.state.borrow();
        let inside = path.path.strip_prefix(&state.location).filter(|_| !state.location.is_empty()).unwrap_or(&path.path);
        let mut name = Vec::new();
        for part in inside.split('/') {
            match part {
                "" | "." => {}
                ".." if name.pop().is_none() => return Err(Error::new(Kind::Denied, format!("{} is outside of {root}", path.path))),
                ".." => {}
                part => name.push(part),
            }
        }
        Ok((root.into(), if name.is_empty() { ".".into() } else { name.join("/") }))
    }

    pub(super) fn describe(&self, (root, name): &(String, String)) -> Result<FileInfo> {
        let state = self.state.borrow();
        let files = state.files.get(root);
        let last = name.rsplit('/').next().unwrap_or(name).to_string();
        let info = FileInfo { path: name.clone(), name: last, ..FileInfo::default() };
        if let Some(content) = files.and_then(|files| files.get(name)) {
            return Ok(FileInfo { kind: FILE_REGULAR.into(), size: content.len() as u64, ..info });
        }
        let below = format!("{name}/");
        if name == "." || files.is_some_and(|files| files.keys().any(|path| path.starts_with(&below))) {
            return Ok(FileInfo { kind: FILE_DIRECTORY.into(), ..info });
        }
        Err(Error::not_found(format!("{name}: no such file or directory")))
    }

    fn list(&self, request: &FsList) -> Result<FsListed> {
        let at = self.find("fs.list", &Path::below(&request.root, &request.path))?;
        if self.describe(&at)?.kind != FILE_DIRECTORY {
            return Err(Error::invalid_input(format!("{}: not a directory", at.1)));
        }
        let below = if at.1 == "." { String::new() } else { format!("{}/", at.1) };
        let children: BTreeSet<String> = self
            .state
            .borrow()
            .files
            .get(&at.0)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .filter_map(|path| path.strip_prefix(&below)?.split('/').next())
            .map(|name| format!("{below}{name}"))
            .collect();
        let mut entries = children.into_iter().map(|name| self.describe(&(at.0.clone(), name))).collect::<Result<Vec<FileInfo>>>()?;
        entries.sort_by_key(|info| info.kind != FILE_DIRECTORY);
        let limit = if request.limit == 0 { 2000 } else { request.limit.min(2000) };
        let next = request.offset + limit;
        let next = if next < entries.len() as u64 { next } else { 0 };
        let entries = entries.into_iter().skip(at_most(request.offset)).take(at_most(limit)).collect();
        Ok(FsListed { path: at.1, entries, next })
    }

    fn read(&self, request: &FsRead) -> Result<(Json, Vec<u8>)> {
        let at = self.find("fs.read", &Path::below(&request.root, &request.path))?;
        let info = self.describe(&at)?;
        let content = self.bytes(&at)?;
        let length = if request.length == 0 { 1 << 20 } else { request.length.min(1 << 20) };
        let data: Vec<u8> = content.into_iter().skip(at_most(request.offset)).take(at_most(length)).collect();
        let eof = request.offset + data.len() as u64 >= info.size;
        Ok((Json::of(&FsReadOk { info, data: Bytes::new(0, data.len()), eof })?, data))
    }

    pub(super) fn bytes(&self, (root, name): &(String, String)) -> Result<Vec<u8>> {
        let state = self.state.borrow();
        let content = state.files.get(root).and_then(|files| files.get(name));
        content.cloned().ok_or_else(|| Error::invalid_input(format!("{name}: not a file")))
    }

    fn fetch(&self, request: &HttpFetch, raw: &[u8]) -> Result<(Json, Vec<u8>)> {
        let method = if request.method.is_empty() { "GET" } else { &request.method };
        self.note(format!("http.fetch {method} {}", request.url));
        let sent = match &request.body {
            Some(body) => body.of(raw)?.to_vec(),
            None => request.text.clone().into_bytes(),
        };
        self.state.borrow_mut().fetched.push((request.clone(), sent));
        let known = self.state.borrow().http.get(&(method.into(), request.url.clone())).cloned();
        let Some((status, headers, content)) = known else {
            return Err(Error::new(
                Kind::Denied,
                format!("the test's host has no answer to {method} {}: give it one with MockHost::http", request.url),
            ));
        };
        let mut fetched = HttpFetched { status, headers, url: request.url.clone(), size: content.len() as u64, ..HttpFetched::default() };
        if request.blob {
            fetched.blob = Some(self.keep(content));
            return plain(&fetched);
        }
        fetched.body = Some(Bytes::new(0, content.len()));
        Ok((Json::of(&fetched)?, content))
    }

    fn effect(&self, action: &str, resource: &str) -> String {
        let effect = self.state.borrow().permissions.get(&(action.into(), resource.into())).cloned();
        effect.unwrap_or_else(|| "allow".into())
    }

    fn permit(&self, request: &abi::PermissionAsk) -> Result<(Json, Vec<u8>)> {
        self.note(format!("permission.ask {} {}", request.action, request.resources.join(" ")));
        match request.resources.iter().find(|resource| self.effect(&request.action, resource) == "deny") {
            Some(resource) => Err(Error::new(Kind::Denied, format!("{} on {resource} is denied", request.action))),
            None => plain(&abi::None {}),
        }
    }

    fn check(&self, request: &abi::PermissionCheck) -> Result<(Json, Vec<u8>)> {
        self.note(format!("permission.check {} {}", request.action, request.resources.join(" ")));
        let effects = request.resources.iter().map(|resource| self.effect(&request.action, resource)).collect();
        plain(&abi::PermissionChecked { effects })
    }

    /// Carries the operations out one after the other.
    fn batch(&self, body: &Json, raw: &[u8]) -> Result<(Json, Vec<u8>)> {
        let mut all = abi::BatchOk::default();
        let mut behind = Vec::new();
        for one in body.read::<abi::Batch>()?.operations {
            let mut answer = abi::BatchAnswer::default();
            match self.serve(&one.operation, &one.request, raw) {
                Err(error) => answer.error = Some(error),
                Ok((ok, data)) => {
                    answer.ok = Some(ok);
                    if !data.is_empty() {
                        answer.bytes = Some(Bytes::new(behind.len(), data.len()));
                        behind.extend_from_slice(&data);
                    }
                }
            }
            all.answers.push(answer);
        }
        Ok((Json::of(&all)?, behind))
    }
}

/// An answer without raw bytes.
pub(super) fn plain(ok: &impl Serialize) -> Result<(Json, Vec<u8>)> {
    Ok((Json::of(ok)?, Vec::new()))
}

pub(super) fn at_most(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
