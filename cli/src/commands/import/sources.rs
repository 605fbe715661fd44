//! The files of an export, and the jq programs that turn them into rows. Each program is a file that
//! an operator can print, read, copy and change; licctl's own code knows no other service.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::bulk::{decode, records};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::{Jq, normalized};
use crate::terminal::unreadable;

/// A service with a mapping in licctl.
#[derive(Clone, Copy, ValueEnum)]
pub enum Source {
    Keygen,
    #[value(name = "lemonsqueezy")]
    LemonSqueezy,
    Gumroad,
    Cryptlex,
    /// CSV with a column for each member of a row, or with --map
    Csv,
}

impl Source {
    pub fn mapping(self) -> &'static str {
        match self {
            Self::Keygen => include_str!("keygen.jq"),
            Self::LemonSqueezy => include_str!("lemonsqueezy.jq"),
            Self::Gumroad => include_str!("gumroad.jq"),
            Self::Cryptlex => include_str!("cryptlex.jq"),
            Self::Csv => include_str!("csv.jq"),
        }
    }

    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// A member of a row, and the column of a CSV file that it is read from.
#[derive(Clone, Debug)]
pub struct MemberColumn {
    member: String,
    column: String,
}

impl FromStr for MemberColumn {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((member, column)) if !member.is_empty() && !column.is_empty() => {
                Ok(Self { member: member.to_owned(), column: column.to_owned() })
            }
            _ => Err("must be MEMBER=COLUMN, such as plan=Variant"),
        }
    }
}

/// Reads the files, runs the mapping, and returns its rows, each a line of JSON.
pub fn rows(
    ctx: &Context,
    code: &str,
    paths: &[PathBuf],
    columns: &[MemberColumn],
) -> Result<String> {
    let mapping = Jq::compile(code, &ctx.env).map_err(|error| failed(&error))?;
    let mut inputs = Vec::new();
    for file in files(paths)? {
        inputs.push(
            json!({ "path": file.display().to_string(), "content": content(&file, columns)? }),
        );
    }
    mapping.apply(&inputs.into(), false).map_err(|error| failed(&error))
}

fn failed(error: &Error) -> Error {
    Error::usage("The mapping failed, so nothing was imported.")
        .because(error.reason().unwrap_or_default().to_owned())
        .fix("correct the export, or change a copy of the mapping: licctl import --print-mapping")
}

/// The files of the paths; those of a folder in the order of their names.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let failed = |error| unreadable(&path.display().to_string(), &error);
        if !fs::metadata(path).map_err(failed)?.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).map_err(failed)?;
        let mut inside =
            entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<Vec<_>>>()?;
        inside.retain(|path| path.extension().is_some_and(|it| it == "json" || it == "csv"));
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

/// Parsed JSON, or the rows of CSV with the columns renamed.
fn content(file: &Path, columns: &[MemberColumn]) -> Result<Value> {
    let shown = file.display().to_string();
    let bytes = fs::read(file).map_err(|error| unreadable(&shown, &error))?;
    let text = decode(&shown, &bytes)?;
    if text.trim_start().starts_with(['[', '{']) {
        if !columns.is_empty() {
            return Err(Error::usage(format!("{shown} is JSON, and --map names columns of CSV.")));
        }
        return serde_json::from_str(text).map_err(|error| {
            Error::usage(format!("{shown} is not JSON.")).because(error.to_string())
        });
    }
    let parsed = records(text)?;
    if let Some(lost) = columns.iter().find(|it| !parsed.titles.contains(&it.column)) {
        let titles: Vec<&str> = parsed.titles.iter().map(String::as_str).collect();
        return Err(Error::usage(format!("{shown} has no column {}.", lost.column))
            .because(format!("Columns: {}", titles.join(", "))));
    }
    let rows = parsed.records.into_iter().map(|(line, record)| {
        let record = record.map_err(|why| Error::usage(format!("{shown}, line {line}: {why}.")))?;
        Ok(Value::Object(renamed(record, columns)))
    });
    rows.collect()
}

fn renamed(record: Map<String, Value>, columns: &[MemberColumn]) -> Map<String, Value> {
    if columns.is_empty() {
        return record;
    }
    let mapped =
        columns.iter().filter_map(|it| Some((it.member.clone(), record.get(&it.column)?.clone())));
    let mapped: Map<String, Value> = mapped.collect();
    let taken = |title: &str| mapped.keys().any(|member| normalized(member) == normalized(title));
    let mut kept: Map<String, Value> =
        record.into_iter().filter(|(title, _)| !taken(title)).collect();
    kept.extend(mapped);
    kept
}
