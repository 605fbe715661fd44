//! The rows of a file: their fields are read from its columns or members, and every row is checked
//! before any is used. [`super::text`] takes the file apart.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::str::FromStr;

use common::{ExternalId, Line, Metadata, MetadataPatch, Name};
use serde_json::{Map, Value};

use super::text::{ParsedFile, decode, records};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::noun::MetadataChange;
use crate::output::normalized;
use crate::terminal::unreadable;

/// Maximum number of invalid rows that an error shows. It counts the others.
const MAX_SHOWN_ROWS: usize = 3;

/// The columns of the user, as [`normalized`] writes them. Where a record of the service has both,
/// its userId is the service's own id.
pub(super) const USER_TITLES: [&str; 3] = ["externalid", "userid", "user"];

/// Prefix of the columns for single entries of metadata.
pub(super) const METADATA: &str = "metadata.";

const NO_OBJECT: &str = "metadata must be a JSON object";

/// One row: a user and the fields that the file gives.
#[derive(Clone, Debug)]
pub struct UserRow {
    /// The line in the file, from 1.
    pub line: usize,
    pub user: ExternalId,
    pub email: Option<Line>,
    pub name: Option<Name>,
    pub metadata: MetadataChange,
}

/// A field and the column that it is read from.
#[derive(Clone, Debug)]
pub struct ColumnMapping {
    field: String,
    pub(super) column: String,
}

impl FromStr for ColumnMapping {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (field, column) = text.split_once('=').ok_or("must be FIELD=COLUMN")?;
        let field = if field == "externalId" { "userId" } else { field };
        let is_entry = field.strip_prefix(METADATA).is_some_and(|key| !key.is_empty());
        if !(["userId", "email", "name"].contains(&field) || is_entry) || column.is_empty() {
            return Err("must be FIELD=COLUMN, where FIELD is userId, email, name or metadata.KEY");
        }
        Ok(Self { field: field.to_owned(), column: column.to_owned() })
    }
}

/// Content of a file.
#[derive(Debug, Default)]
pub struct UserFile {
    pub rows: Vec<UserRow>,
    /// The names of all columns.
    pub titles: BTreeSet<String>,
    /// Number of values that were trimmed.
    pub trimmed: usize,
}

/// Reads a file, or stdin for `-`.
pub async fn read(ctx: &Context, file: &str, mapping: &[ColumnMapping]) -> Result<UserFile> {
    let bytes = match file {
        "-" => ctx.io.read_stdin_bytes().await?,
        path => fs::read(path).map_err(|error| unreadable(path, &error))?,
    };
    parse(file, &bytes, mapping)
}

/// A header without rows is fine, and so is empty input from a pipe. An empty file is probably a
/// mistake.
fn parse(file: &str, bytes: &[u8], mapping: &[ColumnMapping]) -> Result<UserFile> {
    let is_stdin = file == "-";
    let file = if is_stdin { "Stdin" } else { file };
    let ParsedFile { titles, records, trimmed } = records(decode(file, bytes)?)?;
    if records.is_empty() && is_stdin && titles.is_empty() {
        return Ok(UserFile::default());
    }
    if let Some(lost) = mapping.iter().find(|mapping| !titles.contains(&mapping.column)) {
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        return Err(Error::usage(format!("Unknown column {}.", lost.column))
            .because(format!("Columns: {}", titles.join(", "))));
    }
    let names_users = |title: &String| USER_TITLES.contains(&normalized(title).as_str());
    let has_users = mapping.iter().any(|it| it.field == "userId") || titles.iter().any(names_users);
    if records.is_empty() && !has_users {
        return Err(Error::usage(format!("{file} has no rows.")));
    }
    let mut rows = Vec::new();
    let mut wrong = Vec::new();
    let mut seen: HashMap<ExternalId, usize> = HashMap::new();
    for (line, record) in records {
        match record.and_then(|record| row(line, &record, mapping)) {
            Ok(row) => match seen.insert(row.user.clone(), line) {
                Some(first) => {
                    wrong.push((line, format!("{} is already on line {first}", row.user)))
                }
                None => rows.push(row),
            },
            Err(why) => wrong.push((line, why)),
        }
    }
    if !wrong.is_empty() {
        return Err(refused(file, rows.len(), &wrong));
    }
    Ok(UserFile { rows, titles, trimmed })
}

fn row(
    line: usize,
    record: &Map<String, Value>,
    mapping: &[ColumnMapping],
) -> std::result::Result<UserRow, String> {
    let user = field(record, mapping, "userId", &USER_TITLES)?;
    let user = user.ok_or("has no userId or externalId (or set --map userId=COLUMN)")?;
    Ok(UserRow {
        line,
        user: user.parse().map_err(|error| format!("userId {error}"))?,
        email: parsed(record, mapping, "email")?,
        name: parsed(record, mapping, "name")?,
        metadata: metadata(record, mapping)?,
    })
}

fn parsed<T: FromStr<Err: std::fmt::Display>>(
    record: &Map<String, Value>,
    mapping: &[ColumnMapping],
    name: &str,
) -> std::result::Result<Option<T>, String> {
    let found = field(record, mapping, name, &[name])?;
    found.map(|text| text.parse().map_err(|error| format!("{name} {error}"))).transpose()
}

/// A field's text: from the mapped column, or from the column with the field's name.
fn field(
    record: &Map<String, Value>,
    mapping: &[ColumnMapping],
    name: &str,
    titles: &[&str],
) -> std::result::Result<Option<String>, String> {
    let mapped = mapping.iter().find(|mapping| mapping.field == name);
    let value = match mapped {
        Some(mapping) => record.get(&mapping.column),
        None => titles.iter().find_map(|wanted| {
            record.iter().find(|(title, _)| normalized(title) == *wanted).map(|(_, value)| value)
        }),
    };
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        // The digits of any other number could change.
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => {
            Ok(Some(number.to_string()))
        }
        Some(Value::Number(_)) => {
            Err(format!("{name} is a number with a fraction, or too large: put it in quotes"))
        }
        Some(_) => Err(format!("{name} must be a string")),
    }
}

/// The object in the field `metadata`, in CSV as JSON, or columns called `metadata.KEY`, whose
/// empty cells change nothing, or columns that are mapped to these.
fn metadata(
    record: &Map<String, Value>,
    mapping: &[ColumnMapping],
) -> std::result::Result<MetadataChange, String> {
    let invalid = |error| format!("metadata {error}");
    let whole: Map<String, Value> = match record.get("metadata") {
        Some(Value::Object(map)) => map.clone(),
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| NO_OBJECT)?,
        Some(Value::Null) | None => {
            let entries = record.iter().filter(|(_, value)| !value.is_null());
            let entries = entries.filter_map(|(title, value)| {
                Some((title.strip_prefix(METADATA)?.to_owned(), value.clone()))
            });
            let mapped = mapping.iter().filter_map(|it| {
                let key = it.field.strip_prefix(METADATA)?.to_owned();
                Some((key, record.get(&it.column)?.clone()))
            });
            let merged = MetadataPatch::new(entries.chain(mapped).collect()).map_err(invalid)?;
            let merged = Some(merged).filter(|merged| !merged.is_empty());
            return Ok(MetadataChange { merged, replaced: None });
        }
        Some(_) => return Err(NO_OBJECT.to_owned()),
    };
    let whole = Metadata::new(whole).map_err(invalid)?;
    let replaced = Some(whole).filter(|whole| !whole.is_empty());
    Ok(MetadataChange { replaced, merged: None })
}

fn refused(file: &str, good: usize, wrong: &[(usize, String)]) -> Error {
    let total = good + wrong.len();
    let message = match total {
        1 => format!("{file}: the only row is invalid."),
        _ if wrong.len() == 1 => format!("{file}: 1 of {total} rows is invalid."),
        _ => format!("{file}: {} of {total} rows are invalid.", wrong.len()),
    };
    Error::usage(message).because(first_of("line", wrong)).fix("fix the file; no row was sent")
}

/// The first of the invalid rows, each with its number after `word`, and the number of the others.
pub fn first_of(word: &str, wrong: &[(usize, String)]) -> String {
    let shown = wrong.iter().take(MAX_SHOWN_ROWS);
    let shown: Vec<String> = shown.map(|(row, why)| format!("{word} {row}: {why}")).collect();
    let more = match wrong.len().saturating_sub(MAX_SHOWN_ROWS) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    shown.join("; ") + &more
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    pub fn file(text: &str) -> UserFile {
        parse("users", text.as_bytes(), &[]).unwrap()
    }

    fn users(text: &str, mapping: &[&str]) -> Result<Vec<String>> {
        let mapping: Vec<ColumnMapping> =
            mapping.iter().map(|text| text.parse().unwrap()).collect();
        let rows = parse("users", text.as_bytes(), &mapping)?.rows;
        Ok(rows.into_iter().map(|row| format!("{row:?}")).collect())
    }

    #[test]
    fn csv_and_json_lines_say_the_same() {
        let csv = "External ID,email,metadata\nalice,a@x.org,\"{\"\"team\"\":\"\"blue\"\"}\"\n\"b,c\",,\n";
        let json = "{\"userId\":\"alice\",\"email\":\"a@x.org\",\"metadata\":{\"team\":\"blue\"}}\n\
                    {\"userId\":\"b,c\"}\n";
        let strip = |rows: Vec<String>| rows.join("\n").replace("line: 2", "line: 1");
        let from_csv = strip(users(csv, &[]).unwrap()).replace("line: 3", "line: 1");
        assert_eq!(from_csv, strip(users(json, &[]).unwrap()));
        assert!(from_csv.contains("\"b,c\"") && from_csv.contains("blue"), "{from_csv}");
    }

    #[test]
    fn a_column_can_be_an_entry_of_metadata() {
        for field in ["metadata.dept=Abteilung", "externalId=login"] {
            let rows = users("login,userId,Abteilung\nalice,7,Sales\n", &[field]).unwrap();
            let said = if field.starts_with('m') { "\"dept\": String(\"Sales\")" } else { "alice" };
            assert!(rows[0].contains(said), "{rows:?}");
        }
        assert!("metadata.=x".parse::<ColumnMapping>().is_err());
    }

    #[test]
    fn a_column_can_be_named() {
        let rows = users("login,id\nalice,7\n", &["userId=login"]).unwrap();
        assert!(rows[0].contains("alice"), "{rows:?}");
        assert!(users("login\nalice\n", &[]).is_err());
    }

    /// A changed number would be the id of another user.
    #[test]
    fn numbers_are_ids_while_their_digits_survive() {
        for id in ["0", "42", "-7", "9007199254740993", "18446744073709551615"] {
            let rows = users(&format!("{{\"userId\":{id}}}\n"), &[]).unwrap();
            assert!(rows[0].contains(&format!("\"{id}\"")), "{rows:?}");
        }
        for id in ["12345678901234567890123", "18446744073709551616", "1.10", "1.0", "1e3", "-0"] {
            let text = format!("{{\"userId\":1}}\n{{\"userId\":{id}}}\n");
            let error = users(&text, &[]).unwrap_err().text(None);
            assert!(error.contains("line 2: userId is a number with"), "{id}: {error}");
            assert!(error.contains("put it in quotes"), "{id}: {error}");
            let quoted = users(&format!("{{\"userId\":\"{id}\"}}\n"), &[]).unwrap();
            assert!(quoted[0].contains(&format!("\"{id}\"")), "{quoted:?}");
        }
    }

    #[test]
    fn columns_are_entries_of_metadata_and_an_object_is_all_of_it() {
        let changes = |text: &str| {
            let rows = parse("users", text.as_bytes(), &[]).unwrap().rows;
            let shown = |MetadataChange { replaced, merged }: MetadataChange| match replaced {
                Some(all) => format!("all {}", serde_json::to_string(&all).unwrap()),
                None => serde_json::to_string(&merged).unwrap(),
            };
            rows.into_iter().map(|row| shown(row.metadata)).collect::<Vec<_>>()
        };
        let entry = r#"{"team":"blue"}"#;
        // An empty cell does not change the entry.
        let csv = "userId,metadata.team,metadata.tier\nalice,blue,\nbob,,\n";
        assert_eq!(changes(csv), [entry, "null"]);
        assert_eq!(changes(r#"{"userId":"a","metadata.team":"blue","metadata.x":null}"#), [entry]);
        let all = r#"all {"team":"blue"}"#;
        let csv = "id,externalId,metadata\nusr_1,alice,\"{\"\"team\"\":\"\"blue\"\"}\"\n";
        assert_eq!(changes(csv), [all]);
        assert_eq!(changes(r#"{"userId":"a","metadata":{"team":"blue"}}"#), [all]);
        let error = users("userId,metadata\nalice,[1]\n", &[]).unwrap_err().text(None);
        assert!(error.contains("line 2: metadata must be a JSON object"), "{error}");
    }

    /// Answers of the service name both.
    #[test]
    fn the_external_id_comes_before_the_id_of_the_service() {
        let rows = users("userId,externalId\nusr_1,alice\n", &[]).unwrap();
        assert!(rows[0].contains("\"alice\""), "{rows:?}");
    }

    #[test]
    fn every_bad_row_is_counted_and_the_first_are_shown() {
        let text = "userId\nalice\nalice\n\"a\u{7}\"\nbob,x\n\"\"\n\"\u{8}\"\n";
        let error = users(text, &[]).unwrap_err().text(None);
        assert!(error.contains(" rows are invalid."), "{error}");
        assert!(error.contains("line 3: alice is already on line 2"), "{error}");
        assert!(error.contains("line 4: userId must be"), "{error}");
        assert!(error.contains("and 1 more"), "{error}");
    }

    /// Generates cells as a spreadsheet may contain them, including quotes, separators and line
    /// ends.
    fn rows() -> impl Strategy<Value = Vec<(String, String)>> {
        // A line of blanks is no row.
        let user = "[a-z,;\"' ü漢]{0,8}[a-z,;\"'ü漢][a-z,;\"' ü漢]{0,3}";
        let email = "|[a-z@,;\"']{1,12}";
        prop::collection::hash_map(user, email, 1..8).prop_map(|rows| rows.into_iter().collect())
    }

    fn read(text: &str) -> Vec<(String, String)> {
        let fields = |row: UserRow| {
            let email = row.email.map_or_else(String::new, |email| email.to_string());
            (row.user.to_string(), email)
        };
        parse("users", text.as_bytes(), &[]).unwrap().rows.into_iter().map(fields).collect()
    }

    proptest! {
        #[test]
        fn rows_read_back_from_csv(
            rows in rows(),
            separator in prop::sample::select(b",;\t".to_vec()),
        ) {
            let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(Vec::new());
            writer.write_record(["userId", "email"]).unwrap();
            for (user, email) in &rows {
                writer.write_record([user, email]).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let trimmed = rows.into_iter().map(|(user, email)| (user.trim().to_owned(), email));
            let trimmed: Vec<_> = trimmed.collect();
            let users: HashSet<_> = trimmed.iter().map(|(user, _)| user).collect();
            // Two ids may differ only in blanks.
            prop_assume!(users.len() == trimmed.len());
            prop_assert_eq!(read(&text), trimmed);
        }

        #[test]
        fn rows_read_back_from_lines_of_json(rows in rows()) {
            let line = |(user, email): &(String, String)| {
                let email = (!email.is_empty()).then_some(email);
                serde_json::json!({ "userId": user, "email": email }).to_string()
            };
            let lines: Vec<String> = rows.iter().map(line).collect();
            prop_assert_eq!(read(&lines.join("\n")), rows);
        }

        #[test]
        fn any_bytes_are_rows_or_an_error(bytes: Vec<u8>) {
            drop(parse("users", &bytes, &[]));
        }

        #[test]
        fn any_text_is_rows_or_an_error(
            text in "(userId|email|metadata|\u{feff})?([,;\t\"\r\n{}:a-z é]{0,4}\\PC?){0,20}",
        ) {
            drop(parse("users", text.as_bytes(), &[]));
        }
    }
}
