//! A plugin built with Extism's Rust PDK. Its entries are the same as those of the
//! guests in other languages, so that the tests are as well.

use extism_pdk::*;

#[no_mangle]
pub extern "C" fn plinth_abi_1() {}

#[host_fn("extism:host/user")]
extern "ExtismHost" {
    fn host_call(operation: String, request: Vec<u8>) -> Vec<u8>;
}

#[plugin_fn]
pub fn echo(input: Vec<u8>) -> FnResult<Vec<u8>> {
    Ok(input)
}

#[plugin_fn]
pub fn vowels(input: String) -> FnResult<String> {
    let count = input.to_lowercase().chars().filter(|c| "aeiou".contains(*c)).count();
    Ok(count.to_string())
}

#[plugin_fn]
pub fn setting() -> FnResult<String> {
    let mut colour = config::get("colour")?.unwrap_or("none".to_string());
    if config::get("flavour")?.is_none() {
        colour += ", no flavour";
    }
    Ok(colour)
}

#[plugin_fn]
pub fn variable(input: String) -> FnResult<String> {
    let before = var::get::<Vec<u8>>("name")?.unwrap_or_default().len();
    var::set("name", &input)?;
    let kept = var::get::<String>("name")?.unwrap_or_default();
    var::remove("name")?;
    let after = var::get::<Vec<u8>>("name")?.unwrap_or_default().len();
    Ok(format!("{before} {kept} {after}"))
}

#[plugin_fn]
pub fn logs(input: String) -> FnResult<()> {
    info!("about {}", input);
    warn!("careful");
    error!("broken");
    Ok(())
}

#[plugin_fn]
pub fn fail(input: String) -> FnResult<()> {
    Err(WithReturnCode::new(Error::msg(format!("cannot do {input}")), 1))
}

#[plugin_fn]
pub fn crash() -> FnResult<()> {
    panic!("on purpose")
}

#[plugin_fn]
pub fn operate(input: Vec<u8>) -> FnResult<Vec<u8>> {
    let mut answer = unsafe { host_call("echo".to_string(), input)? };
    answer.extend(unsafe { host_call("nothing".to_string(), Vec::new())? });
    Ok(answer)
}

#[plugin_fn]
pub fn fetch() -> FnResult<String> {
    let answer = http::request::<()>(&HttpRequest::new("http://127.0.0.1:1/"), None)?;
    Ok(answer.status_code().to_string())
}

#[plugin_fn]
pub fn plinth_tool_execute(message: Vec<u8>) -> FnResult<Vec<u8>> {
    let length = message.get(..4).map(|l| u32::from_le_bytes(l.try_into().unwrap()) as usize);
    if length.map_or(true, |l| l > message.len() - 4) {
        return Err(WithReturnCode::new(Error::msg("this is no message"), 1));
    }
    unsafe { host_call("log".to_string(), encode(r#"{"level":"info","message":"the tool runs"}"#))? };
    Ok(encode(r#"{"ok":{"content":[{"type":"text","text":"done by Extism"}]}}"#))
}

/// Makes a message without bytes.
fn encode(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}
