use super::host::MockHost;
use super::keep::digest;
use crate::abi::{FsChange, FsChanged, FsCommit, FsCommitted, Path};
use crate::{Error, Kind, Result};

/// A change that can be made: names with their new content, `None` for no file.
type Made = Vec<(String, Option<Vec<u8>>)>;

impl MockHost {
    /// Makes changes: all of them, or none where one cannot be made.
    pub(super) fn commit(&self, request: &FsCommit, raw: &[u8]) -> Result<FsCommitted> {
        let mut made = Made::new();
        let mut changes = Vec::new();
        for change in &request.changes {
            changes.push(self.change(&request.root, change, raw, &mut made)?);
        }
        let root = if request.root.is_empty() { "location" } else { &request.root };
        let mut state = self.state.borrow_mut();
        let files = state.files.entry(root.into()).or_default();
        for (name, content) in made {
            match content {
                Some(content) => files.insert(name, content),
                None => files.remove(&name),
            };
        }
        Ok(FsCommitted { changes })
    }

    fn change(&self, root: &str, change: &FsChange, raw: &[u8], made: &mut Made) -> Result<FsChanged> {
        let at = self.find("fs.commit", &Path::below(root, &change.path))?;
        let before = self.bytes(&at).ok();
        expected(change, before.as_deref())?;
        let content = match &change.data {
            Some(data) => Some(data.of(raw)?.to_vec()),
            None if change.text.is_empty() => None,
            None => Some(change.text.clone().into_bytes()),
        };
        let mut changed = FsChanged { path: at.1.clone(), outcome: "done".into(), ..FsChanged::default() };
        match change.op.as_str() {
            "write" => {
                changed.existed = before.is_some();
                made.push((at.1, Some(content.unwrap_or_default())));
            }
            "remove" => made.push((at.1, None)),
            "rename" => {
                let to = self.find("fs.commit", &Path::below(root, &change.to))?;
                if self.bytes(&to).is_ok() {
                    return Err(Error::new(Kind::Conflict, format!("{}: there is a file already", change.to)));
                }
                changed.to.clone_from(&to.1);
                made.push((at.1, None));
                made.push((to.1, content.or(before)));
            }
            other => return Err(Error::invalid_input(format!("a change is write, remove or rename, not {other:?}"))),
        }
        Ok(changed)
    }
}

/// Refuses a change of a file that is not what is expected.
fn expected(change: &FsChange, before: Option<&[u8]>) -> Result<()> {
    let conflict = |why: &str| Err(Error::new(Kind::Conflict, format!("{}: {why}", change.path)));
    match (before, change.expect.as_str()) {
        (None, _) if change.op != "write" => Err(Error::not_found(format!("{}: no such file or directory", change.path))),
        (_, "") | (None, "absent") => Ok(()),
        (None, _) => conflict("it is not there any more"),
        (Some(_), "absent") => conflict("it is there already"),
        (Some(content), expect) if expect != digest(content) => conflict("its content is not what was expected; read it again"),
        (Some(_), _) => Ok(()),
    }
}
