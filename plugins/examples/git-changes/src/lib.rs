//! A context source that tells the git branch and which files have changed, as `git
//! status` finds them: by the size and the time that the index has of each file. It reads
//! no file of the project but those two of git.

mod index;
#[cfg(test)]
mod tests;

use index::Entry;
use plinth::abi::{FileInfo, FsGlob, FsRead, Path, FILE_REGULAR, OP_FS_STAT};
use plinth::source::{Observe, State, Texts};
use plinth::{host, Error, Kind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

plinth::plugin! {
    sources: observe,
}

const KEY: &str = "example/git-changes";
/// Files that are named.
const NAMED: usize = 40;
/// The largest index that is read, in bytes.
const INDEX: u64 = 8 << 20;
/// Operations of a batch, and files behind ignore rules that are looked at one by one.
const BATCH: usize = 100;
const APART: usize = 500;

/// What is told of the work tree.
#[derive(Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Work {
    /// Or the commit, when no branch is checked out.
    branch: String,
    /// Files that differ from the index, by path: M modified, D deleted, U conflicted, ? new.
    changed: Vec<String>,
    /// How many more there are than are named.
    more: usize,
}

fn observe(observe: &Observe) -> Result<Vec<State>> {
    if !observe.location.git {
        return Ok(vec![State::absent(KEY)]);
    }
    match work() {
        Ok(work) => Ok(vec![State::value(KEY, &work, texts(&work))?]),
        // A work tree whose .git is a file, or one that is not ours to read.
        Err(error) if matches!(error.kind, Kind::NotFound | Kind::Denied) => Ok(vec![State::absent(KEY)]),
        Err(error) => {
            plinth::log::warn(error.to_string());
            Ok(vec![State::unavailable(KEY)])
        }
    }
}

fn work() -> Result<Work> {
    let branch = branch(&String::from_utf8_lossy(&host::read(Path::below("project", ".git/HEAD"))?.data))?;
    let tracked = match read_index() {
        Ok(index) => index::entries(&index)?,
        Err(error) if error.kind == Kind::NotFound => Vec::new(), // nothing was added yet
        Err(error) => return Err(error),
    };
    let mut changed = changes(&tracked)?;
    let more = changed.len().saturating_sub(NAMED);
    changed.truncate(NAMED);
    Ok(Work { branch, changed, more })
}

/// The branch that HEAD names, or the commit.
fn branch(head: &str) -> Result<String> {
    let head = head.trim();
    if let Some(name) = head.strip_prefix("ref:") {
        let name = name.trim();
        return Ok(name.strip_prefix("refs/heads/").unwrap_or(name).into());
    }
    match head.get(..12) {
        Some(short) if head.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(format!("commit {short}")),
        _ => Err(Error::failed("HEAD names neither a branch nor a commit")),
    }
}

fn read_index() -> Result<Vec<u8>> {
    let mut index = Vec::new();
    loop {
        let request = FsRead { offset: index.len() as u64, ..Path::below("project", ".git/index").into() };
        let piece = host::read(request)?;
        if piece.info.size > INDEX {
            return Err(Error::new(Kind::Limit, format!("the index has {} bytes; up to {INDEX} are read", piece.info.size)));
        }
        let through = piece.eof || piece.data.is_empty();
        index.extend(piece.data);
        if through {
            return Ok(index);
        }
    }
}

/// What differs, by path.
fn changes(tracked: &[Entry]) -> Result<Vec<String>> {
    let found = host::glob(&FsGlob { root: "project".into(), pattern: "**/*".into(), ..FsGlob::default() })?;
    let mut there: BTreeMap<&str, &FileInfo> = found.files.iter().map(|info| (info.path.as_str(), info)).collect();
    let mut changed = BTreeMap::new();
    let mut hidden = Vec::new(); // with a dot in front, ignored, or gone
    for entry in tracked.iter().filter(|entry| entry.file) {
        match there.remove(entry.path.as_str()) {
            _ if entry.conflicted => drop(changed.insert(entry.path.clone(), 'U')),
            Some(info) if differs(entry, info) => drop(changed.insert(entry.path.clone(), 'M')),
            Some(_) => {}
            None => hidden.push(entry),
        }
    }
    for entries in hidden[..hidden.len().min(APART)].chunks(BATCH) {
        let mut batch = host::Batch::new();
        let asked: Vec<_> =
            entries.iter().map(|entry| batch.queue::<FileInfo>(OP_FS_STAT, &Path::below("project", &entry.path))).collect::<Result<_>>()?;
        let ran = batch.run()?;
        for (entry, asked) in entries.iter().zip(asked) {
            match ran.get(asked) {
                Ok((info, _)) if info.kind == FILE_REGULAR && !differs(entry, &info) => {}
                Ok(_) => drop(changed.insert(entry.path.clone(), 'M')),
                Err(error) if error.kind == Kind::NotFound => drop(changed.insert(entry.path.clone(), 'D')),
                Err(_) => {} // not ours to know
            }
        }
    }
    // What was cut off cannot be told from what is new.
    if found.matched <= found.files.len() as u64 && !found.partial {
        for path in there.into_keys().filter(|path| !tracked.iter().any(|entry| entry.path == **path)) {
            changed.insert(path.into(), '?');
        }
    }
    Ok(changed.into_iter().map(|(path, how)| format!("{how} {path}")).collect())
}

fn differs(entry: &Entry, info: &FileInfo) -> bool {
    entry.size != info.size as u32 || entry.modified_ms != info.modified_ms
}

fn texts(work: &Work) -> Texts {
    let mut text = format!("branch {}", work.branch);
    if work.changed.is_empty() {
        text += ", no file changed since the index was written";
    } else {
        text += ". Files that differ from the index (M modified, D deleted, U conflicted, ? new):";
    }
    for line in &work.changed {
        text += "\n";
        text += line;
    }
    if work.more > 0 {
        text += &format!("\nand {} more", work.more);
    }
    Texts {
        baseline: format!("The git work tree: {text}"),
        update: format!("The git work tree is now: {text}"),
        removed: "The state of the git work tree is no longer told.".into(),
    }
}
