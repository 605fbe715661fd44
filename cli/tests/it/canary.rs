//! The key appears nowhere: for every way of giving it, every command and every outcome, and also
//! when a server or a user puts it in the wrong place.

use std::fs;
use std::path::Path;

use crate::support::lines::{LINES, lay_out, verb, words};
use crate::support::{FakeServer, Home, KEY, OTHER_KEY, Reply, RunOutput, answer};

/// Parts of the two keys beyond their public prefix of twelve characters.
const CANARIES: [&str; 2] = ["CANARY", "OTHERk"];

/// The ways to give a key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Variable,
    Profile,
    File,
    Stdin,
}

const WAYS: [Way; 4] = [Way::Variable, Way::Profile, Way::File, Way::Stdin];
/// The flags with which every line runs, for each way of giving the key.
const FLAGS: [&[&str]; 4] = [&["-vv"], &["-v", "-o", "json"], &["-n", "-vv"], &["-o", "csv"]];

/// Commands that need no server.
const STANDALONE_VERBS: [&str; 10] = [
    "completions",
    "dashboard",
    "help",
    "logout",
    "man",
    "profiles list",
    "profiles use",
    "profiles rename",
    "profiles remove",
    "version",
];
const LOGIN: &str = "login --profile staging";

/// A machine with the key given in this way, and the arguments and input that give it.
fn machine(way: Way, server: &FakeServer) -> (Home, Vec<String>, &'static str) {
    let home = Home::bare().set("LICCTL_SERVER", &server.address);
    lay_out(home.dir.path());
    match way {
        Way::Variable => (home.set("LICCTL_API_KEY", KEY), Vec::new(), ""),
        Way::Stdin => (home, vec!["--api-key-file".into(), "-".into()], KEY),
        Way::File => {
            let path = home.dir.path().join("key.txt");
            fs::write(&path, KEY).unwrap();
            (home, vec!["--api-key-file".into(), path.display().to_string()], "")
        }
        Way::Profile => {
            let args = ["login", "--api-key-file", "-"];
            assert_eq!(home.run_with_input(&args, KEY).code, 0);
            (home, Vec::new(), "")
        }
    }
}

fn well() -> FakeServer {
    FakeServer::answering(answer)
}

/// A server that refuses, and repeats the key that it was given.
fn echoing(status: u16) -> FakeServer {
    FakeServer::answering(move |request| {
        let words = format!("What is {}?", request.key.as_deref().unwrap_or("this"));
        Reply::refusal(status, "refused", &words).with("x-request-id", words)
    })
}

/// Every file below a folder but those that are there to hold a key.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !name.ends_with("/credentials.toml") && !name.ends_with("/key.txt") {
            found.push((name, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
        }
    }
    found
}

/// Searches everything but stdout for the keys.
fn assert_silent(what: &str, ran: &RunOutput, home: &Home) {
    for canary in CANARIES {
        assert!(!ran.stderr.contains(canary), "{what}: {}", ran.stderr);
        for (name, text) in files(home.dir.path()) {
            assert!(!text.contains(canary), "{what}: {name}: {text}");
        }
    }
}

fn run(line: &str, way: Way, flags: &[&str], server: &FakeServer) -> (String, RunOutput, Home) {
    let (home, given, input) = machine(way, server);
    let words = words(line, home.dir.path());
    let args = words.iter().chain(&given).map(String::as_str).chain(flags.iter().copied());
    let args: Vec<&str> = args.collect();
    let ran = home.run_with_input(&args, input);
    (format!("{way:?}: {args:?}"), ran, home)
}

#[test]
fn the_key_appears_nowhere() {
    for (at, line) in LINES.iter().enumerate() {
        for (way_at, way) in WAYS.into_iter().enumerate() {
            let flags = FLAGS[(at + way_at) % FLAGS.len()];
            let server = well();
            let (what, ran, home) = run(line, way, flags, &server);
            assert_silent(&what, &ran, &home);
            let used = server.received().into_iter().filter_map(|request| request.key);
            assert!(used.clone().all(|key| key == KEY), "{what}");
            // A profile without a key gives nothing to log in with, and a dry run sends no request.
            let asks =
                !STANDALONE_VERBS.contains(&&*verb(line)) && (way, *line) != (Way::Profile, LOGIN);
            let asked = used.count() > usize::from(way == Way::Profile);
            assert!(asked == asks || flags.contains(&"-n"), "{what}: {ran:?}");
            // Only these commands print a key: the new one, never the one in use.
            let makes_one = ["keys create", "keys roll"].contains(&&*verb(line));
            let makes_one = makes_one && !flags.contains(&"-n");
            assert_eq!(ran.stdout.matches(OTHER_KEY).count(), usize::from(makes_one), "{what}");
            let rest = ran.stdout.replace(OTHER_KEY, "");
            assert!(CANARIES.iter().all(|canary| !rest.contains(canary)), "{what}: {rest}");
        }
    }
}

#[test]
fn a_server_that_repeats_the_key_is_not_repeated() {
    for (at, line) in LINES.iter().enumerate() {
        let status = [401, 403, 404, 409, 500, 503][at % 6];
        let flags = [["-vv", "--patience=0"], ["-ojson", "--patience=0"]][at % 2];
        let (what, ran, home) = run(line, Way::Variable, &flags, &echoing(status));
        assert_silent(&what, &ran, &home);
        assert!(CANARIES.iter().all(|canary| !ran.stdout.contains(canary)), "{what}: {ran:?}");
    }
}

/// A key pasted in place of a path, a name or a word is not repeated in the error.
#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    let server = well();
    for args in [
        &["whoami", "--api-key-file", KEY][..],
        &["whoami", "--api-key", KEY],
        &["whoami", KEY],
        &["whoami", "--profile", KEY],
        &["whoami", "--server", KEY],
        &["whoami", "--ca-cert", KEY],
        &["login", KEY],
        &["products", "get", KEY],
        &["plans", "create", "--max-seats", KEY],
        &["man", KEY],
        &["completions", KEY],
        &["apply", "-f", KEY],
        &[KEY],
    ] {
        for form in [&[][..], &["-o", "json"]] {
            let home = Home::with(&server);
            let ran = home.run(&[args, form].concat());
            assert_ne!(ran.code, 0, "{args:?}");
            assert!(!ran.stdout.contains("CANARY"), "{args:?}: {ran:?}");
            assert_silent(&format!("{args:?}"), &ran, &home);
        }
    }
    for variable in ["LICCTL_PROFILE", "LICCTL_OUTPUT", "LICCTL_SERVER", "LICCTL_CA_CERT"] {
        let home = Home::with(&server).set(variable, KEY);
        let ran = home.run(&["whoami"]);
        assert_ne!(ran.code, 0, "{variable}");
        assert_silent(variable, &ran, &home);
    }
}

/// The command line and environment of a process, which all users of a machine may read.
#[cfg(target_os = "linux")]
#[test]
fn the_key_is_in_no_process_list() {
    use std::io::Write;
    use std::sync::mpsc::channel;

    for (at, line) in
        LINES.iter().enumerate().filter(|(_, line)| !STANDALONE_VERBS.contains(&&*verb(line)))
    {
        let (told, asked) = channel();
        let (open, wait) = channel::<()>();
        let server = FakeServer::answering(move |request| {
            // The receive fails when the test has ended, and returns immediately after the first
            // time.
            let _ = told.send(());
            let _ = wait.recv();
            answer(request)
        });
        let way = [Way::Variable, Way::File, Way::Stdin][at % 3];
        let (home, given, input) = machine(way, &server);
        let words = words(line, home.dir.path());
        let args: Vec<&str> = words.iter().chain(&given).map(String::as_str).collect();
        let mut child = home.command(&args).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        asked.recv().unwrap();
        let mut seen = command_line(child.id());
        for process in children(child.id()) {
            seen += &command_line(process);
        }
        drop(open);
        assert!(seen.starts_with(env!("CARGO_BIN_EXE_licctl")), "{seen}");
        assert!(!seen.contains("CANARY"), "{line}: {seen}");
        child.wait_with_output().unwrap();
    }
}

#[cfg(target_os = "linux")]
fn command_line(process: u32) -> String {
    // A child may have ended in between.
    let bytes = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Those whose parent, the fourth word of their `stat`, is this process.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let processes = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name in parentheses may hold blanks.
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    processes.filter(is_child).collect()
}
