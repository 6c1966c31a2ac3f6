//! What a plugin offers: what [`plugin!`](crate::plugin!) makes of the functions that it
//! names.

use crate::abi::{self, Json};
use crate::guest::{fail, ok, read, Handler};
use crate::Result;
use serde::de::DeserializeOwned;

/// A plugin as native tests call it: its exports by name.
pub struct Plugin {
    #[doc(hidden)]
    pub entries: &'static [(&'static str, Handler)],
}

impl Plugin {
    /// Answers a call of an export. Both are whole messages.
    pub fn serve(&self, export: &str, message: &[u8]) -> Vec<u8> {
        match self.entries.iter().find(|(name, _)| *name == export) {
            Some((_, handle)) => handle(message),
            None => fail(&crate::Error::unavailable(format!("nothing is registered for {export}"))),
        }
    }
}

/// Serves `plinth_init`.
#[doc(hidden)]
pub fn init(message: &[u8], set: fn(&Json) -> Result<()>) -> Vec<u8> {
    #[cfg(target_arch = "wasm32")]
    crate::guest::report_panics();
    let served = read::<abi::Init>(message).and_then(|call| {
        let none = Json::default();
        set(match &call.body.config {
            Some(config) => config,
            None => &none,
        })
    });
    match served {
        Ok(()) => ok(&abi::None {}, &[]),
        Err(error) => fail(&error),
    }
}

/// Reads the operator's settings; none are an empty object.
#[doc(hidden)]
pub fn settings<C: DeserializeOwned>(config: &Json) -> Result<C> {
    let text = if config.text() == "null" { "{}" } else { config.text() };
    serde_json::from_slice(text.as_bytes()).map_err(|error| crate::Error::invalid_input(format!("the plugin's configuration: {error}")))
}

/// Makes a plugin of functions. All clauses may be left out, but they stand in this order,
/// each with a comma behind it:
///
/// ```ignore
/// plinth::plugin! {
///     config: Settings => configure,     // fn(Settings) -> Result<()>
///     prepare: prepare,                  // fn() -> Result<()>
///     tools: { "weather" => weather },   // fn(&tool::Call, Input) -> Result<tool::Output>
///     sources: observe,                  // fn(&source::Observe) -> Result<Vec<source::State>>
///     providers: { "line" => Line },     // a value whose type is a provider::Codec
///     transforms: { "mask" => mask },    // fn(&transform::Apply) -> Result<Vec<transform::Edit>>
/// }
/// ```
///
/// `config` gets the operator's settings, `{}` when there are none, and then `prepare` runs: once,
/// before all calls. An error keeps the plugin from being used. A setting that the type
/// does not know is refused when the type says `#[serde(deny_unknown_fields)]`.
///
/// The macro defines `PLUGIN`, which native tests hand to [`test`](crate::test), and the
/// module's exports. It stands once in a plugin, in the root of its crate.
#[macro_export]
macro_rules! plugin {
    (
        $(config: $settings:ty => $configure:expr,)?
        $(prepare: $prepare:expr,)?
        $(tools: { $($tool:literal => $run:expr),+ $(,)? },)?
        $(sources: $observe:expr,)?
        $(providers: { $($provider:literal => $codec:expr),+ $(,)? },)?
        $(transforms: { $($transform:literal => $apply:expr),+ $(,)? },)?
    ) => {
        /// What this plugin offers: for its native tests.
        pub static PLUGIN: $crate::Plugin = {
            fn init(message: &[u8]) -> ::std::vec::Vec<u8> {
                $crate::plugin::init(message, |_config| {
                    $($configure($crate::plugin::settings::<$settings>(_config)?)?;)?
                    $($prepare()?;)?
                    $crate::Result::Ok(())
                })
            }
            $crate::__export!(plinth_init => init);
            $(
                fn tool(message: &[u8]) -> ::std::vec::Vec<u8> {
                    $crate::tool::serve(message, |name, call, input| match name {
                        $($tool => $run(call, $crate::tool::input($tool, input)?),)+
                        _ => $crate::Result::Err($crate::tool::unknown(name)),
                    })
                }
                $crate::__export!(plinth_tool_execute => tool);
            )?
            $(
                fn source(message: &[u8]) -> ::std::vec::Vec<u8> {
                    $crate::source::serve(message, |observe| $observe(observe))
                }
                $crate::__export!(plinth_context_observe => source);
            )?
            $(
                fn encode(message: &[u8]) -> ::std::vec::Vec<u8> {
                    $crate::provider::encode(message, |name, request| match name {
                        $($provider => $crate::provider::Codec::encode(&$codec, request),)+
                        _ => $crate::Result::Err($crate::provider::unknown(name)),
                    })
                }
                fn decode(message: &[u8]) -> ::std::vec::Vec<u8> {
                    $crate::provider::decode(message, |call| match call.provider.as_str() {
                        $($provider => $crate::provider::decode_with(&$codec, call),)+
                        name => $crate::Result::Err($crate::provider::unknown(name)),
                    })
                }
                fn classify(message: &[u8]) -> ::std::vec::Vec<u8> {
                    $crate::provider::classify(message, |response| match response.provider.as_str() {
                        $($provider => $crate::Result::Ok($crate::provider::Codec::classify(&$codec, response)),)+
                        name => $crate::Result::Err($crate::provider::unknown(name)),
                    })
                }
                $crate::__export!(plinth_provider_encode => encode);
                $crate::__export!(plinth_provider_decode => decode);
                $crate::__export!(plinth_provider_classify => classify);
            )?
            $(
                fn transform(message: &[u8]) -> ::std::vec::Vec<u8> {
                    $crate::transform::serve(message, |apply| match apply.transform.as_str() {
                        $($transform => $apply(apply),)+
                        name => $crate::Result::Err($crate::transform::unknown(name)),
                    })
                }
                $crate::__export!(plinth_transform_apply => transform);
            )?
            $crate::Plugin {
                entries: &[
                    ("plinth_init", init),
                    $(("plinth_tool_execute", { $(_ = $tool;)+ tool }),)?
                    $(("plinth_context_observe", { _ = stringify!($observe); source }),)?
                    $(
                        ("plinth_provider_encode", { $(_ = $provider;)+ encode }),
                        ("plinth_provider_decode", decode),
                        ("plinth_provider_classify", classify),
                    )?
                    $(("plinth_transform_apply", { $(_ = $transform;)+ transform }),)?
                ],
            }
        };
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "plinth::plugin! takes, in this order and each with a comma behind it: config: TYPE => FUNCTION, prepare: FUNCTION, \
             tools: { \"NAME\" => FUNCTION }, sources: FUNCTION, providers: { \"ID\" => CODEC }, transforms: { \"NAME\" => FUNCTION }"
        );
    };
}
