//! CSV for spreadsheets: columns that depend on the command and not on its outcome, and one line
//! for each record. Values stay as they are, so that a file reads back as what it was written from.

use serde_json::{Map, Value};

use super::columns::ColumnNames;
use super::failed;
use crate::error::Result;

/// A column: its title, and the JSON pointer to its value in a record.
type Field = (String, String);

/// The columns of lists such as `id name seatsUsed=/seats/used`: names of members, separated by
/// spaces, or titles with a pointer.
fn columns(lists: &[&str]) -> Vec<Field> {
    let words = lists.iter().flat_map(|list| list.split_whitespace());
    let column = |word: &str| match word.split_once('=') {
        Some((title, pointer)) => (title.to_owned(), pointer.to_owned()),
        None => (word.to_owned(), format!("/{word}")),
    };
    words.map(column).collect()
}

/// CSV with the columns of a command.
pub struct Sheet {
    fields: Vec<Field>,
    headers: bool,
}

impl Sheet {
    /// A sheet with the columns of these lists, as in `id name seatsUsed=/seats/used`.
    pub fn new(lists: &[&str], chosen: Option<&ColumnNames>, headers: bool) -> Result<Self> {
        let mut fields = columns(lists);
        if let Some(names) = chosen {
            let titles: Vec<&str> = fields.iter().map(|(title, _)| title.as_str()).collect();
            fields = names.places(&titles)?.into_iter().map(|at| fields[at].clone()).collect();
        }
        Ok(Self { fields, headers })
    }

    /// The line of titles; empty without headers.
    pub fn header(&self) -> Result<String> {
        if !self.headers {
            return Ok(String::new());
        }
        lines([self.fields.iter().map(|(title, _)| title.clone()).collect()])
    }

    pub fn width(&self) -> usize {
        self.fields.len()
    }

    /// The value of the first column; null if the record has none.
    pub fn first(&self, record: &Value) -> Value {
        let pointer = self.fields.first().map_or("", |(_, pointer)| pointer);
        record.pointer(pointer).cloned().unwrap_or_default()
    }

    pub fn records(&self, records: &[Value]) -> Result<String> {
        let row = |record: &Value| {
            self.fields.iter().map(|(_, pointer)| cell(record.pointer(pointer))).collect()
        };
        lines(records.iter().map(row))
    }
}

/// CSV of records of an unknown kind: a column for every member that occurs.
pub fn of_any(json: &Value, chosen: Option<&ColumnNames>, headers: bool) -> Result<String> {
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
    if let Some(names) = chosen {
        titles = names.places(&titles)?.into_iter().map(|at| titles[at]).collect();
    }
    let header = headers.then(|| titles.iter().map(|&title| title.to_owned()).collect());
    let row = |record: &&Map<String, Value>| {
        titles.iter().map(|title| cell(record.get(*title))).collect()
    };
    lines(header.into_iter().chain(records.iter().map(row)))
}

/// Note for texts that a spreadsheet would calculate, because they may come from an attacker.
pub const FORMULA_NOTE: &str = "note: cells that begin with =, +, - or @ are formulas to a spreadsheet, so import them as text\n";

/// Whether a cell would be a formula.
pub fn has_formula(csv: &str) -> bool {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_bytes());
    let mut records = reader.records().flatten();
    records.any(|record| record.iter().any(|cell| cell.starts_with(['=', '+', '-', '@'])))
}

fn lines(rows: impl IntoIterator<Item = Vec<String>>) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(|error| failed(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

/// A list of plain values is joined with commas, anything else that is nested is JSON.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) if !values.iter().any(Value::is_object) => {
            values.iter().map(|value| cell(Some(value))).collect::<Vec<_>>().join(",")
        }
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plans() -> Value {
        json!([
            { "name": "Pro, \"annual\"", "maxSeats": 5, "features": ["export", "sso"] },
            { "name": "=Free", "maxSeats": null, "features": [], "metadata": { "a": 1 } },
        ])
    }

    fn sheet(records: &Value, chosen: Option<&str>, headers: bool) -> Result<String> {
        let names: Option<ColumnNames> = chosen.map(|names| names.parse().unwrap());
        let sheet = Sheet::new(&["name maxSeats", "first=/features/0"], names.as_ref(), headers)?;
        Ok(sheet.header()? + &sheet.records(records.as_array().unwrap())?)
    }

    #[test]
    fn columns_do_not_depend_on_the_records() {
        insta::assert_snapshot!(sheet(&plans(), None, true).unwrap(), @r#"
        name,maxSeats,first
        "Pro, ""annual""",5,export
        =Free,,
        "#);
        assert_eq!(sheet(&json!([]), None, true).unwrap(), "name,maxSeats,first\n");
        assert_eq!(sheet(&json!([]), None, false).unwrap(), "");
    }

    #[test]
    fn columns_are_chosen_by_name_in_any_case() {
        let chosen = sheet(&plans(), Some("MAXSEATS,name"), true).unwrap();
        assert!(chosen.starts_with("maxSeats,name\n5,"), "{chosen}");
        // The name that a table has for it.
        assert_eq!(sheet(&plans(), Some("seats,NAME"), true).unwrap(), chosen);
        let error = sheet(&plans(), Some("colour"), true).err().unwrap().text(None);
        assert!(error.contains("Columns: name, maxSeats, first"), "{error}");
    }

    #[test]
    fn records_of_an_unknown_kind_have_a_column_for_every_member_that_occurs() {
        insta::assert_snapshot!(of_any(&plans(), None, true).unwrap(), @r#"
        name,maxSeats,features,metadata
        "Pro, ""annual""",5,"export,sso",
        =Free,,,"{""a"":1}"
        "#);
        assert_eq!(of_any(&plans()[1], None, true).unwrap().lines().count(), 2, "a list of one");
        let id: ColumnNames = "id".parse().unwrap();
        assert_eq!(of_any(&json!([]), Some(&id), true).unwrap(), "", "there is nothing to miss");
    }
}
