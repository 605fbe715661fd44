//! Runs the `console` blocks of the README, line by line, against an empty licd.

use crate::harness::App;
use crate::journey::Shell;

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

/// Replaces ids and times, which differ in every run but keep their length.
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

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_runs_as_it_stands() {
    let app = App::start().await;
    let shell = Shell::at(&app);
    let shown = transcript();
    assert!(shown.len() >= 4, "the README has lost its tour");
    for (command, output) in shown {
        let ran = shell.run(&command);
        assert_eq!(stable(&(ran.stdout + &ran.stderr)), stable(&output), "$ {command}");
    }
}
