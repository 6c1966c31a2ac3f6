//! A plugin with one context source: it tells the model what the session is called, so that
//! it keeps to the matter.

use plinth::source::{Observe, State, Texts};
use plinth::{host, log, Result};

plinth::plugin! {
    sources: observe,
}

/// Names the source, here and in the manifest.
const KEY: &str = "example/new-plugin/title";

/// Is asked before every turn, so it is quick, and says what is so now. The host compares
/// the value with the one before and tells the model of a change.
fn observe(observation: &Observe) -> Result<Vec<State>> {
    let title = match host::info() {
        Ok(info) => info.title,
        Err(error) => {
            log::warn(format!("the session cannot be asked: {error}"));
            return Ok(vec![State::unavailable(KEY)]); // what was told before stays
        }
    };
    if title.is_empty() {
        return Ok(vec![State::absent(KEY)]);
    }
    let before = match observation.told::<String>(KEY) {
        Some(before) => format!(" (before: {before})"),
        None => String::new(),
    };
    let texts = Texts {
        baseline: format!("This session is about: {title}"),
        update: format!("This session is now about: {title}{before}"),
        removed: "What this session is about is no longer told.".into(),
    };
    Ok(vec![State::value(KEY, &title, texts)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use plinth::abi::{self, ContextObserved, SessionInfo, SOURCE_ABSENT, SOURCE_UNAVAILABLE, SOURCE_VALUE};
    use plinth::test::{call, goldens, MockHost};
    use plinth::{Error, Json, Kind};

    /// The goldens of plugin.toml, natively; plinth plugin test runs them in the engine too.
    #[test]
    fn recorded_calls() {
        goldens(&PLUGIN, ".");
    }

    /// Calls the source natively, on a host whose session has a title or refuses to tell.
    fn state(title: Result<&'static str>, before: Option<&str>) -> State {
        let host = MockHost::new().answer("session.info", move |_: abi::None| {
            title.clone().map(|title| SessionInfo { title: title.into(), ..SessionInfo::default() })
        });
        let mut observation = Observe::default();
        if let Some(before) = before {
            observation.previous.insert(KEY.into(), Json::of(&before).unwrap());
        }
        let observed: ContextObserved = host.run(|| call(&PLUGIN, "plinth_context_observe", &observation)).unwrap();
        assert_eq!(observed.sources.len(), 1);
        observed.sources[0].clone()
    }

    #[test]
    fn the_title_is_told() {
        let state = state(Ok("Bees"), None);
        assert_eq!((state.state.as_str(), state.baseline.as_str()), (SOURCE_VALUE, "This session is about: Bees"));
    }

    #[test]
    fn a_change_names_the_title_before() {
        assert_eq!(state(Ok("Bees"), Some("Wasps")).update, "This session is now about: Bees (before: Wasps)");
    }

    #[test]
    fn without_a_title_nothing_is_told() {
        assert_eq!(state(Ok(""), None).state, SOURCE_ABSENT);
        assert_eq!(state(Err(Error::new(Kind::Denied, "not granted")), None).state, SOURCE_UNAVAILABLE);
    }
}
