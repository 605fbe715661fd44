//! The log, and every other line for standard error: written by a thread of its own.
//!
//! Logging puts a line into a bounded queue, and neither waits nor fails, whatever the state of
//! standard error: a full disk, a closed pipe, a pipe without a reader. Lines that find the queue
//! full or cannot be written are lost; their number is logged as soon as a line can be written.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::mem;
use std::os::fd::AsFd;
use std::panic::PanicHookInfo;
use std::str::FromStr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use common::Timestamp;
use serde_json::json;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// The most bytes of a line. What is longer is cut.
const MAX_LINE: usize = 8 * 1024;
/// The most bytes that wait to be written. As many more may be in the middle of being written.
const MAX_QUEUE: usize = 1024 * 1024;
/// How long [`flush`] waits.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Before a standard error that was set not to block is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// There is one standard error, and so one queue for it.
static LOG: Log = Log::new();

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

/// Writes all queued lines when it is dropped, also when a panic ends the program.
#[must_use]
pub struct Flush(());

impl Drop for Flush {
    fn drop(&mut self) {
        flush();
    }
}

/// Starts the log; panics are logged from now on.
pub fn start(filter: &LogFilter, format: LogFormat) -> io::Result<Flush> {
    // A descriptor of its own: a thread that hangs in a write must not hold `io::stderr`'s lock.
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    let ansi = stderr.is_terminal();
    let writer = Writer { output: stderr, format, mid_line: false, reported: 0 };
    thread::Builder::new().name("log".into()).spawn(|| writer.run(&LOG))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(&filter.0))
        .with_ansi(ansi)
        .log_internal_errors(false)
        .with_writer(move || Line(format));
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
    std::panic::set_hook(Box::new(log_panic));
    Ok(Flush(()))
}

/// Queues a line for people, as it is.
pub fn line(text: impl fmt::Display) {
    LOG.push(format!("{text}\n").as_bytes());
}

/// Writes a line for people, and answers whether it was written, within a second.
pub fn deliver(text: impl fmt::Display) -> bool {
    let lost = LOG.lock().lost;
    line(text);
    flush() && LOG.lock().lost == lost
}

/// Waits until all lines are written or lost, for at most a second; answers whether they are.
pub fn flush() -> bool {
    LOG.flush(FLUSH_TIMEOUT)
}

/// How many lines were lost since the start.
pub fn lines_lost() -> u64 {
    LOG.lock().lost
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

/// The queue of lines.
struct Log {
    queue: Mutex<Queue>,
    filled: Condvar,
    settled: Condvar,
}

struct Queue {
    /// Whole lines, one behind the other.
    lines: Vec<u8>,
    /// The writer holds lines that it has not written yet.
    is_writing: bool,
    /// How many lines were lost since the start.
    lost: u64,
}

impl Log {
    const fn new() -> Self {
        let queue = Queue { lines: Vec::new(), is_writing: false, lost: 0 };
        Self { queue: Mutex::new(queue), filled: Condvar::new(), settled: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes whole lines, or drops them when the queue is full.
    fn push(&self, lines: &[u8]) {
        let mut queue = self.lock();
        if queue.lines.len() + lines.len() > MAX_QUEUE {
            queue.lost += 1;
            return;
        }
        queue.lines.extend_from_slice(lines);
        // To wake it costs a system call, and while it writes it looks again by itself.
        if !queue.is_writing {
            self.filled.notify_one();
        }
    }

    /// Waits for lines and moves them into `batch`; those that it held before are settled.
    fn take(&self, batch: &mut Vec<u8>) {
        batch.clear();
        let mut queue = self.lock();
        queue.is_writing = false;
        while queue.lines.is_empty() {
            self.settled.notify_all();
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.is_writing = true;
        mem::swap(&mut queue.lines, batch);
    }

    fn flush(&self, timeout: Duration) -> bool {
        let unsettled = |queue: &mut Queue| queue.is_writing || !queue.lines.is_empty();
        let waited = self.settled.wait_timeout_while(self.lock(), timeout, unsettled);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Writes the lines of the queue, the only one to do so.
struct Writer<W> {
    output: W,
    format: LogFormat,
    /// A write broke off in the middle of a line, which is to be ended before the next.
    mid_line: bool,
    /// How many lost lines were reported.
    reported: u64,
}

impl<W: Write> Writer<W> {
    fn run(mut self, log: &Log) {
        let mut batch = Vec::new();
        loop {
            log.take(&mut batch);
            self.settle(&batch, log);
        }
    }

    /// Writes a batch of lines. Once that succeeds, a line reports how many were lost before.
    fn settle(&mut self, batch: &[u8], log: &Log) {
        let failed = self.write(batch);
        let lost = {
            let mut queue = log.lock();
            queue.lost += failed;
            queue.lost
        };
        if failed == 0 && lost > self.reported {
            let report = format!("{} log lines were lost", lost - self.reported);
            if self.write(&event(self.format, &report, json!({}))) == 0 {
                self.reported = lost;
            }
        }
    }

    /// Writes the lines, and answers how many could not be written.
    fn write(&mut self, mut lines: &[u8]) -> u64 {
        let mut torn = self.mid_line;
        while !lines.is_empty() {
            match self.output.write(if torn { b"\n" } else { lines }) {
                Ok(written) if written > 0 => {
                    if torn {
                        (torn, self.mid_line) = (false, false);
                        continue;
                    }
                    self.mid_line = lines.get(written - 1) != Some(&b'\n');
                    lines = lines.get(written..).unwrap_or_default();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    thread::sleep(RETRY_INTERVAL);
                }
                Ok(_) | Err(_) => {
                    return lines.split_inclusive(|&byte| byte == b'\n').count() as u64;
                }
            }
        }
        0
    }
}

/// What an event is written to, at once and whole.
struct Line(LogFormat);

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if line.len() <= MAX_LINE {
            LOG.push(line);
        } else {
            LOG.push(&cut(line, self.0));
        }
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
