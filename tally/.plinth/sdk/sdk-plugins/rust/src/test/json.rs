use serde_json::Value;

/// Whether two values are the same JSON: 1 and 1.0 are.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right)),
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len() && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (left, right) => left == right,
    }
}

/// JSON over several lines, with its members in their order.
pub fn indented(json: &str) -> String {
    let mut pretty = String::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut rest = json.trim();
    while let Some(c) = rest.chars().next() {
        let token = if c == '"' { text(rest) } else { &rest[..c.len_utf8()] };
        rest = &rest[token.len()..];
        if c != '"' {
            rest = rest.trim_start();
        }
        match c {
            '{' | '[' if !rest.starts_with(['}', ']']) => {
                depth += 1;
                pretty += token;
                line(&mut pretty, depth);
            }
            '}' | ']' if !pretty.ends_with(['{', '[']) => {
                depth -= 1;
                line(&mut pretty, depth);
                pretty += token;
            }
            ',' => {
                pretty += token;
                line(&mut pretty, depth);
            }
            ':' => pretty += ": ",
            _ => pretty += token.trim(),
        }
    }
    pretty + "\n"
}

/// The text, with its quotes, that JSON begins with.
fn text(json: &str) -> &str {
    let mut escaped = false;
    for (at, c) in json.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return &json[..=at],
            _ => {}
        }
    }
    json
}

fn line(to: &mut String, depth: usize) {
    to.push('\n');
    to.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::{indented, same};
    use serde_json::json;

    #[test]
    fn members_keep_their_order() {
        let pretty = "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": \"x, \\\"{ y\",\n  \"c\": [],\n  \"d\": \"[\"\n}\n";
        assert_eq!(indented(r#"{"b":[1,{}],"a":"x, \"{ y","c":[],"d":"["}"#), pretty);
        assert_eq!(indented(pretty), pretty);
    }

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(same(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!same(&json!({"a": 1}), &json!({"a": 2})));
        assert!(!same(&json!({"a": 1}), &json!({"b": 1})));
        assert!(!same(&json!([1]), &json!([1, 2])));
    }
}
