//! The log, and every other line for standard error.
//!
//! tracing-appender's thread writes the log from a bounded queue, so that logging neither waits nor
//! fails, whatever the state of standard error: a full disk, a closed pipe, a pipe without a reader.
//! Lines that find the queue full or cannot be written are lost; their number is logged as soon as a
//! line can be written.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::mem;
use std::os::fd::AsFd;
use std::panic::PanicHookInfo;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use common::Timestamp;
use serde_json::json;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Maximum bytes of a line. Longer lines are cut.
const MAX_LINE: usize = 8 * 1024;
/// Maximum number of lines in the queue.
const MAX_QUEUE: usize = 4096;
/// Approximate number of bytes per write.
const MAX_BATCH: usize = 64 * 1024;
/// Timeout of a write to standard error.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval between retries on a standard error that was set not to block.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Counts the lines that found the queue full.
static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();
/// Number of lines that could not be written.
static UNWRITTEN: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// The filter of the log: directives of tracing's filter, each checked.
#[derive(Clone, Debug)]
pub struct LogFilter(String);

impl LogFilter {
    pub fn from_static(filter: &'static str) -> Self {
        Self(filter.to_owned())
    }
}

/// A directive that is neither a level nor a target with one.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a level; levels are error, warn, info, debug, trace and off. A directive for one \
     module is TARGET=LEVEL, such as info,sqlx=warn"
)]
pub struct InvalidFilter(String);

impl FromStr for LogFilter {
    type Err = InvalidFilter;

    /// The filter itself would take an unknown word for the name of a module, and log nothing else.
    fn from_str(text: &str) -> Result<Self, InvalidFilter> {
        let directives: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_level = |word: &str| !word.is_empty() && word.parse::<LevelFilter>().is_ok();
        let mut bare = directives.iter().filter(|directive| !directive.contains(['=', '[']));
        if let Some(unknown) = bare.find(|directive| !is_level(directive)) {
            return Err(InvalidFilter((*unknown).to_owned()));
        }
        let text = directives.join(",");
        match EnvFilter::try_new(&text) {
            Ok(_) => Ok(Self(text)),
            Err(_) => Err(InvalidFilter(text)),
        }
    }
}

/// Writes the lines that still wait when it is dropped, also when a panic ends the program.
#[must_use]
pub struct Flush(Option<WorkerGuard>);

impl Drop for Flush {
    fn drop(&mut self) {
        // With a full queue the guard writes to standard output, which may hang as well.
        let guard = self.0.take();
        in_time(move || drop(guard));
    }
}

/// Starts the log; panics are logged from now on.
pub fn start(filter: &LogFilter, format: LogFormat) -> io::Result<Flush> {
    // A descriptor of its own: a thread that hangs in a write must not hold `io::stderr`'s lock.
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    let ansi = stderr.is_terminal();
    let queue = NonBlockingBuilder::default().buffered_lines_limit(MAX_QUEUE).thread_name("log");
    let (queue, guard) = queue.finish(Output::new(stderr, format));
    DROPPED.get_or_init(|| queue.error_counter());
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&filter.0))
        .with_ansi(ansi)
        .log_internal_errors(false)
        .with_writer(Lines { queue, format });
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    std::panic::set_hook(Box::new(log_panic));
    Ok(Flush(Some(guard)))
}

/// Writes why licd ends, past the log.
pub fn fatal(text: impl fmt::Display) {
    line(format_args!("{}{text}", priority(Level::ERROR)));
}

/// Writes a line for people past the log, and returns whether it was written, within a second.
pub fn line(text: impl fmt::Display) -> bool {
    let text = format!("{text}\n");
    in_time(move || io::stderr().write_all(text.as_bytes())).is_some_and(|written| written.is_ok())
}

/// Returns the result of `write`, unless it hangs.
fn in_time<T: Send + 'static>(write: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, written) = mpsc::channel();
    // Fails when it took too long.
    let write = move || drop(sender.send(write()));
    thread::Builder::new().spawn(write).ok()?;
    written.recv_timeout(WRITE_TIMEOUT).ok()
}

/// Returns the number of lines that were lost since the start.
pub fn lines_lost() -> u64 {
    let dropped = DROPPED.get().map_or(0, ErrorCounter::dropped_lines);
    UNWRITTEN.load(Ordering::Relaxed) + dropped as u64
}

fn log_panic(panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let backtrace = std::backtrace::Backtrace::capture();
    tracing::error!(
        thread = thread.name(),
        location = panic.location().map(tracing::field::display),
        backtrace = (backtrace.status() == std::backtrace::BacktraceStatus::Captured)
            .then(|| tracing::field::display(&backtrace)),
        "panicked: {}",
        panic.payload_as_str().unwrap_or("no message")
    );
}

/// Standard error as the log's thread sees it. It never fails, as that thread goes on anyway: lines
/// that cannot be written are counted.
struct Output<W> {
    stderr: W,
    format: LogFormat,
    /// Whole lines, one behind the other.
    batch: Vec<u8>,
    /// A write broke off in the middle of a line, which is to be ended before the next.
    is_torn: bool,
    /// Number of lost lines that were reported.
    reported: u64,
}

impl<W: Write> Output<W> {
    fn new(stderr: W, format: LogFormat) -> Self {
        Self { stderr, format, batch: Vec::new(), is_torn: false, reported: 0 }
    }

    /// Writes the lines, and returns whether all of them were written.
    fn write_lines(&mut self, mut lines: &[u8]) -> bool {
        while !lines.is_empty() {
            let rest = if self.is_torn { b"\n" } else { lines };
            match self.stderr.write(rest) {
                Ok(_) if self.is_torn => self.is_torn = false,
                Ok(written) if written > 0 => {
                    self.is_torn = rest[written - 1] != b'\n';
                    lines = &lines[written..];
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(RETRY_INTERVAL);
                }
                Ok(_) | Err(_) => {
                    let lost = lines.split_inclusive(|&byte| byte == b'\n').count();
                    UNWRITTEN.fetch_add(lost as u64, Ordering::Relaxed);
                    return false;
                }
            }
        }
        true
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.batch.extend_from_slice(line);
        if self.batch.len() >= MAX_BATCH {
            self.flush()?;
        }
        Ok(line.len())
    }

    /// Once the lines are written, one more reports how many were lost before.
    fn flush(&mut self) -> io::Result<()> {
        let mut batch = mem::take(&mut self.batch);
        let (are_written, lost) = (self.write_lines(&batch), lines_lost());
        if are_written && lost > self.reported {
            let report = format!("{} log lines were lost", lost - self.reported);
            let report = event(self.format, &report, json!({}));
            if self.write_lines(&[priority(Level::WARN).as_bytes(), &report].concat()) {
                self.reported = lost;
            }
        }
        batch.clear();
        self.batch = batch;
        Ok(())
    }
}

/// Returns the prefix that gives the journal of systemd the level of a line. Without it, all lines
/// count as information. Empty if standard error is not the journal.
fn priority(level: Level) -> &'static str {
    static IS_JOURNAL: LazyLock<bool> = LazyLock::new(|| {
        let stderr = rustix::fs::fstat(io::stderr());
        let stream = std::env::var("JOURNAL_STREAM");
        stderr.is_ok_and(|it| stream.is_ok_and(|to| to == format!("{}:{}", it.st_dev, it.st_ino)))
    });
    match level {
        _ if !*IS_JOURNAL => "",
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        _ => "<7>",
    }
}

/// Creates the lines of events.
struct Lines {
    queue: NonBlocking,
    format: LogFormat,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&self) -> Line {
        Line { queue: self.queue.clone(), format: self.format, priority: priority(Level::INFO) }
    }

    fn make_writer_for(&self, event: &Metadata<'_>) -> Line {
        Line { priority: priority(*event.level()), ..self.make_writer() }
    }
}

/// A line of an event, which is written as a whole.
struct Line {
    queue: NonBlocking,
    format: LogFormat,
    priority: &'static str,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let whole =
            if line.len() <= MAX_LINE { Cow::from(line) } else { cut(line, self.format).into() };
        self.queue.write_all(&[self.priority.as_bytes(), &whole].concat())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The beginning of a line that is too long. In JSON it becomes a value of another line, which is
/// well-formed.
fn cut(line: &[u8], format: LogFormat) -> Vec<u8> {
    let message = format!("a log line of {} bytes was cut", line.len());
    match format {
        LogFormat::Text => {
            let start = String::from_utf8_lossy(&line[..MAX_LINE - 64]);
            format!("{start}… ({message})\n").into_bytes()
        }
        // Each quotation mark takes two bytes there.
        LogFormat::Json => {
            let start = String::from_utf8_lossy(&line[..MAX_LINE / 2 - 128]);
            event(format, &message, json!({ "line": start }))
        }
    }
}

/// A line of the log about the log, which must not depend on its filter.
fn event(format: LogFormat, message: &str, mut fields: serde_json::Value) -> Vec<u8> {
    let (now, target) = (Timestamp::now(), module_path!());
    match format {
        LogFormat::Text => format!("{now}  WARN {target}: {message}\n").into_bytes(),
        LogFormat::Json => {
            fields["timestamp"] = json!(now);
            fields["level"] = json!("WARN");
            fields["message"] = json!(message);
            fields["target"] = json!(target);
            format!("{fields}\n").into_bytes()
        }
    }
}

#[cfg(test)]
mod tests;
