use super::{ask, call, unreadable};
use crate::abi::{Bytes, FileInfo, FsAttached, FsChange, FsCommit, FsCommitted, FsFound, FsGlob, FsGrep, FsList, FsListed, FsMatched};
use crate::abi::{FsRead, FsReadOk, Path, OP_FS_ATTACH, OP_FS_COMMIT, OP_FS_GLOB, OP_FS_GREP, OP_FS_LIST, OP_FS_READ, OP_FS_STAT};
use crate::Result;

/// What [`read`] answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The file.
    pub info: FileInfo,
    /// What was read.
    pub data: Vec<u8>,
    /// Set when `data` reaches the end of the file.
    pub eof: bool,
}

/// Describes a file or a directory.
pub fn stat(path: impl Into<Path>) -> Result<FileInfo> {
    ask(OP_FS_STAT, &path.into())
}

/// A page of a directory's children. A path alone is the first page.
pub fn list(request: impl Into<FsList>) -> Result<FsListed> {
    ask(OP_FS_LIST, &request.into())
}

/// A range of a file's bytes, at most 1 MiB. A path alone is its beginning.
pub fn read(request: impl Into<FsRead>) -> Result<File> {
    let (FsReadOk { info, data, eof }, raw) = call(OP_FS_READ, &request.into(), &[])?;
    let data = data.of(&raw).map_err(|error| unreadable(OP_FS_READ, error))?.to_vec();
    Ok(File { info, data, eof })
}

/// Keeps a whole file at the host and answers its name, which a tool can put into its
/// output: the file's bytes do not pass through the plugin.
pub fn attach(path: impl Into<Path>) -> Result<FsAttached> {
    ask(OP_FS_ATTACH, &path.into())
}

/// Finds files by their path.
pub fn glob(request: &FsGlob) -> Result<FsFound> {
    ask(OP_FS_GLOB, request)
}

/// Finds lines by what is in them.
pub fn grep(request: &FsGrep) -> Result<FsMatched> {
    ask(OP_FS_GREP, request)
}

/// One change of a [`commit`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// The change. Set `expect` for more care.
    pub change: FsChange,
    /// What a write puts into the file, or a rename that changes it; `None` for the
    /// change's text.
    pub content: Option<Vec<u8>>,
}

impl Change {
    /// Puts content into a file, which may be there or not.
    pub fn write(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Change {
        Change { change: FsChange { op: "write".into(), path: path.into(), ..FsChange::default() }, content: Some(content.into()) }
    }

    /// Removes a file.
    pub fn remove(path: impl Into<String>) -> Change {
        Change { change: FsChange { op: "remove".into(), path: path.into(), ..FsChange::default() }, content: None }
    }

    /// Gives a file another path, where nothing may be. Set `content` to change the file
    /// too.
    pub fn rename(path: impl Into<String>, to: impl Into<String>) -> Change {
        let change = FsChange { op: "rename".into(), path: path.into(), to: to.into(), ..FsChange::default() };
        Change { change, content: None }
    }

    /// Refuses to make the change when the file is another: the SHA-256 of its content in
    /// hexadecimal, or `absent`.
    pub fn expect(mut self, digest: impl Into<String>) -> Change {
        self.change.expect = digest.into();
        self
    }
}

/// Makes changes below a root, `location` when empty, under one permission. What became of
/// each is in the answer, also when some failed.
pub fn commit(root: &str, changes: impl IntoIterator<Item = Change>) -> Result<FsCommitted> {
    let mut raw = Vec::new();
    let mut request = FsCommit { root: root.into(), changes: Vec::new() };
    for Change { mut change, content } in changes {
        if let Some(content) = content {
            change.data = Some(Bytes::new(raw.len(), content.len()));
            raw.extend_from_slice(&content);
        }
        request.changes.push(change);
    }
    Ok(call(OP_FS_COMMIT, &request, &raw)?.0)
}
