//! Changes in live mode on a terminal: they say where they take effect, and ask before customers feel
//! them.

use crate::support::terminal::{exit, on_a_terminal, press};
use crate::support::{
    FakeServer, Home, KEY, LICENSE, OTHER_KEY, Reply, answer, lines, on_screen, service,
};

#[test]
fn a_write_says_where_it_takes_effect() {
    let server = service();
    let write = ["users", "create", "--external-id", "alice"];
    let place = format!("live · {} · LICCTL_API_KEY\n", server.address);
    for args in [&write[..], &["plans", "update", "Pro annual", "--max-seats", "3"]] {
        let said = on_screen(&Home::with(&server), args, 100).stderr;
        assert!(said.starts_with(&place), "{args:?}: {said}");
        assert_eq!(said.matches("live ·").count(), 1, "{args:?}: {said}");
    }
    let said = |args: &[&str], key| {
        let home = Home::bare().set("LICCTL_SERVER", &server.address).set("LICCTL_API_KEY", key);
        on_screen(&home, args, 100).stderr.contains(" · ")
    };
    assert!(!said(&write, OTHER_KEY), "test mode");
    assert!(!said(&["users", "list"], KEY), "a read");
    assert!(!said(&[&write[..], &["--dry-run"]].concat(), KEY), "nothing is sent");
    // A log does not need it.
    assert_eq!(Home::with(&server).run(&write).stderr, "");
}

/// The tag of a record that was changed last on 31 January 2026 at noon.
const TAG: &str = "\"1769860800000\"";

/// Scripts go ahead; only a person is asked.
#[test]
fn what_customers_feel_is_asked_about_in_live_mode() {
    let server = service();
    let machine = |key| {
        let home = Home::bare().set("LICCTL_SERVER", &server.address).set("LICCTL_API_KEY", key);
        lines::lay_out(home.dir.path());
        home
    };
    let file = |home: &Home| home.dir.path().join("catalog.yaml").display().to_string();
    let writes = || server.lines().iter().filter(|line| !line.starts_with("GET")).count();
    for (args, question) in [
        (&["licenses", "suspend", LICENSE][..], "4 users in seats will lose access."),
        (&["licenses", "expire", LICENSE], "4 users in seats will lose access."),
        (&["licenses", "unassign", LICENSE, "alice"], "and free the seat?"),
        (&["apply", "-f", "FILE"], "~ plan Acme Studio"),
    ] {
        let args = |home: &Home| {
            args.iter().map(|word| word.replace("FILE", &file(home))).collect::<Vec<_>>()
        };
        let run = |key| {
            let home = machine(key);
            let args = args(&home);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            (on_a_terminal(&home, &args), home)
        };
        let before = writes();
        let (mut terminal, _home) = run(KEY);
        let seen = terminal.exp_string(question).unwrap();
        let seen = seen + &terminal.exp_string("[y/n]").unwrap();
        assert!(seen.contains("Target: live mode"), "{seen}");
        press(&mut terminal, "n\r");
        terminal.exp_eof().unwrap();
        assert_eq!((exit(&terminal), writes()), (130, before), "{question}");
        let (mut terminal, _home) = run(OTHER_KEY);
        let seen = terminal.exp_eof().unwrap();
        assert_eq!((exit(&terminal), seen.contains(question)), (0, question.starts_with('~')));
        let home = machine(KEY);
        let args = args(&home);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        assert_eq!(home.run(&args).code, 0, "{question}");
        assert!(writes() >= before + 2, "{question}");
    }
}

/// A decision of a person is based on the record as it was shown.
#[test]
fn an_edit_of_a_record_that_was_changed_in_the_meantime_is_refused() {
    let edit = |now: &'static str| {
        let server = FakeServer::answering(move |request| match request.method.as_str() {
            "PATCH" if request.if_match.as_deref() != Some(now) => {
                Reply::refusal(409, "changed", "The plan has changed.")
            }
            _ => answer(request),
        });
        let home = Home::with(&server);
        lines::lay_out(home.dir.path());
        let mut terminal =
            on_a_terminal(&home, &["plans", "update", "Pro annual", "--max-seats", "3"]);
        let seen = terminal.exp_eof().unwrap();
        let file = home.dir.path().join("catalog.yaml").display().to_string();
        let applied = home.run(&["apply", "-f", &file]);
        assert_eq!(exit(&terminal), if applied.code == 9 { 6 } else { applied.code }, "{seen}");
        (applied.code, seen.contains("was changed in the meantime"))
    };
    assert_eq!(edit(TAG), (0, false));
    assert_eq!(edit("\"1769947200000\""), (6, true));
}

/// A person edits the user who was found.
#[test]
fn an_edit_of_a_user_is_based_on_what_was_found() {
    let server = service();
    let home = Home::with(&server);
    let update = ["users", "update", "alice", "--name", "Al"];
    let last_tag = || server.received().pop().unwrap().if_match;
    let mut terminal = on_a_terminal(&home, &update);
    terminal.exp_eof().unwrap();
    assert_eq!((exit(&terminal), last_tag().as_deref()), (0, Some(TAG)));
    assert_eq!((home.run(&update).code, last_tag()), (0, None), "a script has seen nothing");
}
