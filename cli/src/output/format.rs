//! The output formats, and two for programs that show a record with all its members: JSON and JSON
//! lines.

use serde_json::Value;

/// The format of stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Aligned columns, for people
    #[default]
    Table,
    /// The server's records as JSON; errors are JSON too
    Json,
    /// JSON with one record per line
    Jsonl,
    /// CSV with stable columns, for spreadsheets
    Csv,
    /// Ids, one per line
    Ids,
}

impl Format {
    /// Whether messages on stderr are JSON as well.
    pub fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonl)
    }

    /// Whether a record is one line, which can be printed before the next record is there.
    pub fn is_by_line(self) -> bool {
        matches!(self, Self::Jsonl | Self::Csv | Self::Ids)
    }

    /// Whether there are columns to choose from.
    pub fn has_columns(self) -> bool {
        matches!(self, Self::Table | Self::Csv)
    }
}

/// Indented JSON with a last line end.
pub fn json(json: &Value) -> String {
    escaped(format!("{json:#}\n"))
}

/// The text of [`json`] for an array that comes in parts.
#[derive(Default)]
pub struct JsonArray(String);

impl JsonArray {
    pub fn extend(&mut self, part: &Value) {
        let text = json(part);
        let records = text.strip_prefix("[\n").and_then(|text| text.strip_suffix("\n]\n"));
        if let Some(records) = records {
            self.0 += if self.0.is_empty() { "" } else { ",\n" };
            self.0 += records;
        }
    }

    pub fn text(&self) -> String {
        if self.0.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", self.0) }
    }
}

/// The records of an array, or the only record, one a line.
pub fn json_lines(json: &Value) -> String {
    let records = json.as_array().map_or_else(|| std::slice::from_ref(json), Vec::as_slice);
    escaped(records.iter().map(|record| format!("{record}\n")).collect())
}

/// Escapes the control characters that JSON lets pass.
fn escaped(text: String) -> String {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_carries_no_control_character() {
        let record = json!({ "a": "\u{9b}\u{1b}\u{7f}" });
        assert_eq!(json(&record), "{\n  \"a\": \"\\u009b\\u001b\\u007f\"\n}\n");
        assert_eq!(json_lines(&record), "{\"a\":\"\\u009b\\u001b\\u007f\"}\n");
    }

    #[test]
    fn an_array_in_parts_reads_as_the_whole() {
        for parts in
            [vec![], vec![json!([])], vec![json!([{ "a": 1 }, 2]), json!([]), json!(["]"])]]
        {
            let mut array = JsonArray::default();
            parts.iter().for_each(|part| array.extend(part));
            let whole: Vec<Value> =
                parts.iter().flat_map(|part| part.as_array().unwrap().clone()).collect();
            assert_eq!(array.text(), json(&whole.into()));
        }
    }

    #[test]
    fn a_record_is_a_line() {
        assert_eq!(json_lines(&json!([{ "a": "1\n2" }, 3])), "{\"a\":\"1\\n2\"}\n3\n");
        assert_eq!(json_lines(&json!([])), "");
    }
}
