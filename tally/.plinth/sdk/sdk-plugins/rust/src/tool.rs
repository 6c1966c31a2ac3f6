//! Offers functions to the model.

use crate::abi::{self, Blob, Bytes, Content, Json, Location, Meta, Session};
use crate::guest::{fail, ok, read};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::time::Duration;

/// What a tool knows of the call besides its input.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Of the call.
    pub id: String,
    /// The assistant message that made it.
    pub message: String,
    /// The session that calls.
    pub session: Session,
    /// Where it works.
    pub location: Location,
    /// How long it may run from now; waiting for a person does not count.
    pub timeout: Duration,
    /// On whose behalf the call is made.
    pub meta: Meta,
}

/// A tool's result.
///
/// ```
/// use plinth::tool::{File, Output};
/// let output = Output::text("12 rows").title("query").file(File::bytes("rows.csv", "text/csv", "a,b\n"));
/// assert_eq!(output.text, "12 rows");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// What the model reads.
    pub text: String,
    /// What the model is shown. Give it a text too: not every model can look at files.
    pub files: Vec<File>,
    /// The same for programs.
    pub structured: Option<Json>,
    /// A few words for a person.
    pub title: String,
    /// For clients, not for the model.
    pub metadata: Option<Json>,
}

impl Output {
    /// A result with a text.
    pub fn text(text: impl Into<String>) -> Output {
        Output { text: text.into(), ..Output::default() }
    }

    /// With a title.
    pub fn title(mut self, title: impl Into<String>) -> Output {
        self.title = title.into();
        self
    }

    /// With a further file.
    pub fn file(mut self, file: File) -> Output {
        self.files.push(file);
        self
    }

    /// With structured output.
    pub fn structured(mut self, value: &impl Serialize) -> Result<Output> {
        self.structured = Some(Json::of(value).map_err(|error| error.context("encode the structured output"))?);
        Ok(self)
    }

    /// With metadata.
    pub fn metadata(mut self, value: &impl Serialize) -> Result<Output> {
        self.metadata = Some(Json::of(value).map_err(|error| error.context("encode the metadata"))?);
        Ok(self)
    }

    /// Lays the files' bytes one after the other behind the message.
    fn encode(self) -> (abi::ToolOutput, Vec<u8>) {
        let Output { text, files, structured, title, metadata } = self;
        let mut content = Vec::new();
        if !text.is_empty() {
            content.push(Content { kind: "text".into(), text, ..Content::default() });
        }
        let mut raw = Vec::new();
        for File { name, mime, content: file } in files {
            let (data, blob) = match file {
                FileContent::Bytes(bytes) => {
                    let at = raw.len();
                    raw.extend_from_slice(&bytes);
                    (Some(Bytes::new(at, bytes.len())), None)
                }
                FileContent::Blob(blob) => (None, Some(blob)),
            };
            content.push(Content { kind: "file".into(), mime, name, data, blob, ..Content::default() });
        }
        (abi::ToolOutput { content, structured, title, metadata }, raw)
    }
}

impl From<String> for Output {
    fn from(text: String) -> Output {
        Output::text(text)
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Output {
        Output::text(text)
    }
}

/// A file that the model is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// As people name it.
    pub name: String,
    /// Like `image/png`.
    pub mime: String,
    /// What is in it.
    pub content: FileContent,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FileContent {
    /// The content itself.
    Bytes(Vec<u8>),
    /// A value that the host gave in this call, as [`host::attach`](crate::host::attach)
    /// does: its bytes do not pass through the plugin.
    Blob(Blob),
}

impl File {
    /// A file of bytes.
    pub fn bytes(name: impl Into<String>, mime: impl Into<String>, bytes: impl Into<Vec<u8>>) -> File {
        File { name: name.into(), mime: mime.into(), content: FileContent::Bytes(bytes.into()) }
    }

    /// A file that the host keeps.
    pub fn blob(name: impl Into<String>, mime: impl Into<String>, blob: Blob) -> File {
        File { name: name.into(), mime: mime.into(), content: FileContent::Blob(blob) }
    }
}

impl From<abi::FsAttached> for File {
    fn from(attached: abi::FsAttached) -> File {
        File::blob(attached.info.name, attached.mime, attached.blob)
    }
}

/// Reads the input of a tool.
#[doc(hidden)]
pub fn input<In: DeserializeOwned>(tool: &str, input: &Json) -> Result<In> {
    serde_json::from_slice(input.text().as_bytes()).map_err(|error| Error::invalid_input(format!("the input of {tool}: {error}")))
}

#[doc(hidden)]
pub fn unknown(name: &str) -> Error {
    Error::not_found(format!("this plugin has no tool {name:?}"))
}

/// Serves `plinth_tool_execute`.
#[doc(hidden)]
pub fn serve(message: &[u8], run: fn(&str, &Call, &Json) -> Result<Output>) -> Vec<u8> {
    let output = read::<abi::ToolExecute>(message).and_then(|call| {
        let body = call.body;
        let known = Call {
            id: body.call.id,
            message: body.call.message,
            session: body.session,
            location: body.location,
            timeout: Duration::from_millis(call.deadline_ms.max(0).unsigned_abs()),
            meta: call.meta,
        };
        run(&body.tool, &known, &body.input)
    });
    match output {
        Ok(output) => {
            let (output, raw) = output.encode();
            ok(&output, &raw)
        }
        Err(error) => fail(&error),
    }
}
