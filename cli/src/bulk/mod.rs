//! Bulk runs: one action for each row of a file, four rows at a time, with a report that has a line
//! for each answer and from which a later run continues. The command supplies the action.

mod progress;
mod report;
mod source;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use serde_json::Value;
use tokio::time::Instant;

use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::prompt;
use progress::RowProgress;
pub use report::{Report, ReportLine, RowState};
pub use source::{ColumnMapping, UserRow};

const ROWS_IN_FLIGHT: usize = 4;
/// How often a row is retried after a rate limit or a busy server refused it.
const MAX_RETRIES_PER_ROW: u32 = 10;
/// Pauses up to this many seconds are reported only once.
const QUIET_PAUSE_SECONDS: u64 = 2;

/// Flags of every command that takes a file of rows.
#[derive(clap::Args)]
pub struct BulkFlags {
    /// Take a field from another column, as in userId=login (repeatable)
    #[arg(long = "map", value_name = "FIELD=COLUMN")]
    mapping: Vec<ColumnMapping>,
    /// File for the report, a JSON line for each answer
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    report: Option<PathBuf>,
    /// Continue from this report: send only the rows that failed or were not tried
    #[arg(long, value_name = "REPORT")]
    resume: Option<PathBuf>,
}

impl BulkFlags {
    /// Refuses these flags without a file, as they would have no effect.
    pub fn refuse_without_file(&self) -> Result<()> {
        let flag = match self {
            Self { report: Some(_), .. } => "--report",
            Self { resume: Some(_), .. } => "--resume",
            Self { mapping, .. } if !mapping.is_empty() => "--map",
            _ => return Ok(()),
        };
        Err(Error::usage(format!("{flag} needs --from FILE.")))
    }
}

/// The result of all rows.
pub struct BulkResult {
    /// A line for each row of this run, in the order of the file.
    pub lines: Vec<ReportLine>,
    /// The same for the rows that an earlier run has done.
    pub before: Vec<ReportLine>,
    pub exit: Exit,
}

/// The state that all rows of a run share.
struct BulkRun<'a> {
    ctx: &'a Context,
    report: &'a Report,
    progress: RowProgress,
    /// No row is sent before this time, as the server required a pause.
    paused: Cell<Option<Instant>>,
    /// Whether a pause was reported already.
    pause_noted: Cell<bool>,
    /// The error after which no further row is started.
    stopped: RefCell<Option<Error>>,
}

/// Reads and checks every row, then calls `act` for each row that an earlier run has not finished.
/// The value of `act` is the row's answer in the report. `name` identifies the run by its command
/// and target, so that a report resumes only the run that wrote it.
pub async fn run<F: Future<Output = Result<Value>>>(
    ctx: &Context,
    flags: &BulkFlags,
    file: &str,
    (verb, name): (&str, String),
    act: impl Fn(UserRow, std::rc::Rc<Report>) -> F,
) -> Result<BulkResult> {
    let rows = source::read(ctx, file, &flags.mapping).await?;
    let report = Report::open(ctx, name, flags.report.as_ref(), flags.resume.as_ref())?;
    let report = std::rc::Rc::new(report);
    let (mut before, mut open) = (Vec::new(), Vec::new());
    for row in rows {
        match report.done(row.user.as_str()) {
            Some(line) => before.push(ReportLine { line: row.line, ..line }),
            None => open.push(row),
        }
    }
    if !before.is_empty() {
        ctx.note(&format!("skipping {} rows that an earlier run finished", before.len()));
    }
    let yes = prompt::confirm_many(ctx, open.len(), &format!("{verb} {} users?", open.len())).await;
    yes.inspect_err(|_| report.abandon())?;
    let order: Vec<(usize, String)> =
        open.iter().map(|row| (row.line, row.user.to_string())).collect();
    let progress = RowProgress::new(ctx, open.len());
    let work = BulkRun {
        ctx,
        report: &report,
        progress,
        paused: Cell::new(None),
        pause_noted: Cell::new(false),
        stopped: RefCell::default(),
    };
    ctx.interruption.hold();
    let working = open.into_iter().map(|row| work.row(row, |row| act(row, report.clone())));
    let mut lines: Vec<ReportLine> = stream::iter(working)
        .buffer_unordered(ROWS_IN_FLIGHT)
        .filter_map(async |line| line)
        .collect()
        .await;
    let interrupted = ctx.interruption.release();
    work.progress.finish();
    lines.sort_by_key(|line| line.line);
    let tried: HashSet<usize> = lines.iter().map(|line| line.line).collect();
    let untried = order.iter().filter(|(line, _)| !tried.contains(line)).count();
    let stopped = work.stopped.take();
    let exit = conclude(ctx, &report, &lines, untried, stopped, interrupted)?;
    Ok(BulkResult { lines, before, exit })
}

impl BulkRun<'_> {
    /// Processes one row; none when it was not started.
    async fn row<F: Future<Output = Result<Value>>>(
        &self,
        row: UserRow,
        act: impl Fn(UserRow) -> F,
    ) -> Option<ReportLine> {
        let mut attempts = 0;
        let outcome = loop {
            self.wait().await;
            if self.ctx.interruption.wanted() || self.stopped.borrow().is_some() {
                return None;
            }
            match act(row.clone()).await {
                Err(error) if requires_pause(&error) && attempts < MAX_RETRIES_PER_ROW => {
                    attempts += 1;
                    self.pause(error.retry_after.unwrap_or(1));
                }
                outcome => break outcome,
            }
        };
        let line = match outcome {
            Ok(answer) => ReportLine::done(&row, answer),
            Err(error) => {
                let line = ReportLine::failed(&row, &error);
                if error.exit.ends_everything() {
                    self.stopped.replace(Some(error));
                }
                line
            }
        };
        self.progress.count(&line);
        match self.report.write(&line) {
            Ok(()) => Some(line),
            Err(error) => {
                // Without a report a later run cannot continue, so no further row is started.
                self.stopped.replace(Some(error));
                Some(line)
            }
        }
    }

    /// Delays all rows for as long as the server requires.
    fn pause(&self, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds);
        self.paused.set(self.paused.get().max(Some(until)));
        // A limit by the second causes many short pauses; one line reports them.
        if seconds > QUIET_PAUSE_SECONDS || !self.pause_noted.replace(true) {
            self.progress.say(&format!("the server requires a pause of {seconds} s"));
        }
    }

    async fn wait(&self) {
        while let Some(until) = self.paused.get().filter(|&until| until > Instant::now()) {
            tokio::select! {
                () = tokio::time::sleep_until(until) => {}
                () = self.ctx.interruption.heard() => return,
            }
        }
    }
}

/// Whether the server limits the rate or is temporarily busy.
fn requires_pause(error: &Error) -> bool {
    error.exit == Exit::RateLimited || error.retry_after.is_some()
}

fn conclude(
    ctx: &Context,
    report: &Report,
    lines: &[ReportLine],
    untried: usize,
    stopped: Option<Error>,
    interrupted: bool,
) -> Result<Exit> {
    let failed = lines.iter().filter(|line| line.state == RowState::Failed).count();
    let done = lines.len() - failed;
    let rest = if untried > 0 { format!(", {untried} not tried") } else { String::new() };
    let summary = format!("{done} succeeded, {failed} failed{rest}.");
    let open = failed + untried;
    if let Some(path) = report.path() {
        let shown = path.display();
        ctx.note(&format!("{summary} Report: {shown}"));
        if open > 0 {
            ctx.note(&format!("to continue, run the same command with --resume {shown}"));
        }
    }
    if interrupted {
        return Err(Error::new(Exit::Cancelled, "cancelled", "Stopped after the rows in flight."));
    }
    match stopped {
        Some(error) if done == 0 => Err(error),
        Some(error) => {
            ctx.io.say(&error.text(None));
            Ok(Exit::Partial)
        }
        None if open > 0 => Ok(Exit::Partial),
        None => Ok(Exit::Success),
    }
}
