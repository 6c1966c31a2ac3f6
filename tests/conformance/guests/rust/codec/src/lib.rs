//! The pure conformance guest: a provider codec and a transform. What it does stands in
//! ../../README.md.

mod provider;
mod transform;

plinth::plugin! {
    providers: { "conformance" => provider::Conformance },
    transforms: { "edit" => transform::edit },
}
