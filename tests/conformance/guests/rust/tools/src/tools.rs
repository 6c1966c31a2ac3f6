use crate::SETTINGS;
use plinth::abi::{FsRead, Location, Meta, Session, ToolCall};
use plinth::tool::{Call, File, Output};
use plinth::{host, random, Error, Json, Kind, Result};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, Ordering};

static CALLS: AtomicU32 = AtomicU32::new(0);

#[derive(Serialize)]
struct Echo<'a> {
    input: Json,
    call: ToolCall,
    session: &'a Session,
    location: &'a Location,
    deadline_ms: u128,
    meta: &'a Meta,
}

pub fn echo(call: &Call, input: Json) -> Result<Output> {
    let named = ToolCall { id: call.id.clone(), message: call.message.clone() };
    Output::default().structured(&Echo {
        input,
        call: named,
        session: &call.session,
        location: &call.location,
        deadline_ms: call.timeout.as_millis(),
        meta: &call.meta,
    })
}

#[derive(Deserialize)]
pub struct Failure {
    kind: String,
    message: String,
}

pub fn fail(_: &Call, input: Failure) -> Result<Output> {
    Err(Error::new(Kind::named(&input.kind), input.message))
}

#[derive(Deserialize)]
pub struct Files {
    sizes: Vec<usize>,
}

#[derive(Serialize)]
struct Sum {
    bytes: usize,
}

pub fn files(_: &Call, input: Files) -> Result<Output> {
    let mut output = Output::text(format!("{} files", input.sizes.len())).title("files");
    for (file, size) in input.sizes.iter().enumerate() {
        let bytes: Vec<u8> = (0..*size).map(|at| (file * 7 + at) as u8).collect();
        output = output.file(File::bytes(format!("file{file}"), "application/octet-stream", bytes));
    }
    output.metadata(&Sum { bytes: input.sizes.iter().sum() })
}

#[derive(Deserialize)]
pub struct Nothing {}

#[derive(Serialize)]
struct Greeting<'a> {
    greeting: &'a str,
}

pub fn settings(_: &Call, _: Nothing) -> Result<Output> {
    Output::default().structured(&Greeting { greeting: &SETTINGS.get().greeting })
}

#[derive(Serialize)]
struct Content {
    path: String,
    size: u64,
    eof: bool,
    bytes: usize,
    hash: u32,
}

pub fn read(_: &Call, input: FsRead) -> Result<Output> {
    let host::File { info, data, eof } = host::read(input)?;
    let hash = data.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    Output::default().structured(&Content { path: info.path, size: info.size, eof, bytes: data.len(), hash })
}

#[derive(Deserialize)]
pub struct Ask {
    op: String,
    #[serde(default)]
    request: Json,
}

pub fn ask(_: &Call, input: Ask) -> Result<Output> {
    let answer = match host::call::<Json>(&input.op, &input.request, &[]) {
        Ok((ok, _)) => plinth::abi::Answer { ok: Some(ok), error: None },
        Err(error) => plinth::abi::Answer { ok: None, error: Some(error) },
    };
    Output::default().structured(&answer)
}

#[derive(Serialize)]
struct Numbers {
    numbers: [String; 2],
}

pub fn random(_: &Call, _: Nothing) -> Result<Output> {
    let mut bytes = [0; 8];
    random::fill(&mut bytes);
    let numbers = [random::number(), u64::from_le_bytes(bytes)];
    Output::default().structured(&Numbers { numbers: numbers.map(|number| format!("{number:016x}")) })
}

#[derive(Serialize)]
struct Count {
    calls: u32,
}

pub fn count(_: &Call, _: Nothing) -> Result<Output> {
    Output::default().structured(&Count { calls: CALLS.fetch_add(1, Ordering::Relaxed) + 1 })
}

pub fn trap(_: &Call, _: Nothing) -> Result<Output> {
    panic!("the guest breaks")
}

pub fn spin(_: &Call, _: Nothing) -> Result<Output> {
    loop {
        std::hint::spin_loop();
    }
}
