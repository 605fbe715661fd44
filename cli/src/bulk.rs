//! Bulk runs: one action for each row of a file, four rows at a time, with a report that has a line
//! for each answer and from which a later run continues. The command supplies the action; the
//! client waits for a busy server.

mod items;
mod new_users;
mod progress;
mod remarks;
mod report;
mod source;
mod text;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::Future;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, Exit, Result, TIMEOUT};
use crate::noun::visible;
pub use items::{ItemResults, for_each_item, in_order, read_items};
pub use new_users::NewUserFlags;
use progress::RowProgress;
use report::resume_command;
pub use report::{Report, ReportLine, RowState};
pub use source::{ColumnMapping, UserRow};

const ROWS_IN_FLIGHT: usize = 4;
/// The columns with which the CSV of a run begins.
pub const LINE_FIELDS: &str = "line userId state";
/// The column with which it ends.
pub const ERROR_FIELD: &str = "error=/error/message";

/// Flags of every command that takes a file of rows.
#[derive(clap::Args)]
pub struct BulkFlags {
    /// Read a field from another column, such as userId=login (repeatable)
    #[arg(long = "map", value_name = "FIELD=COLUMN")]
    mapping: Vec<ColumnMapping>,
    /// Write a report to this file, with a JSON line per row
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    report: Option<PathBuf>,
    /// Continue from this report: send only rows that failed or were not tried
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
        Err(Error::usage(format!("{flag} requires --from FILE.")))
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

/// What a bulk run does.
pub struct BulkTask {
    /// The verb of the question before many rows, as in `Assign the license to`.
    pub verb: &'static str,
    /// Identifies the run by its command and target, so that a report resumes only the run that
    /// wrote it.
    pub name: String,
    /// Whether there is a report even without `--report`, because a person may have to clean up.
    pub always_reports: bool,
    pub new_users: NewUserFlags,
}

/// The state that all rows of a run share.
struct BulkRun<'a> {
    ctx: &'a Context,
    report: &'a Report,
    progress: RowProgress,
    /// When the last row was answered.
    answered: Cell<Option<Instant>>,
    /// The error after which no further row is started.
    stopped: RefCell<Option<Error>>,
}

/// The rows of a run by how they ended.
struct BulkSummary<'a> {
    lines: &'a [ReportLine],
    untried: Vec<&'a str>,
    stopped: Option<Error>,
    interrupted: bool,
}

/// Reads and checks every row, then calls `act` for each row that an earlier run has not finished.
/// The value of `act` is how the row ended, and its answer in the report.
pub async fn run<F: Future<Output = Result<(RowState, Value)>>>(
    ctx: &Context,
    flags: &BulkFlags,
    file: &str,
    task: BulkTask,
    act: impl Fn(UserRow, Rc<Report>) -> F,
) -> Result<BulkResult> {
    let file = source::read(ctx, file, &flags.mapping).await?;
    let remarks = remarks::of(&file, &flags.mapping);
    if !remarks.is_empty() {
        ctx.note(&remarks);
    }
    let rows = file.rows;
    if rows.is_empty() {
        ctx.note("nothing to do");
        return Ok(BulkResult { lines: Vec::new(), before: Vec::new(), exit: Exit::Success });
    }
    let (verb, new_users) = (task.verb, task.new_users);
    let report = Rc::new(Report::open(ctx, task, flags.report.as_ref(), flags.resume.as_ref())?);
    let (mut before, mut open) = (Vec::new(), Vec::new());
    for row in rows {
        match report.done(row.user.as_str()) {
            Some(line) => before.push(ReportLine { line: row.line, ..line }),
            None => open.push(row),
        }
    }
    if !before.is_empty() {
        ctx.note(&format!("skipping {} rows that were already done", before.len()));
    }
    let agreed = async {
        note_new_users(ctx, new_users, &open).await?;
        let question = format!("{verb} {} users?", open.len());
        ctx.confirm_many(open.len(), &question).await
    };
    if let Err(error) = agreed.await {
        report.abandon();
        return Err(error);
    }
    let order: Vec<(usize, String)> =
        open.iter().map(|row| (row.line, row.user.to_string())).collect();
    let progress = RowProgress::new(ctx, open.len());
    let (answered, stopped) = (Cell::default(), RefCell::default());
    let work = BulkRun { ctx, report: &report, progress, answered, stopped };
    ctx.interruption.hold();
    let working = open.into_iter().map(|row| work.row(row, |row| act(row, report.clone())));
    let mut lines: Vec<ReportLine> = stream::iter(working)
        .buffer_unordered(ROWS_IN_FLIGHT)
        .filter_map(async |line| line)
        .collect()
        .await;
    let interrupted = ctx.interruption.release();
    work.progress.finish(ctx);
    lines.sort_by_key(|line| line.line);
    let tried: HashSet<usize> = lines.iter().map(|line| line.line).collect();
    let untried = order.iter().filter(|(line, _)| !tried.contains(line));
    let untried = untried.map(|(_, user)| user.as_str()).collect();
    let stopped = work.stopped.take();
    let ended = BulkSummary { lines: &lines, untried, stopped, interrupted };
    let exit = conclude(ctx, &report, ended)?;
    Ok(BulkResult { lines, before, exit })
}

/// Notes, or refuses, the rows that would create users, before any is sent.
async fn note_new_users(ctx: &Context, flags: NewUserFlags, rows: &[UserRow]) -> Result<()> {
    let users: Vec<String> = rows.iter().map(|row| row.user.to_string()).collect();
    let unknown = flags.find(ctx, &users).await?;
    if !flags.existing_only {
        new_users::note(ctx, &unknown);
        return Ok(());
    }
    new_users::refuse(&unknown, |unknown| {
        let row = rows.iter().find(|row| row.user.as_str() == unknown.given);
        format!("line {}: {}", row.map_or(0, |row| row.line), visible(&unknown.given))
    })
}

impl BulkRun<'_> {
    /// Processes one row; none when it was not tried.
    async fn row<F: Future<Output = Result<(RowState, Value)>>>(
        &self,
        row: UserRow,
        act: impl Fn(UserRow) -> F,
    ) -> Option<ReportLine> {
        if self.ctx.interruption.wanted() || self.stopped.borrow().is_some() {
            return None;
        }
        let begun = Instant::now();
        let line = match act(row.clone()).await {
            Ok((state, answer)) => ReportLine::new(&row, state, answer),
            // Ctrl-C ended the wait before the row's request.
            Err(error) if error.exit == Exit::Cancelled => return None,
            Err(error) => {
                let line = ReportLine::failed(&row, &error);
                let is_tried = !error.had_no_effect();
                if self.stops_the_rest(&error, begun) {
                    self.stopped.borrow_mut().get_or_insert(error);
                    if !is_tried {
                        return None;
                    }
                }
                line
            }
        };
        self.answered.set(Some(Instant::now()));
        self.progress.count(&line);
        if let Err(error) = self.report.write(&line) {
            // Without a report the run could not be resumed, so no further row is started.
            self.stopped.borrow_mut().get_or_insert(error);
        }
        Some(line)
    }

    /// Whether the other rows would fail too. A row that timed out fails alone while others get
    /// responses.
    fn stops_the_rest(&self, error: &Error, begun: Instant) -> bool {
        let others_work = self.answered.get().is_some_and(|answered| answered > begun);
        error.stops_the_rest() && !(error.code() == TIMEOUT && others_work)
    }
}

/// Reports how the rows ended, and how to resume.
fn conclude(ctx: &Context, report: &Report, ended: BulkSummary<'_>) -> Result<Exit> {
    let BulkSummary { lines, untried, stopped, interrupted } = ended;
    let failed = || lines.iter().filter(|line| line.state == RowState::Failed);
    let skipped = lines.iter().filter(|line| line.state == RowState::Skipped).count();
    let done = lines.len() - failed().count() - skipped;
    let skipped = match skipped {
        0 => String::new(),
        skipped => format!("{skipped} skipped, "),
    };
    let rest = match untried.len() {
        0 => String::new(),
        untried => format!(", {untried} not tried"),
    };
    let summary = format!("{done} succeeded, {skipped}{} failed{rest}.", failed().count());
    let resume = || match report.path() {
        Some(path) => resume_command(&ctx.prompts.take_command(), path),
        None => "run the command again, with --report FILE to make it resumable".to_owned(),
    };
    let stopped = match stopped {
        // If nothing succeeded before, this is the error of the whole run.
        Some(error) if done == 0 && !interrupted => {
            let is_begun = !report.abandon();
            return Err(if is_begun { error.fix(resume()) } else { error });
        }
        stopped => stopped,
    };
    if !ctx.globals.dry_run {
        let path = report.path().map(|path| format!(" Report: {}", path.display()));
        ctx.note(&format!("{summary}{}", path.unwrap_or_default()));
    }
    if failed().next().is_none() && untried.is_empty() {
        return Ok(Exit::Success);
    }
    let resume = resume();
    if !ctx.globals.dry_run {
        ctx.note(&format!("resume with: {resume}"));
    }
    // The report keeps the idempotency keys, so resuming is safe even if repeating is not.
    let is_safe = report.path().is_some();
    let stopped = stopped.map(|error| match error.had_no_effect() {
        false if is_safe => error.fix(resume.clone()),
        _ => error,
    });
    let (exit, code) =
        if interrupted { (Exit::Cancelled, "cancelled") } else { (Exit::Partial, "partial") };
    let mut json = Error::new(exit, code, summary).fix(resume).json();
    let of_row = |line: &ReportLine| {
        let mut error = line.error.clone();
        error["item"] = line.user.as_str().into();
        error
    };
    json["errors"] = failed().map(of_row).chain(stopped.iter().map(Error::json)).collect();
    json["notTried"] = untried.into();
    let interruption = interrupted.then(|| {
        Error::new(Exit::Cancelled, "cancelled", "Interrupted. Requests in flight were completed.")
    });
    let said: String = stopped.iter().chain(&interruption).map(|error| error.text(None)).collect();
    ctx.messages.fail(&said, json);
    Ok(exit)
}
