//! Lists that come from stdin.

use serde_json::json;

use crate::support::{FakeServer, Home, LICENSE, Reply, answer, service};

/// Items of the command line and of stdin come in the order of the arguments.
#[test]
fn stdin_is_read_wherever_a_dash_stands() {
    let server = service();
    let home = Home::with(&server);
    let run = |args: &[&str]| home.run_with_input(&[args, &["-q"]].concat(), "alice\nbob\n").stdout;
    assert_eq!(
        run(&["licenses", "assign", LICENSE, "carol", "-", "dan"]),
        "carol\nalice\nbob\ndan\n"
    );
    assert_eq!(run(&["licenses", "unassign", LICENSE, "-", "carol"]), "alice\nbob\ncarol\n");
    assert_eq!(run(&["validate", "lee", "-"]), "lee\nalice\nbob\n");
    let create = ["licenses", "create", "--plan", "Pro annual", "--assign", "carol", "--assign"];
    run(&[&create[..], &["-"]].concat());
    let sent = |request: &crate::support::Request| request.body["userId"] == "-";
    assert!(!server.received().iter().any(sent), "no user is named -");
    let mut sent = server.received().into_iter().rev();
    let assigned: Vec<_> = sent.by_ref().take(2).map(|it| it.body["userId"].clone()).collect();
    assert_eq!(assigned, ["bob", "alice"]);
    assert_eq!(sent.next().unwrap().body["assignTo"]["userId"], "carol");
    let before = server.lines().len();
    let twice = home.run_with_input(&["validate", "-", "-"], "alice\n");
    assert_eq!((twice.code, server.lines().len()), (2, before), "{}", twice.stderr);
}

/// A pipeline without work is no failure: a nightly job finds nothing on most days.
#[test]
fn nothing_on_stdin_is_nothing_to_do() {
    let server = service();
    let home = Home::with(&server);
    for args in [
        &["licenses", "revoke", "-", "--yes"][..],
        &["licenses", "assign", LICENSE, "-"],
        &["licenses", "unassign", LICENSE, "-"],
        &["licenses", "assign", LICENSE, "--from", "-"],
        &["validate", "-"],
        &["validate", "--from", "-"],
        &["users", "import", "-"],
    ] {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr, "note: nothing to do\n", "{args:?}");
        let ran = home.run(&[args, &["-o", "json"]].concat());
        assert_eq!((ran.code, ran.json()), (0, json!([])), "{args:?}");
    }
    assert!(server.received().iter().all(|request| request.method == "GET"));
    let import = home.run_with_input(&["users", "import", "-"], "externalId,email\n");
    assert_eq!((import.code, &*import.stderr), (0, "note: nothing to do\n"));
    // These are no lists of users.
    assert_eq!(home.run_with_input(&["users", "import", "-"], "Oh no.\n").code, 2);
    let file = home.dir.path().join("empty.csv");
    std::fs::write(&file, "").unwrap();
    assert_eq!(home.run(&["users", "import", &file.display().to_string()]).code, 2);
}

/// A customer's license key stands in no shell history and no list of processes.
#[test]
fn license_keys_come_from_stdin() {
    let server = service();
    let home = Home::with(&server);
    let typed = "7kq4m 0a1b1 c2d3e 4f5g6 7j8kx\n";
    for args in [
        &["claim", "alice", "-"][..],
        &["licenses", "keys", "find"],
        &["licenses", "keys", "create", LICENSE, "--existing"],
    ] {
        let ran = home.run_with_input(args, typed);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        assert_eq!(server.received().last().unwrap().body["key"], typed.trim(), "{args:?}");
    }
    let refused = home.run_with_input(&["claim", "bob", "-"], typed);
    assert_eq!(refused.code, 6);
    assert!(refused.stderr.starts_with("error: The license key was used up.\n"), "{refused:?}");
    let before = server.received().len();
    let short = home.run_with_input(&["claim", "bob", "-"], "7kq\n");
    assert_eq!((short.code, server.received().len()), (2, before));
}

/// The license is there, and a second run would make another one.
#[test]
fn a_license_without_its_key_is_said_with_the_fix() {
    let server = FakeServer::answering(|request| match request.path.ends_with("/keys") {
        true => Reply::refusal(503, "unavailable", "The database is away"),
        false => answer(request),
    });
    let args = ["licenses", "create", "--plan", "Pro annual", "--with-key", "--patience", "0"];
    let ran = Home::with(&server).run(&args);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains(&format!("License {LICENSE} was created.")), "{ran:?}");
    assert!(ran.stderr.contains(&format!("fix: licctl licenses keys create {LICENSE}")), "{ran:?}");
}
