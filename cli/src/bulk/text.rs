//! Takes a file of rows apart: CSV as spreadsheets write it, with a header line, or JSON lines.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// What may stand between the fields of a line. Spreadsheets use semicolons where the comma is the
/// decimal sign.
const SEPARATORS: [u8; 3] = *b",;\t";

pub type ParsedRecord = std::result::Result<Map<String, Value>, String>;

/// The names of all columns, and the records with their lines.
pub type ParsedFile = (BTreeSet<String>, Vec<(usize, ParsedRecord)>);

/// The text of a file, without its byte order mark. Only UTF-8 is read: a guessed encoding could
/// change names.
pub fn decode<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str> {
    let not_utf8 = |encoding: &str, why: String| {
        Error::usage(format!("{file} is not UTF-8.")).because(why).fix(format!(
            "save it as \"CSV UTF-8\", or convert it: iconv -f {encoding} -t UTF-8 FILE"
        ))
    };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(not_utf8("UTF-16", "It begins with the mark of UTF-16.".to_owned()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + line_ends(bytes, 0, error.valid_up_to());
        not_utf8("WINDOWS-1252", format!("line {line} has a character of another encoding"))
    })?;
    if text.contains('\0') {
        return Err(not_utf8("UTF-16LE", "It has null characters, as UTF-16 does.".to_owned()));
    }
    Ok(text.trim_start_matches('\u{feff}'))
}

pub fn records(text: &str) -> Result<ParsedFile> {
    if text.trim_start().starts_with('{') { Ok(json_lines(text)) } else { csv(text) }
}

fn json_lines(text: &str) -> ParsedFile {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let records: Vec<(usize, ParsedRecord)> = lines
        .map(|(at, line)| (at + 1, serde_json::from_str(line).map_err(|error| error.to_string())))
        .collect();
    let good = records.iter().filter_map(|(_, record)| record.as_ref().ok());
    (good.flat_map(Map::keys).cloned().collect(), records)
}

fn csv(text: &str) -> Result<ParsedFile> {
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator(text)).from_reader(text.as_bytes());
    let broken =
        |error: csv::Error| Error::usage("The file is not valid CSV.").because(error.to_string());
    let titles = reader.headers().map_err(broken)?.clone();
    let mut lines = LineCount { bytes: text.as_bytes(), counted: 0, line: 1 };
    let mut records = Vec::new();
    for record in reader.records() {
        records.push(match record {
            Ok(record) => {
                let filled = titles.iter().zip(&record).filter(|(_, value)| !value.is_empty());
                let fields = filled.map(|(title, value)| (title.trim().to_owned(), value.into()));
                (lines.at(record.position()), Ok(fields.collect()))
            }
            Err(error) => (lines.at(error.position()), Err(complaint(&error))),
        });
    }
    Ok((titles.iter().map(|title| title.trim().to_owned()).collect(), records))
}

/// The separator that occurs most in the header line; a comma when none does.
fn separator(text: &str) -> u8 {
    let header = text.lines().next().unwrap_or_default().as_bytes();
    let count = |mark: &u8| header.iter().filter(|&byte| byte == mark).count();
    SEPARATORS.into_iter().rev().max_by_key(count).unwrap_or(b',')
}

/// The reason without the position, whose line counts only some of the line ends.
fn complaint(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("has {len} fields, and the header line {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// The lines of a text up to a position that only grows.
struct LineCount<'a> {
    bytes: &'a [u8],
    counted: usize,
    line: usize,
}

impl LineCount<'_> {
    /// The line of a record, from 1. The reader may stand before the line ends that precede it.
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

/// How many lines end within a part of a text: with `\r\n`, `\n` or `\r`.
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
        records(text).unwrap().1.into_iter().map(line).collect()
    }

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["userId,note", "a,1", "", "b,\"x", "y\"", "c,2", "d,3,4", "e,5"].join(end);
            let found: Vec<usize> = lines(&text).into_iter().map(|(line, _)| line).collect();
            assert_eq!(found, [2, 4, 6, 7, 8], "{end:?}");
        }
        assert_eq!(lines("userId,note\r\na,1,2\r\n")[0].1, "has 3 fields, and the header line 2");
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
    fn another_encoding_is_refused_with_the_line_and_a_fix() {
        assert_eq!(decode("f", "\u{feff}userId\n".as_bytes()).unwrap(), "userId\n");
        let utf16: Vec<u8> = "userId".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [&[0xff, 0xfe], &utf16[..]].concat();
        for (bytes, why, fix) in [
            (&b"userId\r\nJos\xe9\r\n"[..], "line 2 has a character", "-f WINDOWS-1252 "),
            (&utf16, "null characters", "-f UTF-16LE "),
            (&marked, "the mark of UTF-16", "-f UTF-16 "),
        ] {
            let error = decode("users.csv", bytes).unwrap_err().text(None);
            assert!(error.starts_with("error: users.csv is not UTF-8."), "{error}");
            assert!(error.contains(why) && error.contains(fix), "{error}");
        }
    }
}
