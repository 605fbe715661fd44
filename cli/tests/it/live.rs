//! Changes in live mode on a terminal: they say where they take effect, and ask before customers feel
//! them.

use crate::support::terminal::{exit, on_a_terminal, press};
use crate::support::{Home, KEY, LICENSE, OTHER_KEY, lines, on_screen, service};

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
        (&["licenses", "suspend", LICENSE][..], "The users in 4 seats lose access."),
        (&["licenses", "expire", LICENSE], "The users in 4 seats lose access."),
        (&["licenses", "unassign", LICENSE, "alice"], "The seat becomes free."),
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
        assert!(seen.contains("At live mode"), "{seen}");
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
