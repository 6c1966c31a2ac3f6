use super::fields::fields;
use super::{unset, Blob, Bytes, Error};
use serde::Serialize;

/// Names a file below a root. A text is the path below the Location:
///
/// ```
/// let path: plinth::abi::Path = "src/lib.rs".into();
/// assert_eq!(path.root, "");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Path {
    /// `location` when empty; also `project`, `config`.
    #[serde(skip_serializing_if = "unset")]
    pub root: String,
    /// Relative to the root, or absolute and inside it. With the root `location` an
    /// absolute path may also lead outside, by the permission `external_directory`.
    pub path: String,
}
fields!(Path: root, path);

impl Path {
    /// A path below a root.
    pub fn below(root: impl Into<String>, path: impl Into<String>) -> Path {
        Path { root: root.into(), path: path.into() }
    }
}

impl From<&str> for Path {
    fn from(path: &str) -> Path {
        Path::below("", path)
    }
}

impl From<&String> for Path {
    fn from(path: &String) -> Path {
        Path::below("", path)
    }
}

impl From<String> for Path {
    fn from(path: String) -> Path {
        Path::below("", path)
    }
}

/// Describes a file. The ok of `fs.stat`, whose request is a [`Path`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileInfo {
    /// Canonical, relative to the root, with slashes; `.` for the root.
    pub path: String,
    /// The last part of the path.
    pub name: String,
    /// [`FILE_REGULAR`] or [`FILE_DIRECTORY`].
    pub kind: String,
    /// In bytes.
    pub size: u64,
    /// Milliseconds since 1970 UTC.
    pub modified_ms: i64,
}
fields!(FileInfo: path, name, kind, size, modified_ms);

/// The kind of a file.
pub const FILE_REGULAR: &str = "file";
/// The kind of a directory.
pub const FILE_DIRECTORY: &str = "directory";

/// The request of `fs.list`: direct children, directories first, then by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsList {
    /// As in [`Path`].
    #[serde(skip_serializing_if = "unset")]
    pub root: String,
    /// As in [`Path`].
    pub path: String,
    /// Counts from 0.
    #[serde(skip_serializing_if = "unset")]
    pub offset: u64,
    /// At most 2,000; 0 means that.
    #[serde(skip_serializing_if = "unset")]
    pub limit: u64,
}
fields!(FsList: root, path, offset, limit);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsListed {
    /// The directory's canonical path.
    pub path: String,
    /// A page of its children.
    pub entries: Vec<FileInfo>,
    /// The offset to go on from, 0 when it is through.
    #[serde(skip_serializing_if = "unset")]
    pub next: u64,
}
fields!(FsListed: path, entries by nullable, next);

/// The request of `fs.read`: up to `length` bytes from `offset`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsRead {
    /// As in [`Path`].
    #[serde(skip_serializing_if = "unset")]
    pub root: String,
    /// As in [`Path`].
    pub path: String,
    /// In bytes from the file's beginning.
    #[serde(skip_serializing_if = "unset")]
    pub offset: u64,
    /// At most 1 MiB; 0 means that.
    #[serde(skip_serializing_if = "unset")]
    pub length: u64,
}
fields!(FsRead: root, path, offset, length);

impl<P: Into<Path>> From<P> for FsRead {
    fn from(path: P) -> FsRead {
        let Path { root, path } = path.into();
        FsRead { root, path, ..FsRead::default() }
    }
}

impl<P: Into<Path>> From<P> for FsList {
    fn from(path: P) -> FsList {
        let Path { root, path } = path.into();
        FsList { root, path, ..FsList::default() }
    }
}

/// The ok of `fs.read`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsReadOk {
    /// The file.
    pub info: FileInfo,
    /// What was read, in the answer's raw bytes.
    pub data: Bytes,
    /// Set when `data` reaches the end of the file.
    pub eof: bool,
}
fields!(FsReadOk: info, data, eof);

/// The ok of `fs.attach`, whose request is a [`Path`]: a whole file, at most 20 MiB, that
/// the host keeps so that it can be part of an answer without passing through the guest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsAttached {
    /// The file.
    pub info: FileInfo,
    /// Its content at the host.
    pub blob: Blob,
    /// Told from the first bytes, or else from the name.
    pub mime: String,
}
fields!(FsAttached: info, blob, mime);

/// The request of `fs.glob`: files below a folder whose path fits a pattern. `**` stands
/// for folders, `*` and `?` stay within a name, `{a,b}` and `[a-z]` are choices.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsGlob {
    /// As in [`Path`].
    #[serde(skip_serializing_if = "unset")]
    pub root: String,
    /// A folder; empty or `.` is the root.
    pub path: String,
    /// What paths must fit.
    pub pattern: String,
    /// Also names that begin with a dot.
    #[serde(skip_serializing_if = "unset")]
    pub hidden: bool,
    /// Also what ignore files leave out.
    #[serde(skip_serializing_if = "unset")]
    pub ignored: bool,
    /// Makes it a listing: it answers folders too, and names also what reading would ask
    /// for, as `fs.list` does.
    #[serde(skip_serializing_if = "unset")]
    pub folders: bool,
    /// The latest changed first; otherwise by path.
    #[serde(skip_serializing_if = "unset")]
    pub newest: bool,
    /// Files; 0 and more than 10,000 mean 10,000.
    #[serde(skip_serializing_if = "unset")]
    pub limit: u64,
}
fields!(FsGlob: root, path, pattern, hidden, ignored, folders, newest, limit);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsFound {
    /// Those that fit, up to the limit.
    pub files: Vec<FileInfo>,
    /// All that fit and may be read; more than `files` when cut.
    pub matched: u64,
    /// Files that a person would be asked for.
    #[serde(skip_serializing_if = "unset")]
    pub asks: u64,
    /// Files that the rules refuse.
    #[serde(skip_serializing_if = "unset")]
    pub denied: u64,
    /// Files and folders that could not be read.
    #[serde(skip_serializing_if = "unset")]
    pub unreadable: u64,
    /// The time was over before all was looked at.
    #[serde(skip_serializing_if = "unset")]
    pub partial: bool,
}
fields!(FsFound: files by nullable, matched, asks, denied, unreadable, partial);

/// The request of `fs.grep`: lines that fit a pattern, a regular expression in the syntax
/// of RE2, in the files below a folder or in the file that is named.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsGrep {
    /// As in [`Path`].
    #[serde(skip_serializing_if = "unset")]
    pub root: String,
    /// A folder or a file.
    pub path: String,
    /// What lines must fit.
    pub pattern: String,
    /// `pattern` is text.
    #[serde(skip_serializing_if = "unset")]
    pub literal: bool,
    /// Letters fit in either case.
    #[serde(skip_serializing_if = "unset")]
    pub ignore_case: bool,
    /// Globs; with `!` in front they leave out.
    #[serde(skip_serializing_if = "unset")]
    pub include: Vec<String>,
    /// Also names that begin with a dot.
    #[serde(skip_serializing_if = "unset")]
    pub hidden: bool,
    /// Also what ignore files leave out.
    #[serde(skip_serializing_if = "unset")]
    pub ignored: bool,
    /// Lines before and after; at most 20.
    #[serde(skip_serializing_if = "unset")]
    pub context: u64,
    /// Matching lines of a file; 0 means `limit`.
    #[serde(skip_serializing_if = "unset")]
    pub per_file: u64,
    /// Bytes of a line; 0 means 500, at most 10,000.
    #[serde(skip_serializing_if = "unset")]
    pub width: u64,
    /// Matching lines; 0 and more than 10,000 mean 10,000.
    #[serde(skip_serializing_if = "unset")]
    pub limit: u64,
}
fields!(FsGrep:
    root, path, pattern, literal, ignore_case, include by nullable, hidden, ignored, context, per_file,
    width, limit
);

/// Its ok.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsMatched {
    /// By path.
    pub files: Vec<FsMatchedFile>,
    /// Lines in `files` that are no context.
    pub matches: u64,
    /// There are more that fit.
    #[serde(skip_serializing_if = "unset")]
    pub more: bool,
    /// Files that a person would be asked for.
    #[serde(skip_serializing_if = "unset")]
    pub asks: u64,
    /// Files that the rules refuse.
    #[serde(skip_serializing_if = "unset")]
    pub denied: u64,
    /// Files and folders that could not be read.
    #[serde(skip_serializing_if = "unset")]
    pub unreadable: u64,
    /// The time was over before all was looked at.
    #[serde(skip_serializing_if = "unset")]
    pub partial: bool,
}
fields!(FsMatched: files by nullable, matches, more, asks, denied, unreadable, partial);

/// A file with lines that fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsMatchedFile {
    /// Canonical, relative to the root.
    pub path: String,
    /// Those that fit, with their context.
    pub lines: Vec<FsLine>,
    /// The file has more that fit.
    #[serde(skip_serializing_if = "unset")]
    pub more: bool,
}
fields!(FsMatchedFile: path, lines by nullable, more);

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsLine {
    /// From 1.
    pub number: u64,
    /// The line, or a part of it.
    pub text: String,
    /// Set when it fits; otherwise it is context.
    #[serde(rename = "match", skip_serializing_if = "unset")]
    pub fits: bool,
    /// Set when `text` is a part of the line.
    #[serde(skip_serializing_if = "unset")]
    pub cut: bool,
}
fields!(FsLine: number, text, fits as "match", cut);

/// The request of `fs.commit`: changes that are looked at together, asked for once, and
/// then made without a stop between.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsCommit {
    /// `location` when empty; also `project`.
    #[serde(skip_serializing_if = "unset")]
    pub root: String,
    /// 1 to 500.
    pub changes: Vec<FsChange>,
}
fields!(FsCommit: root, changes by nullable);

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsChange {
    /// `write`, `remove` or `rename`.
    pub op: String,
    /// The file.
    pub path: String,
    /// Of a rename; nothing may be there.
    #[serde(skip_serializing_if = "unset")]
    pub to: String,
    /// What must be there: the SHA-256 of the file's content in hexadecimal, `absent` for
    /// no file, empty for anything.
    #[serde(skip_serializing_if = "unset")]
    pub expect: String,
    /// Of a write, or of a rename that changes the file too, in the raw bytes; or `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Bytes>,
    /// The new content as text.
    #[serde(skip_serializing_if = "unset")]
    pub text: String,
    /// Permission bits; 0 keeps those that are there.
    #[serde(skip_serializing_if = "unset")]
    pub mode: u32,
    /// Makes the folders that are missing.
    #[serde(skip_serializing_if = "unset")]
    pub parents: bool,
}
fields!(FsChange: op, path, to, expect, data, text, mode, parents);

/// The ok of `fs.commit`: all changes were made, or a part of them. An error means that
/// none was.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsCommitted {
    /// In the order of the request.
    pub changes: Vec<FsChanged>,
}
fields!(FsCommitted: changes by nullable);

/// What became of a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FsChanged {
    /// The file's canonical path.
    pub path: String,
    /// Where a rename put it.
    #[serde(skip_serializing_if = "unset")]
    pub to: String,
    /// `done`, `failed` or `not_done`.
    pub outcome: String,
    /// There was a file.
    #[serde(skip_serializing_if = "unset")]
    pub existed: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
}
fields!(FsChanged: path, to, outcome, existed, error);
