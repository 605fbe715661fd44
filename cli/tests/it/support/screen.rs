//! licctl run within the test, on a terminal that is only said to be one: as wide as a test wants
//! it, and without anybody to answer questions.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use licctl::{Env, Streams, Terminals};

use super::{Home, RunOutput};

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// What a person sees on a terminal of so many columns, in one colour.
pub fn on_screen(home: &Home, args: &[&str], columns: usize) -> RunOutput {
    let (stdout, stderr) = (Sink::default(), Sink::default());
    let streams = Streams {
        stdin: Box::new(io::empty()),
        stdout: Box::new(stdout.clone()),
        stderr: Box::new(stderr.clone()),
        terminals: Terminals { stdin: false, stdout: true, stderr: true },
        width: Some(columns),
    };
    let env: Env = home.variables().into_iter().chain([("NO_COLOR", "1".to_owned())]).collect();
    let words = ["licctl"].iter().chain(args).map(OsString::from);
    let code = licctl::run(words, env, streams).into();
    RunOutput { code, stdout: stdout.text(), stderr: stderr.text() }
}
