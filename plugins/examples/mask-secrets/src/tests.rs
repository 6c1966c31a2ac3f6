use super::*;
use plinth::test;
use std::collections::BTreeMap;

#[test]
fn goldens() {
    test::goldens(&PLUGIN, ".");
}

#[test]
fn schema() {
    test::schema_matches::<Settings>("config.schema.json");
}

#[test]
fn each_known_secret_is_masked() {
    configure(Settings { patterns: Vec::new() }).unwrap();
    for (text, want) in [
        ("key AKIAABCDEFGHIJKLMNOP.", "key [masked: AWS key]."),
        ("ghp_aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09", "[masked: GitHub token]"),
        ("Authorization: Bearer abcdefghijklmnop123=", "Authorization: Bearer [masked: bearer token]"),
        ("postgres://app:hunter2@db.local/x", "postgres://app:[masked: password]@db.local/x"),
        ("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", "a [masked: private key] b"),
        ("é AKIAABCDEFGHIJKLMNOP é AKIAABCDEFGHIJKLMNOP", "é [masked: AWS key] é [masked: AWS key]"),
    ] {
        let got = masked(text);
        assert_eq!(got.as_deref(), Some(want));
        assert_eq!(masked(want), None, "what was masked is masked again");
    }
    assert_eq!(masked("https://example.org/a:b and a bearer of news"), None);
}

#[test]
fn patterns_are_checked() {
    for (pattern, words) in [("(", "patterns: \"mine\": "), ("x*", "fits an empty text")] {
        let settings = BTreeMap::from([("patterns", [BTreeMap::from([("name", "mine"), ("pattern", pattern)])])]);
        let error = test::configure(&PLUGIN, &settings).unwrap_err();
        assert_eq!(error.kind, plinth::Kind::InvalidInput);
        assert!(error.message.contains(words), "{error}");
    }
}
