use super::json::{indented, same};
use super::{call, configure, invoke, updating};
use crate::abi::{decode_message, encode_message, Init, None};
use crate::guest::{fail, with_operations};
use crate::{Error, Json, Plugin};
use base64::Engine;
use serde::Deserialize;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// The input file of a golden: a call's body with what surrounds it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    /// Given to `plinth_init` before the call.
    config: Option<Json>,
    body: Json,
    /// The operations that the call makes, in order, all of them.
    #[serde(default)]
    operations: Vec<Recorded>,
}

/// One recorded operation. The raw bytes that the answer's `$bytes` refers to are `text`,
/// or `base64`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    op: String,
    request: Value,
    answer: Json,
    #[serde(default)]
    text: String,
    #[serde(default)]
    base64: String,
}

/// Checks every `[[golden]]` of `plugin.toml` in a folder, `.` for the crate's own: the
/// answer, as JSON, must be what the output file holds, and the operations must be those
/// recorded. With `PLINTH_UPDATE=1` the output files are written instead.
///
/// # Panics
/// When one differs, or when there is none. The message names each that does.
pub fn goldens(plugin: &Plugin, folder: &str) {
    let folder = Path::new(folder);
    let manifest = folder.join("plugin.toml");
    let manifest = fs::read_to_string(&manifest).unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
    let tables = tables(&manifest);
    assert!(!tables.is_empty(), "plugin.toml names no [[golden]]");
    let wrong: Vec<String> = tables.iter().filter_map(|table| check(plugin, folder, table).err()).collect();
    assert!(wrong.is_empty(), "{} of {} goldens differ\n{}", wrong.len(), tables.len(), wrong.join("\n"));
}

/// The keys of one `[[golden]]`.
type Table = BTreeMap<String, String>;

/// Reads just these tables, which hold plain strings: the manifest's one strict reader is
/// the host's.
fn tables(manifest: &str) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.starts_with("[[golden]]");
            if inside {
                tables.push(Table::new());
            }
        } else if let (true, Some(table), Some((key, value))) = (inside, tables.last_mut(), line.split_once('=')) {
            table.insert(key.trim().into(), value.trim().trim_matches(['"', '\'']).into());
        }
    }
    tables
}

fn check(plugin: &Plugin, folder: &Path, table: &Table) -> Result<(), String> {
    let key = |name: &str| table.get(name).map_or("", String::as_str);
    let export = match key("export") {
        "tool" => "plinth_tool_execute",
        "context" => "plinth_context_observe",
        "provider_encode" => "plinth_provider_encode",
        "provider_decode" => "plinth_provider_decode",
        "provider_classify" => "plinth_provider_classify",
        "transform" => "plinth_transform_apply",
        other => {
            return Err(format!(
                "a golden's export is {other:?}; it is one of tool, context, provider_encode, provider_decode, provider_classify, transform"
            ))
        }
    };
    let (input, output) = (key("input"), key("output"));
    let text = fs::read_to_string(folder.join(input)).map_err(|error| format!("{input}: {error}"))?;
    let golden: Golden = serde_json::from_str(&text).map_err(|error| format!("{input}: {error}"))?;
    let begun = match &golden.config {
        Some(config) => configure(plugin, config),
        None => call::<None>(plugin, "plinth_init", &Init::default()).map(drop),
    };
    begun.map_err(|error| format!("{input}: plinth_init: {error}"))?;
    let replay = Rc::new(Replay { operations: golden.operations, next: RefCell::new(0), wrong: RefCell::new(Vec::new()) });
    let answers = Rc::clone(&replay);
    let answer = with_operations(Box::new(move |operation, request| answers.answer(operation, request)), || invoke(plugin, export, &golden.body));
    replay.done().map_err(|wrong| format!("{input}: {wrong}"))?;

    let pretty = indented(answer.text());
    let file = folder.join(output);
    if updating() {
        return fs::write(&file, pretty).map_err(|error| format!("{output}: {error}"));
    }
    let want = fs::read_to_string(&file).map_err(|error| format!("{output}: {error} (PLINTH_UPDATE=1 cargo test writes it)"))?;
    let wanted: Value = serde_json::from_str(&want).map_err(|error| format!("{output}: {error}"))?;
    let got: Value = answer.read().map_err(|error| format!("the answer to {input}: {error}"))?;
    if same(&got, &wanted) {
        return Ok(());
    }
    Err(format!("the answer to {input} is not what {output} holds (PLINTH_UPDATE=1 cargo test writes it)\ngot {pretty}want {want}"))
}

/// Replays the recorded operations.
struct Replay {
    operations: Vec<Recorded>,
    next: RefCell<usize>,
    wrong: RefCell<Vec<String>>,
}

impl Replay {
    fn answer(&self, operation: &str, request: &[u8]) -> Vec<u8> {
        let number = *self.next.borrow() + 1;
        let body = decode_message(request).map_or(&b""[..], |(body, _)| body);
        let text = String::from_utf8_lossy(body);
        let Some(recorded) = self.operations.get(number - 1) else {
            self.wrong.borrow_mut().push(format!("operation {number}, {operation} {text}, is not recorded"));
            return fail(&Error::unavailable("not recorded"));
        };
        *self.next.borrow_mut() = number;
        let asked = serde_json::from_slice(body).unwrap_or(Value::Null);
        if recorded.op != operation || !same(&asked, &recorded.request) {
            let told = format!("operation {number} is {operation} {text}, recorded is {} {}", recorded.op, recorded.request);
            self.wrong.borrow_mut().push(told);
        }
        let raw = match recorded.base64.as_str() {
            "" => recorded.text.clone().into_bytes(),
            base64 => base64::engine::general_purpose::STANDARD.decode(base64).unwrap_or_else(|error| {
                self.wrong.borrow_mut().push(format!("operation {number}: base64: {error}"));
                Vec::new()
            }),
        };
        encode_message(recorded.answer.text().as_bytes(), &raw)
    }

    fn done(&self) -> Result<(), String> {
        let (asked, recorded) = (*self.next.borrow(), self.operations.len());
        if asked != recorded {
            self.wrong.borrow_mut().push(format!("{asked} of {recorded} recorded operations were asked for"));
        }
        let wrong = self.wrong.borrow();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(wrong.join("; "))
    }
}
