use super::*;
use plinth::test::{self, MockHost};

/// No settings.
const NONE: plinth::abi::None = plinth::abi::None {};

const URL: &str = "https://api.weather.example/v1/weather?city=Springfield%2C%20US&days=0";

#[test]
fn goldens() {
    test::goldens(&PLUGIN, ".");
}

#[test]
fn schemas() {
    test::schema_matches::<Settings>("config.schema.json");
    test::schema_matches::<Input>("weather.schema.json");
    test::output_schema_matches::<Report>("report.schema.json");
}

#[test]
fn every_status_has_its_kind() {
    test::configure(&PLUGIN, &NONE).unwrap();
    for (status, kind, words) in [
        (404, Kind::NotFound, "no city \"Springfield, US\""),
        (401, Kind::Denied, "weather-key"),
        (429, Kind::Limit, "in 30 seconds"),
        (503, Kind::Unavailable, "status 503"),
        (302, Kind::Failed, "status 302"),
    ] {
        let host = MockHost::new().http_with("GET", URL, status, &[("retry-after", "30")], "");
        let error = host.run(ask).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert_eq!(host.asked(), [format!("http.fetch GET {URL}")]);
    }
}

#[test]
fn what_the_host_refuses_keeps_its_kind() {
    test::configure(&PLUGIN, &NONE).unwrap();
    let error = MockHost::new().run(ask).unwrap_err();
    assert_eq!(error.kind, Kind::Denied);
    assert!(error.message.starts_with("ask for the weather: "), "{error}");
}

#[test]
fn a_wrong_answer_is_told() {
    test::configure(&PLUGIN, &NONE).unwrap();
    let error = MockHost::new().http("GET", URL, 200, "<html>").run(ask).unwrap_err();
    assert!(error.message.starts_with("read the service's answer: "), "{error}");
}

#[test]
fn settings_are_checked() {
    let http = std::collections::BTreeMap::from([("base_url", "http://api.weather.example")]);
    let error = test::configure(&PLUGIN, &http).unwrap_err();
    assert_eq!(error.kind, Kind::InvalidInput);
    let unknown = std::collections::BTreeMap::from([("url", "https://api.weather.example")]);
    let error = test::configure(&PLUGIN, &unknown).unwrap_err();
    assert!(error.message.contains("unknown field `url`"), "{error}");
}

fn ask() -> Result<tool::Output> {
    weather(&tool::Call::default(), Input { city: " Springfield, US ".into(), days: 0 })
}
