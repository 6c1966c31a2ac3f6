//! The pure conformance guest: a provider codec and a transform. What it does stands in
//! ../../README.md.

mod provider;
mod transform;

use plinth::{json, Answer, Call, Error};

plinth::export! {
    plinth_init => init,
    plinth_provider_encode => provider::encode,
    plinth_provider_decode => provider::decode,
    plinth_provider_classify => provider::classify,
    plinth_transform_apply => transform::apply,
}

fn init(_: Call) -> Result<Answer, Error> {
    Ok(Answer::ok(json!({})))
}
