use super::{call, read_ok, unreadable};
use crate::abi::{self, BatchAnswer, BatchOk, BatchOperation, Bytes, Json, OP_BATCH};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::marker::PhantomData;

/// Gathers operations that the host carries out side by side.
///
/// ```no_run
/// use plinth::abi::{FileInfo, FsReadOk, FsRead, Path, OP_FS_READ, OP_FS_STAT};
/// use plinth::host::Batch;
///
/// let mut batch = Batch::new();
/// let first = batch.queue::<FileInfo>(OP_FS_STAT, &Path::from("a.txt"))?;
/// let second = batch.queue::<FsReadOk>(OP_FS_READ, &FsRead::from("b.txt"))?;
/// let ran = batch.run()?;
/// let (info, _) = ran.get(first)?;
/// let (read, bytes) = ran.get(second)?;
/// let content = read.data.of(&bytes)?;
/// # Ok::<(), plinth::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    operations: Vec<BatchOperation>,
    raw: Vec<u8>,
}

/// An operation of a batch, whose ok is an `A`.
#[derive(Debug)]
pub struct Queued<A> {
    index: usize,
    answer: PhantomData<fn() -> A>,
}

/// What a batch has done.
#[derive(Debug)]
pub struct Ran {
    operations: Vec<BatchOperation>,
    answers: Vec<BatchAnswer>,
    raw: Vec<u8>,
}

impl Batch {
    /// An empty one.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Adds an operation. Bytes of its request come from [`bytes`](Batch::bytes).
    pub fn queue<A: DeserializeOwned>(&mut self, operation: &str, request: &impl Serialize) -> Result<Queued<A>> {
        let request = Json::of(request).map_err(|error| error.context(format!("encode the request of {operation}")))?;
        self.operations.push(BatchOperation { operation: operation.into(), request });
        Ok(Queued { index: self.operations.len() - 1, answer: PhantomData })
    }

    /// Takes bytes along and answers how a request of this batch refers to them.
    pub fn bytes(&mut self, bytes: &[u8]) -> Bytes {
        let at = self.raw.len();
        self.raw.extend_from_slice(bytes);
        Bytes::new(at, bytes.len())
    }

    /// Carries the operations out. That one of them failed is told by [`Ran::get`].
    pub fn run(self) -> Result<Ran> {
        let request = abi::Batch { operations: self.operations };
        let (ok, raw) = call::<BatchOk>(OP_BATCH, &request, &self.raw)?;
        let (answers, operations) = (ok.answers, request.operations);
        if answers.len() != operations.len() {
            let counts = format!("it has {} answers to {} operations", answers.len(), operations.len());
            return Err(unreadable(OP_BATCH, Error::failed(counts)));
        }
        Ok(Ran { operations, answers, raw })
    }
}

impl Ran {
    /// What the operation did, as [`call`] would have answered.
    ///
    /// # Panics
    /// When the operation is of another, longer batch.
    pub fn get<A: DeserializeOwned>(&self, queued: Queued<A>) -> Result<(A, Vec<u8>)> {
        let operation = &self.operations[queued.index].operation;
        let answer = &self.answers[queued.index];
        match (&answer.ok, &answer.error) {
            (_, Some(error)) => Err(error.clone()),
            (None, None) => Err(unreadable(operation, Error::failed("it has neither ok nor error"))),
            (Some(ok), None) => {
                let raw = match &answer.bytes {
                    Some(bytes) => bytes.of(&self.raw).map_err(|error| unreadable(operation, error))?.to_vec(),
                    None => Vec::new(),
                };
                Ok((read_ok(operation, ok)?, raw))
            }
        }
    }
}
