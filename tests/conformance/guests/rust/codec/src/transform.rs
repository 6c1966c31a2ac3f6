use plinth::abi::PART_TEXT;
use plinth::transform::{Apply, Edit};
use plinth::{Error, Json, Kind, Result};

/// One edit of every kind: the purpose appended to the system text, the first text of
/// the messages in capitals, the tool "drop" dropped, and settings set.
pub fn edit(request: &Apply) -> Result<Vec<Edit>> {
    if request.purpose == "fail" {
        return Err(Error::new(Kind::Conflict, "the purpose cannot be served"));
    }
    let mut edits = vec![Edit::append_system("added", &format!("The purpose is {}.", request.purpose))?];
    let mut parts = request.messages.iter().flat_map(|message| &message.parts);
    if let Some(part) = parts.find(|part| part.kind == PART_TEXT) {
        edits.push(Edit::replace("messages", &part.id, &part.text.to_ascii_uppercase())?);
    }
    if request.tools.iter().any(|tool| tool.name == "drop") {
        edits.push(Edit::drop("tools", "drop"));
    }
    edits.push(Edit::set("generation", "temperature", &0.5)?);
    edits.push(Edit::set("options", "conformance", &Json::parse(r#"{"deep":[1,null]}"#)?)?);
    edits.push(Edit::set("headers", "x-conformance", &"yes")?);
    Ok(edits)
}
