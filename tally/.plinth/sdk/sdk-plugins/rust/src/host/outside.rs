use super::{ask, call, unreadable};
use crate::abi::{Bytes, HttpFetch, HttpFetched, ProcessRan, ProcessRun, OP_HTTP_FETCH, OP_PROCESS_RUN};
use crate::Result;

/// Runs a command line and waits for its end. How the command ended is no error.
pub fn run(request: &ProcessRun) -> Result<ProcessRan> {
    ask(OP_PROCESS_RUN, request)
}

/// What [`fetch`] answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// What the host tells of it.
    pub fetched: HttpFetched,
    /// The body, unless the host keeps it as a blob.
    pub content: Vec<u8>,
}

/// Makes an HTTP request with a body of bytes; `None` for the request's text, or no body.
/// Whatever the status, the answer is no error.
pub fn fetch(request: &HttpFetch, body: Option<&[u8]>) -> Result<Response> {
    let sent = body.map(|body| HttpFetch { body: Some(Bytes::new(0, body.len())), ..request.clone() });
    let (fetched, raw): (HttpFetched, _) = call(OP_HTTP_FETCH, sent.as_ref().unwrap_or(request), body.unwrap_or_default())?;
    let content = match &fetched.body {
        Some(body) => body.of(&raw).map_err(|error| unreadable(OP_HTTP_FETCH, error))?.to_vec(),
        None => Vec::new(),
    };
    Ok(Response { fetched, content })
}
