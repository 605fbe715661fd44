//! Bulk runs: one action for each row of a file, four rows at a time, with a report that has a line
//! for each answer and from which a later run continues. The command supplies the action; the
//! client waits for a busy server.

mod engine;
mod items;
mod new_users;
mod progress;
mod remarks;
mod report;
mod source;
mod text;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, Exit, Result, TIMEOUT};
use crate::noun::visible;
use engine::{Finished, Shortfall, of_item, rest};
pub use items::{ItemResults, for_each_item, in_order, read_items};
pub use new_users::NewUserFlags;
use progress::RowProgress;
pub use report::{BulkRow, ReportLine, RowState};
use report::{Report, resume_command};
pub use source::{ColumnMapping, UserRow, first_of};
pub use text::{decode, records};

pub const ROWS_IN_FLIGHT: usize = 4;
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
    #[command(flatten)]
    report: ReportFlags,
}

/// Flags of the report of a bulk run.
#[derive(clap::Args)]
pub struct ReportFlags {
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
            Self { report: ReportFlags { report: Some(_), .. }, .. } => "--report",
            Self { report: ReportFlags { resume: Some(_), .. }, .. } => "--resume",
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
    /// Report lines of the rows that an earlier run has finished.
    pub before: Vec<ReportLine>,
    pub exit: Exit,
}

/// The task of a bulk run.
pub struct BulkTask {
    /// The verb of the question before many rows, as in `Assign the license to`.
    pub verb: &'static str,
    /// Identifies the run by its command and target, so that a report resumes only the run that
    /// wrote it.
    pub name: String,
    /// Whether there is a report even without `--report`, because a person may have to clean up.
    pub always_reports: bool,
    /// Whether a request has no second effect even after the service has forgotten its idempotency
    /// key.
    pub is_repeatable: bool,
    pub new_users: NewUserFlags,
}

/// The state that all rows of a run share.
struct BulkRun<'a> {
    report: &'a Report,
    progress: RowProgress,
    /// Time of the response to the last row.
    answered: Cell<Option<Instant>>,
    /// The error after which no further row is started.
    stopped: RefCell<Option<Error>>,
}

/// Reads and checks every row, then calls `act` for each row that an earlier run has not finished,
/// with the row's idempotency key. The value of `act` is how the row ended, and its answer in the
/// report.
pub async fn run<F: Future<Output = Result<(RowState, Value)>>>(
    ctx: &Context,
    flags: &BulkFlags,
    file: &str,
    task: BulkTask,
    act: impl Fn(UserRow, String) -> F,
) -> Result<BulkResult> {
    let file = source::read(ctx, file, &flags.mapping).await?;
    let remarks = remarks::of(&file, &flags.mapping);
    if !remarks.is_empty() {
        ctx.note(&remarks);
    }
    let (verb, new_users) = (task.verb, task.new_users);
    let agree = async |open: &[UserRow]| {
        note_new_users(ctx, new_users, open).await?;
        let question = format!("{verb} {} users?", open.len());
        ctx.confirm_many(open.len(), &question).await
    };
    run_rows(ctx, &flags.report, task, file.rows, agree, act).await
}

/// [`run`] for rows of any kind. `agree` is called once, with the rows that are not done.
pub async fn run_rows<R: BulkRow, F: Future<Output = Result<(RowState, Value)>>>(
    ctx: &Context,
    flags: &ReportFlags,
    task: BulkTask,
    rows: Vec<R>,
    agree: impl AsyncFnOnce(&[R]) -> Result<()>,
    act: impl Fn(R, String) -> F,
) -> Result<BulkResult> {
    if rows.is_empty() {
        ctx.note("nothing to do");
        return Ok(BulkResult { lines: Vec::new(), before: Vec::new(), exit: Exit::Success });
    }
    let report = Report::open(ctx, task, flags.report.as_ref(), flags.resume.as_ref())?;
    let (mut before, mut open) = (Vec::new(), Vec::new());
    for row in rows {
        match report.done(row.id()) {
            Some(line) => before.push(ReportLine { line: row.line(), ..line }),
            None => open.push(row),
        }
    }
    if !before.is_empty() {
        ctx.note(&format!("skipping {} rows that were already done", before.len()));
    }
    if let Err(error) = agree(&open).await {
        report.abandon();
        return Err(error);
    }
    let progress = RowProgress::new(ctx, open.len());
    let (answered, stopped) = (Cell::default(), RefCell::default());
    let work = BulkRun { report: &report, progress, answered, stopped };
    let act = async |row: &R| work.row(row, act(row.clone(), report.key_of(row))).await;
    let finished = engine::run(ctx, &open, ROWS_IN_FLIGHT, act).await;
    work.progress.finish(ctx);
    let exit = conclude(ctx, &report, &finished, work.stopped.take())?;
    Ok(BulkResult { lines: finished.results, before, exit })
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
    /// The line of a row, and whether it is the last one; no line if the row was not tried.
    async fn row(
        &self,
        row: &impl BulkRow,
        acting: impl Future<Output = Result<(RowState, Value)>>,
    ) -> (Option<ReportLine>, bool) {
        let begun = Instant::now();
        let line = match acting.await {
            Ok((state, answer)) => ReportLine::new(row, state, answer),
            // Ctrl-C ended the wait before the row's request.
            Err(error) if error.exit == Exit::Cancelled => return (None, true),
            Err(error) => {
                let line = ReportLine::failed(row, &error);
                let is_tried = !error.had_no_effect();
                if self.stops_the_rest(&error, begun) {
                    self.stopped.borrow_mut().get_or_insert(error);
                    if !is_tried {
                        return (None, true);
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
        (Some(line), self.stopped.borrow().is_some())
    }

    /// Whether the other rows would fail too. If a row times out while others get responses, only
    /// that row fails.
    fn stops_the_rest(&self, error: &Error, begun: Instant) -> bool {
        let others_work = self.answered.get().is_some_and(|answered| answered > begun);
        error.stops_the_rest() && !(error.code() == TIMEOUT && others_work)
    }
}

/// Reports how the rows ended, and how to resume.
fn conclude<R: BulkRow>(
    ctx: &Context,
    report: &Report,
    finished: &Finished<'_, R, ReportLine>,
    stopped: Option<Error>,
) -> Result<Exit> {
    let &Finished { results: ref lines, ref untried, is_interrupted } = finished;
    let number = |state| lines.iter().filter(|line| line.state == state).count();
    let (failed, skipped) = (number(RowState::Failed), number(RowState::Skipped));
    let done = lines.len() - failed - skipped;
    let resume = || match report.path() {
        Some(path) => resume_command(&ctx.prompts.take_command(), path),
        None => "run the command again, with --report FILE to make it resumable".to_owned(),
    };
    // If nothing succeeded before, this is the error of the whole run.
    if done == 0
        && !is_interrupted
        && let Some(error) = stopped
    {
        let is_begun = !report.abandon();
        return Err(if is_begun { error.fix(resume()) } else { error });
    }
    let skipped = if skipped == 0 { String::new() } else { format!("{skipped} skipped, ") };
    let summary = format!("{done} succeeded, {skipped}{failed} failed{}.", rest(untried.len()));
    if !ctx.globals.dry_run {
        let path = report.path().map(|path| format!(" Report: {}", path.display()));
        ctx.note(&format!("{summary}{}", path.unwrap_or_default()));
    }
    if failed == 0 && untried.is_empty() {
        return Ok(Exit::Success);
    }
    let resume = resume();
    if !ctx.globals.dry_run {
        ctx.note(&format!("resume with: {resume}"));
    }
    // The report keeps the idempotency keys, so resuming is safe even if repeating is not.
    let is_safe = report.path().is_some();
    let fixed = |error: Error| if is_safe { error.fix_in_doubt(&*resume) } else { error };
    let stopped = stopped.map(fixed);
    let interruption = is_interrupted.then(|| {
        Error::new(Exit::Cancelled, "cancelled", "Interrupted. Requests in flight were completed.")
    });
    let said: String = stopped.iter().chain(&interruption).map(|error| error.text(None)).collect();
    let failures = lines.iter().filter(|line| line.state == RowState::Failed);
    let failures = failures.map(|line| of_item(line.id(), line.error.clone()));
    let shortfall = Shortfall {
        is_interrupted,
        summary,
        hint: Some(resume),
        errors: failures.chain(stopped.iter().map(Error::json)).collect(),
        untried: untried.iter().map(|row| row.id().to_owned()).collect(),
    };
    Ok(shortfall.report(ctx, &said))
}
