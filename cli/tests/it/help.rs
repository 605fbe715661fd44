//! The help: every command has one, and every example in it is a command line that makes sense.

use std::collections::BTreeSet;

use crate::support::Home;
use crate::support::lines::{commands, split};

/// The examples in a help text: lines that begin with the program's name, without shell syntax.
/// Continued lines are joined.
fn examples(help: &str) -> Vec<String> {
    let joined = help.replace("\\\n", " ");
    // Three spaces set a remark apart from the command.
    let commands = joined.lines().map(|line| line.trim().split("   ").next().unwrap());
    let piped = commands.flat_map(|line| line.split(" | "));
    let alone = piped.map(|line| line.split(" > ").next().unwrap().trim().to_owned());
    alone.filter(|line| line.starts_with("licctl ")).collect()
}

#[test]
fn every_example_in_the_help_parses() {
    let home = Home::bare();
    let mut seen = BTreeSet::new();
    for command in commands() {
        let args: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        for example in examples(&home.run(&args).stdout) {
            seen.insert(example);
        }
    }
    assert!(seen.len() > 20, "{seen:?}");
    for example in seen {
        let words = split(&example);
        let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        // Without key, terminal and server every example ends with an error; only clap's own errors
        // end with the usage.
        let ran = home.run(&args);
        let refused = ran.stderr.contains("try '--help'") || ran.stderr.contains("Usage:");
        assert!(!refused, "{example}: {}", ran.stderr);
    }
}

/// A wrapped line cannot be copied.
#[test]
fn examples_stand_on_a_terminal_of_80_columns_as_they_are() {
    let home = Home::bare().set("COLUMNS", "200");
    for command in commands() {
        let args: Vec<&str> = command.iter().map(String::as_str).chain(["-h"]).collect();
        let help = home.run(&args).stdout;
        let (_, after) = help.rsplit_once("-h, --help").unwrap();
        let long = after.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{command:?}");
    }
}

#[test]
fn every_command_has_a_description() {
    let home = Home::bare();
    for command in commands() {
        let args: Vec<&str> = command.iter().map(String::as_str).chain(["-h"]).collect();
        let help = home.run(&args).stdout;
        let about = help.lines().next().unwrap();
        assert!(about.len() > 10 && !about.starts_with("Usage"), "{command:?}: {about}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn the_singular_and_short_forms_work() {
    let home = Home::bare();
    for args in [
        ["product", "ls"],
        ["plan", "new"],
        ["license", "show"],
        ["user", "ls"],
        ["event", "ls"],
        ["refusal", "ls"],
        ["key", "ls"],
        ["profile", "ls"],
    ] {
        assert_eq!(home.run(&[args[0], args[1], "--help"]).code, 0, "{args:?}");
    }
}

#[test]
fn an_invalid_line_exits_2_as_text_and_json() {
    let home = Home::bare();
    let ran = home.run(&["plans", "crate"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("create"), "a near word is offered: {}", ran.stderr);
    let ran = home.run(&["plans", "create", "--max-seats", "0", "-o", "json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["exitCode"], 2);
    assert!(error["message"].as_str().unwrap().contains("must be a whole number"));
    assert_eq!(home.run(&["products", "list", "--api-key", "x"]).code, 2, "no flag takes a key");
}

#[test]
fn the_version_goes_to_stdout() {
    let ran = Home::bare().run(&["--version"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("licctl "));
}
