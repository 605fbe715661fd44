//! What the README shows is what happens: its `console` blocks are run, line by line, against an
//! empty licd.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use licctl::{Env, Streams, Terminals};

use crate::harness::App;

const README: &str = include_str!("../../README.md");

/// A command and what it printed.
type Shown = (String, String);

/// The commands of all `console` blocks, each with the lines up to the next.
fn transcript() -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in README.lines() {
        match (inside, line.strip_prefix("$ "), shown.last_mut()) {
            (false, ..) => inside = line == "```console",
            (true, ..) if line == "```" => inside = false,
            (true, Some(command), _) => shown.push((command.to_owned(), String::new())),
            (true, None, Some((_, output))) => *output += &format!("{line}\n"),
            (true, None, None) => panic!("a block begins without a command: {line}"),
        }
    }
    shown
}

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

/// What the command writes, to either stream, without a terminal.
fn run(command: &str, server: &str, key: &str, folder: &str) -> String {
    let env = [("LICCTL_SERVER", server), ("LICCTL_API_KEY", key), ("LICCTL_CONFIG_DIR", folder)];
    let sink = Sink::default();
    let streams = Streams {
        stdin: Box::new(io::empty()),
        stdout: Box::new(sink.clone()),
        stderr: Box::new(sink.clone()),
        terminals: Terminals::default(),
        width: None,
    };
    let words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
    licctl::run(words, Env::from(env), streams);
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// Ids and times are others each time, but always as long.
fn stable(text: &str) -> String {
    let is_id = |word: &str| word.len() == 30 && word.as_bytes()[3] == b'_';
    let is_time = |word: &str| word.len() == 24 && word.ends_with('Z') && word.contains('T');
    let word = |word: &str| match word {
        id if is_id(id) => format!("{}_…", &id[..3]),
        time if is_time(time) => "TIME".to_owned(),
        other => other.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(|text| line(text).trim_end().to_owned() + "\n").collect()
}

#[tokio::test]
async fn the_tour_runs_as_it_stands() {
    let app = App::start().await;
    let (server, key) = (app.base.clone(), app.key.clone().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap().to_owned();
    let shown = transcript();
    assert!(shown.len() >= 4, "the README has lost its tour");
    for (command, output) in shown {
        let (server, key, folder) = (server.clone(), key.clone(), folder.clone());
        let asked = command.clone();
        let ran = tokio::task::spawn_blocking(move || run(&asked, &server, &key, &folder)).await;
        assert_eq!(stable(&ran.unwrap()), stable(&output), "$ {command}");
    }
}
