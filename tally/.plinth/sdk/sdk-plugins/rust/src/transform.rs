//! Edits model requests before they are sent. A transform is pure: it may not import host
//! operations.

use crate::abi::{self, Json, EDIT_APPEND, EDIT_DROP, EDIT_REPLACE, EDIT_SET};
use crate::guest::{answer, read};
use crate::{Error, Result};
use serde::Serialize;

pub use crate::abi::{Edit, TransformApply as Apply};

impl Edit {
    /// Adds a part to the end of the system text under a new id.
    pub fn append_system(id: impl Into<String>, text: &str) -> Result<Edit> {
        Edit::with("system", EDIT_APPEND, id, text)
    }

    /// Changes a text: of the `system` part of that id, of the part of a message of that id
    /// (`messages`), or the description of the tool of that name (`tools`).
    pub fn replace(part: &str, id: impl Into<String>, text: &str) -> Result<Edit> {
        Edit::with(part, EDIT_REPLACE, id, text)
    }

    /// Takes out a part of `system` by its id or one of `tools` by its name.
    pub fn drop(part: &str, id: impl Into<String>) -> Edit {
        Edit { part: part.into(), op: EDIT_DROP.into(), id: id.into(), value: None }
    }

    /// Gives a field of `generation`, `options` or `headers` a value.
    pub fn set(part: &str, field: impl Into<String>, value: &impl Serialize) -> Result<Edit> {
        Edit::with(part, EDIT_SET, field, value)
    }

    fn with<T: Serialize + ?Sized>(part: &str, op: &str, id: impl Into<String>, value: &T) -> Result<Edit> {
        let id = id.into();
        let value = Json::of(value).map_err(|error| error.context(format!("encode the edit of {part} {id}")))?;
        Ok(Edit { part: part.into(), op: op.into(), id, value: Some(value) })
    }
}

#[doc(hidden)]
pub fn unknown(name: &str) -> Error {
    Error::not_found(format!("this plugin has no transform {name:?}"))
}

/// Serves `plinth_transform_apply`.
#[doc(hidden)]
pub fn serve(message: &[u8], apply: fn(&Apply) -> Result<Vec<Edit>>) -> Vec<u8> {
    answer(read::<Apply>(message).and_then(|call| apply(&call.body)).map(|edits| abi::TransformEdits { edits }))
}
