//! The streams of one run. Only this module writes to stdout and stderr and reads stdin.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, ErrorKind, IsTerminal, Read, Write};

use super::labels::painted;
use crate::error::{Error, Exit, Result};
use crate::escape::{clean_lines, redact};

/// The streams that a run is given. Tests pass their own.
pub struct Streams {
    pub stdin: Box<dyn Read + Send>,
    pub stdout: Box<dyn Write>,
    pub stderr: Box<dyn Write>,
    pub terminals: Terminals,
    /// The width of the terminal behind stdout, in columns, and its height, in lines.
    pub width: Option<usize>,
    pub height: Option<usize>,
}

/// Whether each standard stream is a terminal.
#[derive(Clone, Copy, Default)]
pub struct Terminals {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

impl Streams {
    pub fn of_this_process() -> Self {
        let terminals = Terminals {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        };
        let size = if terminals.stdout { crossterm::terminal::size().ok() } else { None };
        Self {
            stdin: Box::new(io::stdin()),
            stdout: Box::new(io::stdout()),
            stderr: Box::new(io::stderr()),
            terminals,
            width: size.map(|(columns, _)| usize::from(columns)).filter(|&columns| columns > 0),
            height: size.map(|(_, lines)| usize::from(lines)).filter(|&lines| lines > 0),
        }
    }
}

/// Whether the reader of this process's stdout has gone, before anything more is written.
#[cfg(unix)]
fn is_reader_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok()
        && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// There it is known with the next write.
#[cfg(not(unix))]
fn is_reader_gone() -> bool {
    false
}

/// The streams in use.
pub struct Io {
    stdin: RefCell<Option<Box<dyn Read + Send>>>,
    stdout: RefCell<Box<dyn Write>>,
    stderr: RefCell<Box<dyn Write>>,
    pub terminals: Terminals,
    pub width: Option<usize>,
    pub height: Option<usize>,
    silenced: Cell<bool>,
    /// Whether the labels of messages are coloured.
    pub color: Cell<bool>,
}

impl Io {
    pub fn new(streams: Streams) -> Self {
        Self {
            stdin: RefCell::new(Some(streams.stdin)),
            stdout: RefCell::new(streams.stdout),
            stderr: RefCell::new(streams.stderr),
            terminals: streams.terminals,
            width: streams.width,
            height: streams.height,
            silenced: Cell::new(false),
            color: Cell::new(false),
        }
    }

    /// Writes data. A closed pipe (`| head`) is not an error: the rest is dropped.
    pub fn data(&self, text: &str) -> Result<()> {
        if self.silenced.get() {
            return Ok(());
        }
        let mut stdout = self.stdout.borrow_mut();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.silenced.set(true);
                Ok(())
            }
            written => written.map_err(|error| unwritten(error.to_string())),
        }
    }

    /// Writes data that contains text of the server, which a terminal must not obey.
    pub fn records(&self, text: &str) -> Result<()> {
        if self.terminals.stdout { self.data(&clean_lines(text)) } else { self.data(text) }
    }

    /// Whether the reader of stdout had closed it when something was written.
    pub fn is_closed(&self) -> bool {
        self.silenced.get()
    }

    /// Whether stdout still has a reader.
    pub fn has_reader(&self) -> bool {
        !self.silenced.get() && !is_reader_gone()
    }

    /// Writes a message to stderr and ignores failures. Keys are redacted, as logs keep messages.
    pub fn say(&self, text: &str) {
        let mut text = redact(text);
        if self.color.get() {
            text = Cow::Owned(painted(&text));
        }
        let mut stderr = self.stderr.borrow_mut();
        let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }

    /// Reads a text from stdin.
    pub async fn read_stdin(&self) -> Result<String> {
        String::from_utf8(self.read_stdin_bytes().await?).map_err(|error| {
            Error::usage("Cannot read stdin.").because(error.utf8_error().to_string())
        })
    }

    /// Reads stdin to its end on a thread of its own, so that Ctrl-C is handled in the meantime.
    pub async fn read_stdin_bytes(&self) -> Result<Vec<u8>> {
        let stdin = self.stdin.borrow_mut().take();
        let Some(mut stdin) = stdin else {
            return Err(Error::usage(
                "Only one argument can be `-`, because stdin can be read only once.",
            ));
        };
        let reading = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            stdin.read_to_end(&mut bytes).map(|_| bytes)
        });
        match reading.await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(Error::usage("Cannot read stdin.").because(error.to_string())),
            Err(error) => Err(Error::internal(error)),
        }
    }

    /// Reads a text file, or stdin for `-`.
    pub async fn read_text(&self, file: &str) -> Result<String> {
        if file == "-" { self.read_stdin().await } else { read_file(file) }
    }

    /// Reads the only line of stdin. Several lines are a mistake: a list, or a line of titles.
    pub async fn read_line(&self) -> Result<String> {
        let mut lines = self.read_list().await?;
        if lines.len() > 1 {
            let message = format!("Expected one line on stdin, and got {}.", lines.len());
            return Err(Error::usage(message).fix("pass one value at a time; nothing was changed"));
        }
        Ok(lines.pop().unwrap_or_default())
    }

    /// Reads a list from stdin, one entry a line, without blank lines.
    pub async fn read_list(&self) -> Result<Vec<String>> {
        let text = self.read_stdin().await?;
        let lines = BufReader::new(text.as_bytes()).lines();
        Ok(lines.map_while(io::Result::ok).filter(|line| !line.trim().is_empty()).collect())
    }
}

/// Reads a text file.
pub fn read_file(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

pub fn unreadable(path: &str, error: &io::Error) -> Error {
    Error::usage(format!("Cannot read {path}.")).because(error.to_string())
}

/// The error of data that did not reach stdout.
pub fn unwritten(why: impl Into<String>) -> Error {
    Error::new(Exit::Internal, "output", "Cannot write the output.").because(why)
}
