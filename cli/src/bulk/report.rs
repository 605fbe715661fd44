//! The report of a bulk run: a JSON line for each answer, written as it arrives, so that a run that
//! ended at any moment can continue without repeating a row.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::BulkTask;
use super::source::UserRow;
use crate::context::Context;
use crate::error::{Error, Result, UNREACHABLE};
use crate::escape::quote;

/// The state of a row in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowState {
    /// A request that must not be repeated is about to be sent.
    Begun,
    /// A part is done; the row's answer holds its result.
    Partly,
    Done,
    /// Nothing was to be done.
    Skipped,
    Failed,
}

/// One line of the report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReportLine {
    pub line: usize,
    #[serde(rename = "userId")]
    pub user: String,
    pub state: RowState,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub error: Value,
}

impl ReportLine {
    pub fn new(row: &UserRow, state: RowState, answer: Value) -> Self {
        Self { line: row.line, user: row.user.to_string(), state, answer, error: Value::Null }
    }

    pub fn failed(row: &UserRow, error: &Error) -> Self {
        let error = error.json();
        Self { error, ..Self::new(row, RowState::Failed, Value::Null) }
    }

    /// Whether the failed request had no effect: the server refused it, or was never reached.
    fn decided(&self) -> bool {
        let refused = self.error["status"].as_u64().is_some_and(|status| status < 500);
        refused || self.error["code"] == UNREACHABLE
    }
}

/// A line with the name of its run, as two runs may have the same users.
#[derive(Serialize, Deserialize)]
struct ReportEntry {
    run: String,
    #[serde(flatten)]
    line: ReportLine,
}

/// The report file and the lines that it held when it was opened.
pub struct Report {
    run: String,
    path: Option<PathBuf>,
    file: RefCell<Option<File>>,
    /// The last line of every user, from this run and earlier ones.
    known: RefCell<HashMap<String, ReportLine>>,
}

impl Report {
    /// Creates a report of the task, or opens an older one of the same run. A dry run writes none.
    pub fn open(
        ctx: &Context,
        task: BulkTask,
        new: Option<&PathBuf>,
        resume: Option<&PathBuf>,
    ) -> Result<Self> {
        let run = task.name;
        let known = resume.map(|path| read(path, &run)).transpose()?.unwrap_or_default();
        let known = RefCell::new(known);
        let usual = || task.always_reports.then(|| usual_path(ctx));
        let path = resume.or(new).cloned().or_else(usual);
        let Some(path) = path.filter(|_| !ctx.globals.dry_run) else {
            return Ok(Self { run, path: None, file: RefCell::new(None), known });
        };
        let mut options = OpenOptions::new();
        match resume {
            Some(_) => options.append(true),
            // An existing report may be the only trace of an earlier run.
            None => options.write(true).create_new(true),
        };
        let mut file = options.open(&path).map_err(|error| failed(&path, &error))?;
        if resume.is_some() {
            end_the_last_line(&path, &mut file).map_err(|error| failed(&path, &error))?;
        }
        Ok(Self { run, path: Some(path), file: RefCell::new(Some(file)), known })
    }

    /// Removes an empty report, as the run was not started; returns whether there is none now.
    pub fn abandon(&self) -> bool {
        let Some(path) = &self.path else { return true };
        let is_empty = fs::metadata(path).is_ok_and(|file| file.len() == 0);
        is_empty && fs::remove_file(path).is_ok()
    }

    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The line of a user whose row is done.
    pub fn done(&self, user: &str) -> Option<ReportLine> {
        self.known.borrow().get(user).filter(|line| line.state == RowState::Done).cloned()
    }

    /// The line of a user whose row is partly done.
    pub fn unfinished(&self, user: &str) -> Option<ReportLine> {
        let known = self.known.borrow();
        known
            .get(user)
            .filter(|line| matches!(line.state, RowState::Begun | RowState::Partly))
            .cloned()
    }

    /// Hands a line to the operating system, which keeps it even if this process is killed.
    pub fn write(&self, line: &ReportLine) -> Result<()> {
        remember(&mut self.known.borrow_mut(), line.clone());
        let (Some(path), Some(file)) = (&self.path, &mut *self.file.borrow_mut()) else {
            return Ok(());
        };
        let entry = ReportEntry { run: self.run.clone(), line: line.clone() };
        let mut text = serde_json::to_string(&entry).map_err(Error::internal)?;
        text.push('\n');
        file.write_all(text.as_bytes()).map_err(|error| failed(path, &error))
    }
}

/// Records the line of a user. A failure does not replace a line of a finished part, nor one of a
/// started request whose outcome is unknown.
fn remember(known: &mut HashMap<String, ReportLine>, line: ReportLine) {
    let before = known.get(&line.user).map(|known| known.state);
    let stays = match before {
        Some(RowState::Partly) => line.state == RowState::Failed,
        Some(RowState::Begun) => line.state == RowState::Failed && !line.decided(),
        _ => false,
    };
    if !stays {
        known.insert(line.user.clone(), line);
    }
}

/// Reads the last line of every user. The report of another run is refused.
fn read(path: &Path, run: &str) -> Result<HashMap<String, ReportLine>> {
    let file = File::open(path).map_err(|error| failed(path, &error))?;
    let mut known = HashMap::new();
    for (at, text) in BufReader::new(file).lines().enumerate() {
        let text = text.map_err(|error| failed(path, &error))?;
        // The last line may be incomplete when the process was killed.
        let Ok(entry) = serde_json::from_str::<ReportEntry>(&text) else {
            if at == 0 {
                return Err(Error::usage(format!("{} is not a report of licctl.", path.display())));
            }
            continue;
        };
        if entry.run != run {
            let message = format!("{} is the report of another run.", path.display());
            return Err(Error::usage(message)
                .because(format!("It belongs to \"{}\"; this run is \"{run}\"", entry.run))
                .fix("omit --resume, or pass the report of this run"));
        }
        remember(&mut known, entry.line);
    }
    Ok(known)
}

fn end_the_last_line(path: &Path, file: &mut File) -> std::io::Result<()> {
    let text = fs::read(path)?;
    if text.last().is_some_and(|&last| last != b'\n') { file.write_all(b"\n") } else { Ok(()) }
}

/// The command that continues the run of these words, which are quoted, from its report.
pub fn resume_command(words: &[String], report: &Path) -> String {
    let report = report.display().to_string();
    let mut kept = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word.trim_start_matches(['"', '\'']).split('=').next() {
            // The value is the next word.
            Some("--report" | "--resume") if !word.contains('=') => drop(words.next()),
            Some("--report" | "--resume") => {}
            _ => kept.push(word),
        }
    }
    // What follows `--` is no flag.
    let end = kept.iter().position(|&word| word == "--").unwrap_or(kept.len());
    let quoted = quote(&report);
    kept.splice(end..end, ["--resume", &*quoted]);
    kept.join(" ")
}

/// A path in the current folder, named after the current time.
fn usual_path(ctx: &Context) -> PathBuf {
    let moment: String =
        ctx.now.to_string().chars().filter(|letter| letter.is_ascii_digit()).collect();
    PathBuf::from(format!("licctl-report-{moment}.jsonl"))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    let shown = path.display().to_string();
    if error.kind() == ErrorKind::AlreadyExists {
        let word = quote(&shown);
        return Error::usage(format!("The report {shown} already exists."))
            .fix(format!("continue that run with --resume {word}, or choose another --report"));
    }
    if error.kind() == ErrorKind::NotFound {
        let error = Error::usage(format!("The report {shown} was not found."));
        return error.fix("check the path");
    }
    let error = Error::usage(format!("Cannot use the report {shown}.")).because(error.to_string());
    error.fix("choose a file in a writable directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_continues_with_its_report_in_place_of_the_old_flag() {
        let resumed = |line: &[&str]| {
            let words: Vec<String> = line.iter().map(|word| quote(word).into_owned()).collect();
            resume_command(&words, Path::new("my report.jsonl"))
        };
        let same = r#"licctl validate --from a.csv --resume "my report.jsonl""#;
        for line in [
            &["licctl", "validate", "--from", "a.csv"][..],
            &["licctl", "validate", "--report", "my report.jsonl", "--from", "a.csv"],
            &["licctl", "validate", "--from", "a.csv", "--report=my report.jsonl"],
            &["licctl", "validate", "--from", "a.csv", "--resume", "my report.jsonl"],
            &["licctl", "validate", "--resume=r.jsonl", "--from", "a.csv"],
        ] {
            assert_eq!(resumed(line), same);
        }
        let dashes = resumed(&["licctl", "licenses", "assign", "--from", "a", "--", "lic"]);
        assert!(dashes.ends_with(r#"--resume "my report.jsonl" -- lic"#), "{dashes}");
    }
}
