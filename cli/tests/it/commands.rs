//! The output of every command: on a terminal of 100 columns, and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use common::Timestamp;

use crate::support::lines::{LINES, lay_out, verb, verbs, words};
use crate::support::{FakeServer, Home, RunOutput, answer, on_screen};

const COLUMNS: usize = 100;

/// The times of the server's records, each with a time at a fixed distance from now, so that `3d ago`
/// stays stable.
fn moments() -> [(&'static str, String); 3] {
    let now = Timestamp::now();
    [
        ("2026-01-31T12:00:00.000Z", TimeDelta::days(-3)),
        ("2026-02-01T12:00:00.000Z", TimeDelta::hours(-2)),
        ("2999-01-31T12:00:00.000Z", TimeDelta::days(90)),
    ]
    .map(|(moment, span)| (moment, now.plus(span - TimeDelta::minutes(5)).to_string()))
}

/// The output on a screen, with recent times in the records.
fn on_a_screen(line: &str) -> String {
    let moments = moments();
    let recent = moments.clone();
    let server = FakeServer::answering(move |request| {
        let said = recent.iter();
        said.fold(answer(request), |reply, (moment, recent)| reply.saying(moment, recent))
    });
    let home = machine(&server);
    let args = words(line, home.dir.path());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let seen = seen(&on_screen(&home, &args, COLUMNS), &server, &home);
    // Some output shows absolute times.
    moments.iter().fold(seen, |seen, (moment, recent)| seen.replace(recent, moment))
}

fn as_json(line: &str) -> String {
    let server = FakeServer::answering(answer);
    let home = machine(&server);
    let args = words(line, home.dir.path());
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["-o", "json"]).collect();
    seen(&home.run(&args), &server, &home)
}

/// A machine that is logged in, and has the files that the lines name.
fn machine(server: &FakeServer) -> Home {
    let home = Home::with(server);
    lay_out(home.dir.path());
    let ran = home.run(&["login"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    home
}

/// Both streams, with stderr marked by `!` and variable parts replaced.
fn seen(ran: &RunOutput, server: &FakeServer, home: &Home) -> String {
    let said: String = ran.stderr.lines().map(|line| format!("! {line}\n")).collect();
    let whole = RunOutput { code: ran.code, stdout: ran.stdout.clone(), stderr: said };
    whole.seen(server, home).replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn every_command_has_its_snapshot() {
    let shown: BTreeSet<String> = LINES.iter().map(|line| verb(line)).collect();
    let all: BTreeSet<String> = verbs().into_iter().collect();
    assert_eq!(shown, all, "each command of the program needs a line, and each line a command");
}

/// One snapshot file for each noun; lines of stderr begin with `!`.
#[test]
fn every_command_shows_this() {
    let mut nouns: BTreeMap<&str, String> = BTreeMap::new();
    for line in LINES {
        let text = nouns.entry(line.split(' ').next().unwrap()).or_default();
        let (person, program) = (on_a_screen(line), as_json(line));
        *text += &format!("$ licctl {line}\n{person}\n\n$ licctl {line} -o json\n{program}\n\n");
    }
    for (noun, text) in nouns {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(noun, text);
        });
    }
}
