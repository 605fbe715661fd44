//! The report of a bulk run: a JSON line for the run, and one for each answer, written as it arrives,
//! so that a run that ended at any moment can continue without repeating a row.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use common::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::BulkTask;
use super::source::UserRow;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::escape::quote;

/// The state of a row in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowState {
    Done,
    /// Nothing was to be done.
    Skipped,
    Failed,
}

/// A row of a bulk run.
pub trait BulkRow: Clone {
    /// Whether the id is that of a record in another service, and not of a user.
    const IS_OF_SOURCE: bool;

    /// The line in the file, from 1.
    fn line(&self) -> usize;

    /// The id, which no other row has.
    fn id(&self) -> &str;
}

impl BulkRow for UserRow {
    const IS_OF_SOURCE: bool = false;

    fn line(&self) -> usize {
        self.line
    }

    fn id(&self) -> &str {
        self.user.as_str()
    }
}

/// One line of the report. It has the id of a user or of a record in another service.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReportLine {
    pub line: usize,
    #[serde(rename = "userId", default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(rename = "sourceId", default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub state: RowState,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub error: Value,
}

impl ReportLine {
    pub fn new<R: BulkRow>(row: &R, state: RowState, answer: Value) -> Self {
        let (line, id) = (row.line(), Some(row.id().to_owned()));
        let (user, source) = if R::IS_OF_SOURCE { (None, id) } else { (id, None) };
        Self { line, user, source, state, answer, error: Value::Null }
    }

    /// The id of the row.
    pub fn id(&self) -> &str {
        self.user.as_deref().or(self.source.as_deref()).unwrap_or_default()
    }

    pub fn failed(row: &impl BulkRow, error: &Error) -> Self {
        let error = error.json();
        Self { error, ..Self::new(row, RowState::Failed, Value::Null) }
    }
}

/// The first line of a report, written before anything is sent.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Name of the run, as two runs may have the same users.
    run: String,
    /// A random id with the time of the start. The idempotency keys of the rows follow from it, so
    /// that a resumed run repeats none of them.
    id: Uuid,
}

impl Head {
    /// The service keeps idempotency keys for a week. One hour is left for clocks that differ.
    fn is_remembered(&self) -> bool {
        let made = self.id.get_timestamp().map_or(0, |made| made.to_unix().0);
        Timestamp::now().millis() / 1000 < made + (7 * 24 - 1) * 60 * 60
    }
}

/// The report file, and the rows that were done when it was opened.
pub struct Report {
    head: Head,
    path: Option<PathBuf>,
    file: RefCell<Option<File>>,
    /// Whether the file existed before, or has the line of a row.
    is_begun: Cell<bool>,
    done: HashMap<String, ReportLine>,
}

impl Report {
    /// Creates a report of the task, or opens an older one of the same run. A dry run writes none.
    pub fn open(
        ctx: &Context,
        task: BulkTask,
        new: Option<&PathBuf>,
        resume: Option<&PathBuf>,
    ) -> Result<Self> {
        let (head, done) = match resume {
            Some(path) => read(path, &task)?,
            None => (Head { run: task.name, id: Uuid::now_v7() }, HashMap::new()),
        };
        let is_begun = Cell::new(resume.is_some());
        let usual = || task.always_reports.then(|| usual_path(ctx));
        let path = resume.or(new).cloned().or_else(usual);
        let Some(path) = path.filter(|_| !ctx.globals.dry_run) else {
            return Ok(Self { head, path: None, file: RefCell::new(None), is_begun, done });
        };
        let mut options = OpenOptions::new();
        match resume {
            Some(_) => options.append(true),
            // An existing report may be the only trace of an earlier run.
            None => options.write(true).create_new(true),
        };
        let mut file = options.open(&path).map_err(|error| failed(&path, &error))?;
        let begun = match resume {
            Some(_) => end_the_last_line(&path, &mut file),
            None => write_line(&mut file, &head),
        };
        begun.map_err(|error| failed(&path, &error))?;
        Ok(Self { head, path: Some(path), file: RefCell::new(Some(file)), is_begun, done })
    }

    /// Removes a report without rows, as the run was not started; returns whether there is none now.
    pub fn abandon(&self) -> bool {
        let Some(path) = &self.path else { return true };
        !self.is_begun.get() && fs::remove_file(path).is_ok()
    }

    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The line of a user whose row an earlier run has done.
    pub fn done(&self, user: &str) -> Option<ReportLine> {
        self.done.get(user).cloned()
    }

    /// The idempotency key of a row, which is the same in all runs of this report.
    pub fn key_of(&self, row: &impl BulkRow) -> String {
        Uuid::new_v5(&self.head.id, row.id().as_bytes()).to_string()
    }

    /// Hands a line to the operating system, which keeps it even if this process is killed.
    pub fn write(&self, line: &ReportLine) -> Result<()> {
        let (Some(path), Some(file)) = (&self.path, &mut *self.file.borrow_mut()) else {
            return Ok(());
        };
        self.is_begun.set(true);
        write_line(file, line).map_err(|error| failed(path, &error))
    }
}

fn write_line(file: &mut File, line: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}

/// Reads a report and the rows that are done. The report of another run is refused, as is one whose
/// rows could have a second effect.
fn read(path: &Path, task: &BulkTask) -> Result<(Head, HashMap<String, ReportLine>)> {
    let shown = path.display();
    let bytes = fs::read(path).map_err(|error| failed(path, &error))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let head = lines.next().and_then(|line| serde_json::from_str::<Head>(line).ok());
    let head = head.ok_or_else(|| Error::usage(format!("{shown} is not a report of licctl.")))?;
    if head.run != task.name {
        return Err(Error::usage(format!("{shown} is the report of another run."))
            .because(format!("It belongs to \"{}\"; this run is \"{}\"", head.run, task.name))
            .fix("omit --resume, or pass the report of this run"));
    }
    if !(task.is_repeatable || head.is_remembered()) {
        return Err(Error::usage(format!("{shown} is more than a week old."))
            .because("The service no longer knows which of its other rows were done.")
            .fix("check these users, and start a new run with those who need a license"));
    }
    // The last line may be incomplete when the process was killed.
    let lines = lines.filter_map(|line| serde_json::from_str::<ReportLine>(line).ok());
    let done = lines.filter(|line| line.state == RowState::Done);
    Ok((head, done.map(|line| (line.id().to_owned(), line)).collect()))
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
