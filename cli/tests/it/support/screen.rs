//! licctl run within the test on a simulated terminal of any width, without prompts.

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

/// The output on a terminal of this width, without colour.
pub fn on_screen(home: &Home, args: &[&str], columns: usize) -> RunOutput {
    let (stdout, stderr) = (Sink::default(), Sink::default());
    let streams = Streams {
        stdin: Box::new(io::empty()),
        stdout: Box::new(stdout.clone()),
        stderr: Box::new(stderr.clone()),
        terminals: Terminals { stdin: false, stdout: true, stderr: true },
        width: Some(columns),
        height: None,
    };
    let env: Env = home.variables().into_iter().chain([("NO_COLOR", "1".to_owned())]).collect();
    let words = ["licctl"].iter().chain(args).map(OsString::from);
    let code = licctl::run(words, env, streams).into();
    RunOutput { code, stdout: stdout.text(), stderr: stderr.text() }
}
