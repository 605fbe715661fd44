//! The help: every command has one, and every example in it is a command line that makes sense.

use std::collections::BTreeSet;

use crate::support::Home;
use crate::support::lines::{commands, split, verbs};

/// The examples in a help text: lines that begin with the program's name, without shell syntax.
/// Continued lines are joined.
fn examples(help: &str) -> Vec<String> {
    let joined = help.replace("\\\n", " ").replace("LICENSE=$(", "").replace(" -q)", " -q");
    // Three spaces set a remark apart from the command.
    let commands = joined.lines().map(|line| line.trim().split("   ").next().unwrap());
    let commands = commands.map(|line| line.split(" || ").next().unwrap());
    let piped = commands.flat_map(|line| line.split(" | "));
    let alone = piped.map(|line| line.split(" > ").next().unwrap().trim().to_owned());
    // A usage has words in angle brackets.
    alone.filter(|line| line.starts_with("licctl ") && !line.contains('<')).collect()
}

/// The pages of `licctl help` that belong to no command.
const TOPICS: [&str; 6] = ["environment", "exit-codes", "ci", "output", "bulk", "flags"];

/// The help of a command.
fn help_of(home: &Home, command: &[String], flag: &str) -> String {
    let args: Vec<&str> = command.iter().map(String::as_str).chain([flag]).collect();
    home.run(&args).stdout
}

/// Runs an example. Without key, terminal and server every one ends with an error; only the parser's
/// own errors end with the usage.
#[track_caller]
fn parses(home: &Home, example: &str) {
    let words = split(example);
    let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let ran = home.run(&args);
    let refused = ran.stderr.contains("try '--help'") || ran.stderr.contains("Usage:");
    assert!(!refused, "{example}: {}", ran.stderr);
}

#[test]
fn every_example_in_the_help_parses() {
    let home = Home::bare();
    let commands = commands().into_iter().map(|command| help_of(&home, &command, "--help"));
    let topics = TOPICS.iter().map(|topic| home.run(&["help", topic]).stdout);
    let seen: BTreeSet<String> = commands.chain(topics).flat_map(|page| examples(&page)).collect();
    assert!(seen.len() > 80, "{seen:?}");
    for example in seen {
        parses(&home, &example);
    }
}

/// An example shows what a list of flags leaves open.
#[test]
fn every_verb_has_an_example_of_its_own() {
    let home = Home::bare();
    for verb in verbs() {
        let words: Vec<String> = verb.split(' ').map(str::to_owned).collect();
        let help = help_of(&home, &words, "--help");
        let own = format!("licctl {verb}");
        assert!(examples(&help).iter().any(|line| line.contains(&own)), "{verb}: {help}");
        // A reader finds them above the flags.
        assert!(help.find("Examples:") < help.find("\nOptions:"), "{verb}");
    }
}

/// A wrapped line cannot be copied.
#[test]
fn examples_stand_on_a_terminal_of_80_columns_as_they_are() {
    let home = Home::bare().set("COLUMNS", "200");
    for command in commands() {
        let help = help_of(&home, &command, "-h");
        let mut lines = help.lines().filter(|line| line.starts_with("  licctl "));
        assert_eq!(lines.find(|line| line.chars().count() > 80), None, "{command:?}");
    }
}

#[test]
fn the_flags_of_every_command_stand_on_one_page() {
    let home = Home::bare();
    for verb in verbs() {
        let words: Vec<String> = verb.split(' ').map(str::to_owned).collect();
        for flag in ["-h", "--help"] {
            let help = help_of(&home, &words, flag);
            for repeated in ["--server URL", "<URL>", "--no-input", "--allow-http"] {
                assert!(!help.contains(repeated), "{verb} {flag}: {repeated}");
            }
            assert!(help.contains("licctl help flags"), "{verb} {flag}");
        }
    }
    assert!(home.run(&["help", "flags"]).stdout.contains("--allow-http"));
    let front = home.run(&["help"]).stdout;
    for usual in ["--server", "--output", "--quiet", "--yes", "--dry-run"] {
        assert!(front.contains(usual), "{usual}: {front}");
    }
    assert!(!front.contains("--allow-http"), "{front}");
}

/// A newcomer finds a command by what it is about.
#[test]
fn the_commands_are_listed_by_groups() {
    let front = Home::bare().run(&["help"]).stdout;
    for group in ["Licensing:", "People and keys:", "History:", "As code:", "Setup:"] {
        assert!(front.contains(&format!("\n{group}\n  ")), "{front}");
    }
    for command in commands().iter().filter(|words| words.len() == 1) {
        let line = format!("\n  {:<12} ", command[0]);
        assert_eq!(front.matches(&line).count(), 1, "{line}: {front}");
    }
}

#[test]
fn help_is_that_of_the_command_or_a_topic() {
    let home = Home::bare();
    let words = |args: &[&str]| home.run(args);
    assert_eq!(words(&["help"]).stdout, words(&["-h"]).stdout);
    assert_eq!(words(&["help", "plan", "new"]).stdout, words(&["plan", "new", "--help"]).stdout);
    assert_eq!(words(&["plans", "help"]).stdout, words(&["plans", "--help"]).stdout);
    assert_eq!(words(&["plan", "help", "new"]).stdout, words(&["plan", "new", "--help"]).stdout);
    assert!(words(&["plans", "help"]).stdout.contains("Usage: licctl plans"));
    assert_eq!(words(&["validate", "help"]).code, 4, "a user may have this id");
    assert!(TOPICS.iter().all(|topic| words(&["help"]).stdout.contains(topic)));
    let ran = words(&["help", "exit-code"]);
    assert!(ran.stderr.contains("fix: licctl help exit-codes"), "{}", ran.stderr);
    let ran = words(&["help", "plans", "creat"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("fix: licctl help plans create"), "{}", ran.stderr);
}

/// A release engineer finds all of a CI job on one page.
#[test]
fn the_ci_page_has_every_step() {
    let page = Home::bare().run(&["help", "ci"]).stdout;
    for word in [
        "LICCTL_API_KEY",
        "keys create",
        "apply -f",
        "diff -f",
        "licenses create",
        "licenses assign",
        "--expect",
        "--resume",
        "--patience",
        "--jq",
    ] {
        assert!(page.contains(word), "{word}");
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

/// The other forms of a command are no other commands.
#[test]
fn a_mistyped_command_is_suggested_once() {
    let home = Home::bare();
    for (args, tip) in [
        (&["produkts", "list"][..], "tip: a similar subcommand exists: 'products'\n"),
        (&["plans", "lst"], "tip: a similar subcommand exists: 'list'\n"),
        (&["licens"], "tip: some similar subcommands exist: 'plans', 'login', 'licenses'\n"),
    ] {
        let ran = home.run(args);
        assert!(ran.code == 2 && ran.stderr.contains(tip), "{}", ran.stderr);
    }
}

#[test]
fn a_value_that_begins_with_a_dash_gets_a_tip() {
    let home = Home::bare();
    let ran = home.run(&["plans", "create", "--name", "-dash"]);
    assert!(ran.stderr.contains("--name=-dash"), "{}", ran.stderr);
    let ran = home.run(&["plans", "create", "--max-seats", "-1"]);
    assert!(ran.stderr.contains("must be a whole number"), "{}", ran.stderr);
    let ran = home.run(&["plans", "create", "--name", "--product", "x"]);
    assert!(!ran.stderr.contains("--name=--product"), "{}", ran.stderr);
}

#[test]
fn a_missing_flag_comes_with_its_fix() {
    let ran = Home::bare().run(&["plans", "create"]);
    assert!(
        ran.stderr.contains("fix: licctl plans create --product PRODUCT --name NAME"),
        "{}",
        ran.stderr
    );
}

#[test]
fn errors_are_coloured_where_colours_are_wanted() {
    let home = Home::bare();
    let args = ["plans", "create"];
    assert!(!home.run(&args).stderr.contains('\u{1b}'));
    let ran = home.run(&[&args[..], &["--color", "always"]].concat());
    assert!(
        ran.stderr.contains("\u{1b}[31merror:\u{1b}[0m Missing option --product"),
        "{:?}",
        ran.stderr
    );
}

#[test]
fn the_version_goes_to_stdout() {
    let home = Home::bare();
    let ran = home.run(&["--version"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with(concat!("licctl ", env!("CARGO_PKG_VERSION"))));
    assert_eq!(home.run(&["version"]).stdout, ran.stdout);
    let json = home.run(&["version", "-o", "json"]).json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    if let Some(commit) = json["commit"].as_str() {
        assert!(ran.stdout.contains(commit), "{ran:?}");
    }
}
