use super::*;
use plinth::abi::{ModelEvent, ProviderDecode, ProviderDecoded};
use plinth::test;

#[test]
fn goldens() {
    test::goldens(&PLUGIN, ".");
}

const ANSWER: &str = r#"{"think":"hm"}
{"text":"I "}
{"text":"look."}

{"call":{"id":"c1","tool":"look"}}
{"input":{"id":"c1","piece":"{\"at\":"}}
{"input":{"id":"c1","piece":"1}"}}
{"called":"c1"}
{"done":{"reason":"end","tokens_in":12,"tokens_out":7}}"#;

/// Wherever a stream is cut into calls, the events are the same.
#[test]
fn cut_anywhere_an_answer_gives_the_same_events() {
    let lines: Vec<&str> = ANSWER.lines().collect();
    let whole = decode(&[&lines]);
    assert_eq!(whole.last().unwrap().reason, "tool_calls");
    assert_eq!(whole.iter().filter(|event| event.kind == "finish").count(), 1);
    for cuts in 0..1_u32 << (lines.len() - 1) {
        let mut calls = vec![vec![lines[0]]];
        for (at, line) in lines.iter().enumerate().skip(1) {
            if cuts >> (at - 1) & 1 == 1 {
                calls.push(Vec::new());
            }
            calls.last_mut().unwrap().push(line);
        }
        let calls: Vec<&[&str]> = calls.iter().map(Vec::as_slice).collect();
        assert_eq!(decode(&calls), whole, "cut as {cuts:b}");
    }
}

#[test]
fn an_answer_without_an_end_is_an_error() {
    let events = decode(&[&[r#"{"text":"I "}"#]]);
    let error = events.last().unwrap().error.as_ref().unwrap();
    assert_eq!((error.classification.as_str(), error.retryable), (CLASS_INTERNAL, true));
}

#[test]
fn nothing_is_told_after_the_end() {
    let events = decode(&[&[r#"{"error":{"code":"busy","text":"later"}}"#], &[r#"{"text":"late"}"#]]);
    assert_eq!(events.len(), 1);
    assert!(events[0].error.as_ref().unwrap().retryable);
}

#[test]
fn a_line_that_is_none_names_itself() {
    let call = ProviderDecode { provider: "line".into(), frames: frames(&["<html>"]), ..ProviderDecode::default() };
    let error = test::call::<ProviderDecoded>(&PLUGIN, "plinth_provider_decode", &call).unwrap_err();
    assert!(error.message.starts_with("the line \"<html>\": "), "{error}");
}

#[test]
fn every_status_has_its_class() {
    for (status, body, class, retryable) in [
        (401, "", abi::CLASS_AUTHENTICATION, false),
        (429, "", abi::CLASS_RATE_LIMIT, true),
        (429, r#"{"error":{"code":"no_credit","text":"pay"}}"#, abi::CLASS_QUOTA, false),
        (400, r#"{"error":{"code":"too_long","text":"long"}}"#, abi::CLASS_CONTEXT_OVERFLOW, false),
        (503, "<html>", CLASS_INTERNAL, true),
        (418, "", CLASS_UNKNOWN, false),
    ] {
        let headers = [("retry-after".to_string(), "2".to_string())].into();
        let error = Line.classify(&Response { provider: "line".into(), status, headers, body: body.into() });
        assert_eq!((error.classification.as_str(), error.retryable), (class, retryable), "{status} {body}");
        assert_eq!(error.retry_after_ms, if retryable { 2000 } else { 0 });
    }
}

/// The events of a stream whose calls get these lines.
fn decode(calls: &[&[&str]]) -> Vec<ModelEvent> {
    let mut state = None;
    let mut events = Vec::new();
    for (at, lines) in calls.iter().enumerate() {
        let call = ProviderDecode { provider: "line".into(), state: state.take(), frames: frames(lines), end: at + 1 == calls.len() };
        let decoded: ProviderDecoded = test::call(&PLUGIN, "plinth_provider_decode", &call).unwrap();
        state = decoded.state;
        events.extend(decoded.events);
    }
    events
}

fn frames(lines: &[&str]) -> Vec<Frame> {
    lines.iter().map(|line| Frame { data: (*line).into(), ..Frame::default() }).collect()
}
