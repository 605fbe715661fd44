//! The output formats for programs: JSON and CSV of the service's records.

use serde_json::{Map, Value};

use crate::error::{Error, Exit, Result};

/// The format of stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns, for people
    #[default]
    Table,
    /// The service's records as JSON
    Json,
    /// The service's records as YAML
    Yaml,
    /// The service's records as CSV, a line for each
    Csv,
    /// Ids, one a line
    Ids,
}

/// Indented JSON with a last line end. Control characters that JSON lets pass are escaped too.
pub fn json(json: &Value) -> String {
    let text = format!("{json:#}\n");
    if !text.contains(|letter: char| letter.is_control() && letter != '\n') {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() && letter != '\n' {
            safe += &format!("\\u{:04x}", u32::from(letter));
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// A line of titles and one for each record. A list within a record is joined with commas, an
/// object is written as JSON.
pub fn csv(json: &Value) -> Result<String> {
    let records: Vec<&Map<String, Value>> = match json {
        Value::Array(records) => records.iter().filter_map(Value::as_object).collect(),
        Value::Object(record) => vec![record],
        _ => Vec::new(),
    };
    let mut titles: Vec<&str> = Vec::new();
    for title in records.iter().flat_map(|record| record.keys()) {
        if !titles.contains(&title.as_str()) {
            titles.push(title);
        }
    }
    if titles.is_empty() {
        return Ok(String::new());
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&titles).map_err(|error| failed(&error))?;
    for record in records {
        let fields = titles.iter().map(|title| record.get(*title).map_or_else(String::new, field));
        writer.write_record(fields).map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) if !values.iter().any(Value::is_object) => {
            values.iter().map(field).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Exit::Internal, "output", "The answer cannot be written in this format.")
        .because(error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plans() -> Value {
        json!([
            { "name": "Pro, \"annual\"", "maxSeats": 5, "features": ["export", "sso"] },
            { "name": "Free", "maxSeats": null, "features": [], "metadata": { "a": 1 } },
        ])
    }

    #[test]
    fn csv_has_a_column_for_every_field_that_occurs() {
        insta::assert_snapshot!(csv(&plans()).unwrap(), @r#"
        name,maxSeats,features,metadata
        "Pro, ""annual""",5,"export,sso",
        Free,,,"{""a"":1}"
        "#);
        assert_eq!(csv(&plans()[1]).unwrap().lines().count(), 2, "one record is a list of one");
        assert_eq!(csv(&json!([])).unwrap(), "");
    }

    #[test]
    fn json_carries_no_control_character() {
        let text = json(&json!({ "a": "\u{9b}\u{1b}\u{7f}" }));
        assert_eq!(text, "{\n  \"a\": \"\\u009b\\u001b\\u007f\"\n}\n");
    }
}
