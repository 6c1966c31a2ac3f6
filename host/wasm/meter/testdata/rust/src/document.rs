//! JSON by way of serde, and sorting.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

#[derive(Serialize, Deserialize)]
struct Record {
    id: String,
    kind: String,
    text: String,
    count: i64,
    ratio: f64,
    done: bool,
    labels: Vec<String>,
    extra: BTreeMap<String, serde_json::Value>,
}

/// Decodes records, changes them a little, and encodes them with a summary. What is
/// no JSON is answered by its error.
pub fn rewrite(input: &[u8]) -> Vec<u8> {
    let mut records: Vec<Record> = match serde_json::from_slice(input) {
        Ok(records) => records,
        Err(error) => return error.to_string().into_bytes(),
    };
    let mut kinds: HashMap<String, i64> = HashMap::new();
    for record in &mut records {
        *kinds.entry(record.kind.clone()).or_default() += record.count;
        record.ratio = (record.ratio * 1.5).sqrt();
        record.labels.reverse();
        record.text = record.text.split(' ').map(capital).collect::<Vec<_>>().join(" ");
    }
    let kinds: BTreeMap<_, _> = kinds.into_iter().collect();
    serde_json::to_vec(&(records, kinds)).expect("what was read can be written")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Sorts words twice, stably by length and unstably by content, and answers both.
pub fn sort(input: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(input);
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    let mut answer = words.join(" ");
    words.sort_unstable();
    words.dedup();
    answer.push('\n');
    answer.push_str(&words.join(" "));
    answer.into_bytes()
}
