//! The progress of a bulk run: a bar with rate and time left on a terminal, and a plain line every
//! few seconds elsewhere; nothing where messages are JSON.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::report::{ReportLine, RowState};
use crate::context::Context;
use crate::escape::clean;
use crate::terminal::Io;

/// The time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

pub struct RowProgress {
    bar: ProgressBar,
    lines: Option<LogLines>,
}

/// Plain lines, for a log.
struct LogLines {
    io: Rc<Io>,
    done: Cell<usize>,
    total: usize,
    last_line: Cell<Instant>,
}

fn rate(state: &ProgressState, text: &mut dyn fmt::Write) {
    // A progress bar that cannot be written is no error.
    let _ = write!(text, "{:.1}/s", state.per_sec());
}

impl RowProgress {
    pub fn new(ctx: &Context, total: usize) -> Self {
        if ctx.output.format.is_json() && !ctx.io.terminals.stderr {
            return Self { bar: ProgressBar::hidden(), lines: None };
        }
        if ctx.io.terminals.stderr {
            let bar =
                ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            // The bar fills the rest of the line.
            let template = "{pos} of {len}  {rate}  {eta} left  {msg}{wide_bar}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.with_key("rate", rate));
                ctx.wait_display.use_bar(bar.clone());
            }
            return Self { bar, lines: None };
        }
        let lines = LogLines {
            io: ctx.io.clone(),
            done: Cell::new(0),
            total,
            last_line: Cell::new(Instant::now()),
        };
        Self { bar: ProgressBar::hidden(), lines: Some(lines) }
    }

    /// Counts a row; a failure is printed immediately.
    pub fn count(&self, line: &ReportLine) {
        self.bar.inc(1);
        if line.state == RowState::Failed {
            let why = line.error["message"].as_str().unwrap_or_default();
            self.say(&format!("line {}: {}: {why}", line.line, line.id()));
        }
        let Some(lines) = &self.lines else { return };
        lines.done.set(lines.done.get() + 1);
        if lines.last_line.get().elapsed() >= LINE_INTERVAL {
            lines.last_line.set(Instant::now());
            lines.io.say(&format!("{} of {}\n", lines.done.get(), lines.total));
        }
    }

    /// Prints a line without breaking the bar.
    pub fn say(&self, text: &str) {
        match &self.lines {
            Some(lines) => lines.io.say(&format!("{}\n", clean(text))),
            None => self.bar.println(clean(text)),
        }
    }

    pub fn finish(&self, ctx: &Context) {
        ctx.wait_display.end();
    }
}
