//! A tool that asks an HTTP API for the weather. The host puts in the API's key, so the
//! plugin has none to lose.

use plinth::abi::HttpFetch;
use plinth::{host, tool, Error, Kind, Prepared, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

plinth::plugin! {
    config: Settings => configure,
    tools: { "weather" => weather },
}

/// What the operator sets.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where the service is: below https://api.weather.example, which the manifest asks for.
    #[serde(default = "service")]
    base_url: String,
}

fn service() -> String {
    "https://api.weather.example/v1".into()
}

static SETTINGS: Prepared<Settings> = Prepared::new();

fn configure(settings: Settings) -> Result<()> {
    if !settings.base_url.starts_with("https://") {
        return Err(Error::invalid_input(format!("base_url: {:?} must begin with https://", settings.base_url)));
    }
    SETTINGS.set(settings);
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// Its name, with the country where there are several: "Springfield, US".
    city: String,
    /// How many days of forecast, from tomorrow on.
    #[serde(default)]
    #[schemars(range(max = 7))]
    days: u8,
}

/// The weather of a city: what the service answers, and what programs get of the tool.
#[derive(Deserialize, Serialize, JsonSchema)]
struct Report {
    /// As the service names it.
    city: String,
    celsius: f64,
    /// A few words.
    sky: String,
    /// The next days.
    #[serde(default)]
    forecast: Vec<Day>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Day {
    /// Like 2026-11-22.
    date: String,
    low: f64,
    high: f64,
    sky: String,
}

fn weather(_: &tool::Call, input: Input) -> Result<tool::Output> {
    let city = input.city.trim();
    if city.is_empty() {
        return Err(Error::invalid_input("city: it is empty; name one"));
    }
    let url = format!("{}/weather?city={}&days={}", SETTINGS.get().base_url.trim_end_matches('/'), escaped(city), input.days);
    let request = HttpFetch { url, timeout_ms: 10_000, max_bytes: 64 << 10, ..HttpFetch::default() };
    let answer = host::fetch(&request, None).map_err(|error| error.context("ask for the weather"))?;
    let wait = answer.fetched.headers.get("retry-after");
    match answer.fetched.status {
        200 => {}
        404 => return Err(Error::not_found(format!("the service knows no city {city:?}; try another spelling or add the country"))),
        401 | 403 => return Err(Error::new(Kind::Denied, "the service refuses the key: tell the operator to check the secret weather-key")),
        429 => {
            let when = wait.map_or("later".into(), |seconds| format!("in {seconds} seconds"));
            return Err(Error::new(Kind::Limit, format!("the service was asked too often; try again {when}")));
        }
        status @ 500..=599 => return Err(Error::unavailable(format!("the service answers with status {status}; try again later"))),
        status => return Err(Error::failed(format!("the service answers with status {status}"))),
    }
    let report: Report = plinth::Json::parse(String::from_utf8_lossy(&answer.content))
        .and_then(|json| json.read())
        .map_err(|error| error.context("read the service's answer"))?;
    tool::Output::text(told(&report)).title(report.city.clone()).structured(&report)
}

/// What the model reads.
fn told(report: &Report) -> String {
    let mut text = format!("{}: {} °C, {}", report.city, report.celsius, report.sky);
    for day in &report.forecast {
        text += &format!("\n{}: {} to {} °C, {}", day.date, day.low, day.high, day.sky);
    }
    text
}

/// A text as it stands in the query of a URL.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
