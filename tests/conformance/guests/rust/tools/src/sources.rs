use plinth::abi::{Location, Session};
use plinth::source::{Observe, State, Texts};
use plinth::{Error, Json, Result};
use serde::Serialize;

#[derive(Serialize)]
struct Seen<'a> {
    session: &'a Session,
    location: &'a Location,
    now_ms: i64,
    previous: Option<Json>,
}

pub fn observe(observe: &Observe) -> Result<Vec<State>> {
    let session = &observe.session.id;
    if session == "fail" {
        return Err(Error::unavailable("nothing can be seen"));
    }
    const KEY: &str = "conformance/guest/session";
    let previous = observe.told::<Json>(KEY);
    let texts = Texts {
        baseline: format!("The session is {session}."),
        update: previous.as_ref().map_or_else(String::new, |_| format!("The session is now {session}.")),
        removed: "The session is unknown.".into(),
    };
    let seen = Seen { session: &observe.session, location: &observe.location, now_ms: observe.now_ms, previous };
    Ok(vec![
        State::value(KEY, &seen, texts)?,
        State::unavailable("conformance/guest/unavailable"),
        State::absent("conformance/guest/absent"),
    ])
}
