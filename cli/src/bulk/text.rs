//! Takes a file of rows apart: CSV as spreadsheets write it, with a header line, or JSON lines.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use common::trimmed;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The possible separators. Spreadsheets use semicolons where the comma is the decimal sign.
const SEPARATORS: [u8; 3] = *b",;\t";

pub type ParsedRecord = std::result::Result<Map<String, Value>, String>;

/// The parts of a file.
#[derive(Debug)]
pub struct ParsedFile {
    /// The names of all columns.
    pub titles: BTreeSet<String>,
    /// The records with their lines.
    pub records: Vec<(usize, ParsedRecord)>,
    /// Number of cells with blanks or invisible characters around their values.
    pub trimmed: usize,
}

/// The text of a file, without its byte order mark. Only UTF-8 is read: a guessed encoding could
/// change names.
pub fn decode<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str> {
    let refused = |why: String| {
        let error = Error::usage(format!("{file} is not a text in UTF-8.")).because(why);
        error.fix("save it as \"CSV UTF-8\", or convert it with iconv -t UTF-8")
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + line_ends(bytes, 0, error.valid_up_to());
        refused(format!("Line {line} is not valid UTF-8."))
    })?;
    if text.contains('\0') {
        return Err(refused("It contains null characters, as UTF-16 and workbooks do.".to_owned()));
    }
    Ok(text.trim_start_matches('\u{feff}'))
}

pub fn records(text: &str) -> Result<ParsedFile> {
    if is_json_array(text) {
        return Err(Error::usage("The file is a JSON array, not JSON lines.")
            .fix("write one object per line: jq -c '.[]' FILE"));
    }
    if text.trim_start().starts_with('{') { Ok(json_lines(text)) } else { csv(text) }
}

/// The title of a first column may begin with a bracket too.
fn is_json_array(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('[').map(str::trim_start);
    inner.is_some_and(|inner| inner.starts_with(['{', ']', '"']))
}

fn json_lines(text: &str) -> ParsedFile {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let records: Vec<(usize, ParsedRecord)> =
        lines.map(|(at, line)| (at + 1, json_line(line))).collect();
    let good = records.iter().filter_map(|(_, record)| record.as_ref().ok());
    let titles = good.flat_map(Map::keys).cloned().collect();
    ParsedFile { titles, records, trimmed: 0 }
}

fn json_line(line: &str) -> ParsedRecord {
    if !line.trim_start().starts_with('{') {
        return Err("not a JSON object".to_owned());
    }
    let record = serde_json::from_str(line).map(|UniqueMembers(record)| record);
    record.map_err(|error| {
        // The line is that of this text, which has only one.
        let (place, text) = (format!(" at line {} column", error.line()), error.to_string());
        match text.split_once(&place) {
            Some((why, _)) if error.is_data() => why.to_owned(),
            Some((why, column)) => format!("not valid JSON: {why} at column{column}"),
            None => text,
        }
    })
}

/// An object without duplicate members, which would be ambiguous.
struct UniqueMembers(Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Map<String, Value>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(
                self,
                mut members: M,
            ) -> std::result::Result<Self::Value, M::Error> {
                let mut record = Map::new();
                while let Some((name, value)) = members.next_entry::<String, Value>()? {
                    if record.contains_key(&name) {
                        return Err(de::Error::custom(format!("has {name} twice")));
                    }
                    record.insert(name, value);
                }
                Ok(record)
            }
        }
        deserializer.deserialize_map(Members).map(Self)
    }
}

fn csv(text: &str) -> Result<ParsedFile> {
    let (separator, rows) = separator(text);
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(rows.as_bytes());
    let broken =
        |error: csv::Error| Error::usage("The file is not valid CSV.").because(error.to_string());
    let titles = reader.headers().map_err(broken)?.clone();
    let titles: Vec<String> = titles.iter().map(|title| title.trim().to_owned()).collect();
    let mut names = HashSet::new();
    // Spreadsheets leave columns without a title.
    if let Some(twice) = titles.iter().find(|title| !title.is_empty() && !names.insert(*title)) {
        return Err(Error::usage(format!("The header has the column {twice} twice."))
            .fix("rename or remove one of them"));
    }
    let line = if rows.len() < text.len() { 2 } else { 1 };
    let mut lines = LineCount { bytes: rows.as_bytes(), counted: 0, line };
    let (mut records, mut cut) = (Vec::new(), 0);
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = lines.at(record.position());
        let cells: Vec<&str> = record.iter().map(trimmed).collect();
        // Spreadsheets write rows of nothing, too.
        if cells.iter().all(|cell| cell.is_empty()) {
            continue;
        }
        if cells.len() != titles.len() {
            let fields = if titles.len() == 1 { "field" } else { "fields" };
            let why = format!("expected {} {fields}, found {}", titles.len(), cells.len());
            records.push((line, Err(why)));
            continue;
        }
        cut += record.iter().zip(&cells).filter(|(whole, cell)| cell.len() < whole.len()).count();
        let filled = titles.iter().zip(cells).filter(|(_, value)| !value.is_empty());
        let record = filled.map(|(title, value)| (title.clone(), value.into()));
        records.push((line, Ok(record.collect())));
    }
    Ok(ParsedFile { titles: titles.into_iter().collect(), records, trimmed: cut })
}

/// The separator, and the text that begins with the header line: the separator that occurs most in
/// that line, a comma when none does, or the one that a spreadsheet names in a line before, `sep=;`.
fn separator(text: &str) -> (u8, &str) {
    let header = text.lines().next().unwrap_or_default();
    if let Some(&[mark]) = header.strip_prefix("sep=").map(str::as_bytes) {
        return (mark, text.split_once('\n').map_or("", |(_, rows)| rows));
    }
    let count = |mark: &u8| header.bytes().filter(|byte| byte == mark).count();
    (SEPARATORS.into_iter().rev().max_by_key(count).unwrap_or(b','), text)
}

/// The lines of a text up to a position that only grows.
struct LineCount<'a> {
    bytes: &'a [u8],
    counted: usize,
    line: usize,
}

impl LineCount<'_> {
    /// The line of a record, from 1. The position may be before the line ends that precede it.
    fn at(&mut self, position: Option<&csv::Position>) -> usize {
        let mut end = position.map_or(self.counted, |position| position.byte() as usize);
        while self.bytes.get(end).is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
            end += 1;
        }
        self.line += line_ends(self.bytes, self.counted, end);
        self.counted = end;
        self.line
    }
}

/// Counts the lines that end within a part of a text: with `\r\n`, `\n` or `\r`.
fn line_ends(bytes: &[u8], from: usize, to: usize) -> usize {
    let ends = |&here: &usize| match bytes[here] {
        b'\n' => true,
        b'\r' => bytes.get(here + 1) != Some(&b'\n'),
        _ => false,
    };
    (from..to).filter(ends).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(usize, String)> {
        let line = |(line, record): (usize, ParsedRecord)| {
            (line, record.map_or_else(|why| why, |record| Value::Object(record).to_string()))
        };
        records(text).unwrap().records.into_iter().map(line).collect()
    }

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["userId,note", "a,1", "", "b,\"x", "y\"", "c,2", "d,3,4", "e,5"].join(end);
            let found: Vec<usize> = lines(&text).into_iter().map(|(line, _)| line).collect();
            assert_eq!(found, [2, 4, 6, 7, 8], "{end:?}");
        }
        assert_eq!(lines("userId,note\r\na,1,2\r\n")[0].1, "expected 2 fields, found 3");
    }

    #[test]
    fn commas_semicolons_and_tabs_separate() {
        let wanted = [(2, "{\"userId\":\"a\",\"name\":\"x, y\"}".to_owned())];
        for text in ["userId,name\na,\"x, y\"\n", "userId;name\na;x, y\n", "userId\tname\na\tx, y"]
        {
            assert_eq!(lines(text), wanted);
        }
        assert_eq!(lines("userId\na;b\n")[0].1, "{\"userId\":\"a;b\"}");
    }

    #[test]
    fn a_line_of_blanks_is_no_row() {
        let wanted = [(2, "{\"userId\":\"a\"}"), (5, "{\"userId\":\"b\"}")];
        let wanted = wanted.map(|(line, record)| (line, record.to_owned()));
        assert_eq!(lines("userId\na\n   \n\nb\n \t\n"), wanted);
        assert_eq!(lines("userId,email\r\na,\r\n   \r\n\r\nb,\r\n"), wanted);
        assert_eq!(lines("{\"userId\":\"a\"}\n  \n"), [(1, wanted[0].1.clone())]);
        let mut later = wanted;
        later[1].0 = 6;
        assert_eq!(lines("userId,email\na,\n , \n,\n\" \",\nb,\n"), later);
        // As do cells, which quotes do not change; JSON is meant as it is.
        let parsed = records("userId,email\n \"a \",\n\u{200b}b\u{a0},\n").unwrap();
        assert_eq!(parsed.trimmed, 2);
        assert_eq!(lines("{\"userId\":\" \"}")[0].1, "{\"userId\":\" \"}");
    }

    #[test]
    fn a_name_that_stands_twice_is_refused() {
        let error = records("userId, email,userId \na,b,c\n").unwrap_err().text(None);
        assert!(error.contains("has the column userId twice"), "{error}");
        assert_eq!(lines("userId,,\na,,\n")[0].1, "{\"userId\":\"a\"}");
        let json = "{\"userId\":\"x1\"}\n{\"userId\":\"x1\",\"email\":1,\"userId\":\"x2\"}\n";
        assert_eq!(lines(json)[1], (2, "has userId twice".to_owned()));
    }

    #[test]
    fn an_invalid_json_line_is_reported_with_its_number() {
        let found = lines("{}\n[1]\n{\"a\" 1}\n\"a\"\n{} {}\n");
        let found: Vec<_> = found.iter().map(|(line, why)| format!("{line}: {why}")).collect();
        insta::assert_snapshot!(found.join("\n"), @r"
        1: {}
        2: not a JSON object
        3: not valid JSON: expected `:` at column 6
        4: not a JSON object
        5: not valid JSON: trailing characters at column 4
        ");
    }

    #[test]
    fn an_array_is_refused_with_the_way_to_lines() {
        for text in ["[{\"userId\":\"a\"}]", " [\n  {\n", "[]", "[\"a\"]"] {
            let error = records(text).unwrap_err().text(None);
            assert!(error.contains("is a JSON array") && error.contains("jq -c '.[]'"), "{error}");
        }
        assert_eq!(lines("[userId]\na\n")[0].1, "{\"[userId]\":\"a\"}");
    }

    #[test]
    fn another_encoding_is_refused_with_the_line_and_a_fix() {
        assert_eq!(decode("f", "\u{feff}userId\n".as_bytes()).unwrap(), "userId\n");
        let utf16: Vec<u8> = "userId".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, why) in [
            (&b"userId\r\nJos\xe9\r\n"[..], "Line 2 is not valid UTF-8"),
            (&utf16, "null characters"),
            (&[0xff, 0xfe], "Line 1 is not valid UTF-8"),
        ] {
            let error = decode("users.csv", bytes).unwrap_err().text(None);
            assert!(error.starts_with("error: users.csv is not a text in UTF-8."), "{error}");
            assert!(error.contains(why) && error.contains("CSV UTF-8"), "{error}");
        }
    }
}
