//! Bulk runs: all rows are checked first, a report is written, and a resumed run repeats nothing.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, LICENSE, PLAN, Reply, RunOutput, answer, assignment, license, service, user,
};

const USERS: &str = "userId,email\nalice,a@example.com\nbob,\ncarol,c@example.com\n";

/// Runs in a folder with the file `users.csv`, and returns the rows of the report `out.jsonl`.
fn run(home: &Home, args: &[&str], users: &str) -> (RunOutput, Vec<Value>) {
    let folder = home.dir.path();
    fs::write(folder.join("users.csv"), users).unwrap();
    let output = home.command(args).current_dir(folder).output().unwrap();
    let report = fs::read_to_string(folder.join("out.jsonl")).unwrap_or_default();
    let lines = report.lines().map(|line| serde_json::from_str(line).unwrap());
    (RunOutput::from(output), lines.filter(|line: &Value| line.get("state").is_some()).collect())
}

const ASSIGN: [&str; 5] = ["licenses", "assign", LICENSE, "--from", "users.csv"];

fn with(args: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    [args, more].concat()
}

/// The assigned users, sorted, as four requests at a time arrive in any order.
fn assigned(server: &FakeServer) -> Vec<String> {
    let user =
        |body: &Value| body.get("assignTo").unwrap_or(body)["userId"].as_str().map(str::to_owned);
    let received = server.received();
    let mut users: Vec<String> = received.iter().filter_map(|it| user(&it.body)).collect();
    users.sort();
    users
}

#[test]
fn every_row_gets_its_line_in_the_report() {
    let server = service();
    let home = Home::with(&server);
    let (ran, report) = run(&home, &with(&ASSIGN, &["--report", "out.jsonl"]), USERS);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    insta::assert_snapshot!(ran.stderr, @"note: 3 succeeded, 0 failed. Report: out.jsonl");
    assert_eq!(assigned(&server), ["alice", "bob", "carol"]);
    assert_eq!(report.len(), 3);
    assert!(report.iter().all(|line| line["state"] == "done" && line["answer"]["id"].is_string()));
}

#[test]
fn one_invalid_row_prevents_all_requests() {
    let server = service();
    let home = Home::with(&server);
    let users = "userId\nalice\nb,c\nalice\n";
    let (ran, report) = run(&home, &ASSIGN, users);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let [what, why, fix] = lines[..] else { panic!("{}", ran.stderr) };
    assert_eq!(what, "error: users.csv: 2 of 3 rows are invalid.");
    assert!(why.starts_with("  line 3: expected 1 field, found 2;"), "{why}");
    assert!(why.ends_with("; line 4: alice is already on line 2"), "{why}");
    assert_eq!(fix, "fix: fix the file; no row was sent");
    assert!(report.is_empty() && assigned(&server).is_empty());
}

#[test]
fn a_resumed_run_redoes_what_failed_and_nothing_else() {
    let refusals = AtomicUsize::new(0);
    let server = FakeServer::answering(move |request| {
        if request.method == "GET" {
            return answer(request);
        }
        let first =
            request.body["userId"] == "bob" && refusals.fetch_add(1, Ordering::Relaxed) == 0;
        if first { Reply::refusal(500, "internal", "Oh.") } else { Reply::data(201, &assignment()) }
    });
    let home = Home::with(&server);
    let users = "userId\nbob\nalice\ncarol\n";
    let (ran, _) = run(&home, &with(&ASSIGN, &["--report", "out.jsonl"]), users);
    assert_eq!(ran.code, 9, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stderr, @r#"
    line 2: bob: The server reported an internal error. "Oh."
    note: 2 succeeded, 1 failed. Report: out.jsonl
    note: resume with: licctl licenses assign lic_01h455vb4pex5vsknk084sn02q --from users.csv --resume out.jsonl
    "#);
    let (ran, report) = run(&home, &with(&ASSIGN, &["--resume", "out.jsonl"]), users);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(assigned(&server), ["alice", "bob", "bob", "carol"]);
    assert_eq!(report.len(), 4);
    let (_, _) = run(&home, &with(&ASSIGN, &["--resume", "out.jsonl"]), users);
    assert_eq!(assigned(&server).len(), 4, "all is done: nothing is sent");
}

#[test]
fn a_report_of_another_run_is_refused() {
    let server = service();
    let home = Home::with(&server);
    let (ran, _) = run(&home, &with(&ASSIGN, &["--report", "out.jsonl"]), USERS);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for other in [&OWN[..], &["users", "import", "users.csv"], &["validate", "--from", "users.csv"]]
    {
        let (ran, report) = run(&home, &with(other, &["--resume", "out.jsonl"]), USERS);
        assert_eq!((ran.code, ran.stdout.as_str(), report.len()), (2, "", 3), "{}", ran.stderr);
        assert!(ran.stderr.contains("is the report of another run"), "{}", ran.stderr);
    }
    assert_eq!(assigned(&server).len(), 3);
}

#[test]
fn a_report_is_never_overwritten() {
    let server = service();
    let home = Home::with(&server);
    fs::write(home.dir.path().join("out.jsonl"), "{}\n").unwrap();
    let (ran, _) = run(&home, &with(&ASSIGN, &["--report", "out.jsonl"]), USERS);
    assert_eq!(ran.code, 2);
    insta::assert_snapshot!(ran.stderr, @"
    error: The report out.jsonl already exists.
    fix: continue that run with --resume out.jsonl, or choose another --report
    ");
    assert!(assigned(&server).is_empty());
}

/// A run whose requests can be repeated without harm needs no report.
#[test]
fn a_check_leaves_no_report() {
    let server = service();
    let home = Home::with(&server);
    let (ran, _) = run(&home, &["validate", "--from", "users.csv"], "userId\nalice\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stderr, @"note: 1 succeeded, 0 failed.");
    let (ran, _) = run(&home, &ASSIGN, "userId\nalice\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let names = fs::read_dir(home.dir.path()).unwrap().map(|it| it.unwrap().file_name());
    let reports = names.filter(|name| name.to_string_lossy().starts_with("licctl-report-"));
    assert_eq!(reports.count(), 1, "only that of the assignments");
}

#[test]
fn a_pause_that_the_server_requires_is_kept() {
    for (status, code) in [(429, "rate_limited"), (503, "overloaded")] {
        let asked = AtomicUsize::new(0);
        let server = FakeServer::answering(move |request| {
            if request.method == "GET" {
                return answer(request);
            }
            match asked.fetch_add(1, Ordering::Relaxed) {
                1 => Reply::refusal(status, code, "Later.").with("retry-after", "1"),
                _ => Reply::data(201, &assignment()),
            }
        });
        let home = Home::with(&server);
        let (ran, report) = run(&home, &with(&ASSIGN, &["--report", "out.jsonl"]), USERS);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(ran.stderr, "note: 3 succeeded, 0 failed. Report: out.jsonl\n");
        assert_eq!((report.len(), assigned(&server).len()), (3, 4));
    }
}

const OWN: [&str; 6] = ["licenses", "assign", "--plan", "Pro annual", "--from", "users.csv"];

/// The service has forgotten the keys of an old run, so that a row could have a second license.
#[test]
fn an_old_run_that_gives_another_license_is_not_resumed() {
    let server = service();
    let home = Home::with(&server);
    let head = |run: &str| {
        let id = "018f0000-0000-7000-8000-000000000000";
        fs::write(home.dir.path().join("out.jsonl"), json!({ "run": run, "id": id }).to_string())
            .unwrap();
    };
    head(&format!("licenses assign --plan {PLAN} --another"));
    let (ran, _) = run(&home, &with(&OWN, &["--another", "--resume", "out.jsonl"]), USERS);
    assert_eq!(ran.code, 2);
    insta::assert_snapshot!(ran.stderr, @r"
    error: out.jsonl is more than a week old.
      The service no longer knows which of its other rows were done.
    fix: check these users, and start a new run with those who need a license
    ");
    assert!(assigned(&server).is_empty());
    head(&format!("licenses assign --plan {PLAN}"));
    let (ran, _) = run(&home, &with(&OWN, &["--resume", "out.jsonl"]), USERS);
    assert_eq!((ran.code, assigned(&server).len()), (0, 3), "{}", ran.stderr);
}

/// A second run over the same file gives no user a second license, unless a flag asks for it.
#[test]
fn who_has_a_license_of_the_plan_is_skipped() {
    let server = FakeServer::answering(|request| match &request.body["assignTo"]["userId"] {
        user if user == "alice" => Reply::data(200, &license("active")),
        _ => answer(request),
    });
    let home = Home::with(&server);
    let (ran, report) = run(&home, &with(&OWN, &["--report", "out.jsonl"]), USERS);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    insta::assert_snapshot!(ran.stderr, @r"
    note: 2 succeeded, 1 skipped, 0 failed. Report: out.jsonl
    note: the skipped user has a license of the plan already; --another gives one more
    ");
    let skipped = report.iter().find(|line| line["state"] == "skipped").unwrap();
    assert_eq!(
        (&skipped["userId"], &skipped["answer"]["licenseId"]),
        (&json!("alice"), &json!(LICENSE))
    );
    let asks = |it: &Value| it["unlessHeld"] == true;
    assert_eq!(assigned(&server), ["alice", "bob", "carol"]);
    assert!(server.received().iter().filter(|it| it.method == "POST").all(|it| asks(&it.body)));
    let (ran, _) = run(&home, &with(&OWN, &["--another", "--report", "second.jsonl"]), USERS);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(server.received().iter().filter(|it| asks(&it.body)).count(), 3);
}

#[test]
fn many_rows_need_a_confirmation() {
    let server = service();
    let home = Home::with(&server);
    let users = format!("userId\n{}", (0..26).map(|n| format!("u{n}\n")).collect::<String>());
    let (ran, _) = run(&home, &ASSIGN, &users);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("Assign the license to 26 users?"), "{}", ran.stderr);
    assert!(assigned(&server).is_empty());
}

#[test]
fn users_are_imported_with_all_columns() {
    let server = FakeServer::answering(|request| match request.method.as_str() {
        "GET" => Reply::list(&[]),
        _ => Reply::data(201, &user("alice")),
    });
    let home = Home::with(&server);
    let users = "login,E-Mail,metadata.team\nalice,a@example.com,blue\n";
    let args = ["users", "import", "users.csv", "--map", "userId=login", "--report", "out.jsonl"];
    let (ran, _) = run(&home, &args, users);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let body = server.received().pop().unwrap().body;
    let wanted = serde_json::json!({
        "externalId": "alice", "email": "a@example.com", "mergeMetadata": { "team": "blue" },
    });
    assert_eq!(body, wanted);
}

#[test]
fn validating_a_file_shows_every_answer() {
    let server = service();
    let home = Home::with(&server);
    let args = ["validate", "--from", "users.csv", "--report", "out.jsonl"];
    let (ran, _) = run(&home, &args, "userId\nalice\nbob\n");
    assert_eq!(ran.code, 10);
    insta::assert_snapshot!(ran.stdout, @"
    USER   ANSWER     REASON      LICENSE                         FEATURES
    alice  VALID                  lic_01h455vb4pex5vsknk084sn02q  export,sso
    bob    not valid  no_license
    ");
    let (again, _) =
        run(&home, &with(&args[..3], &["--resume", "out.jsonl"]), "userId\nalice\nbob\n");
    assert_eq!((again.code, again.stdout), (10, ran.stdout), "earlier responses count");
}

#[test]
fn a_report_without_a_file_of_rows_is_refused() {
    let server = service();
    let home = Home::with(&server);
    for args in [
        &["licenses", "assign", LICENSE, "alice", "--report", "out.jsonl"][..],
        &["validate", "alice", "--resume", "out.jsonl"],
    ] {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("requires --from FILE"), "{}", ran.stderr);
    }
    assert!(server.received().is_empty());
}

#[test]
fn a_run_that_is_not_begun_leaves_no_report() {
    let server = service();
    let home = Home::with(&server);
    let users: String = (0..30).map(|n| format!("user-{n}\n")).collect();
    let (ran, _) =
        run(&home, &with(&ASSIGN, &["--report", "out.jsonl"]), &format!("userId\n{users}"));
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(!home.dir.path().join("out.jsonl").exists());
}

/// A run that ends before its first row is done says how to continue, if there is something to.
#[test]
fn an_error_at_the_first_row_is_that_of_the_run() {
    for (status, code, report) in [(401, 4, false), (500, 9, true)] {
        let server = FakeServer::answering(move |request| match request.method.as_str() {
            "GET" => answer(request),
            _ => Reply::refusal(status, "some", "No."),
        });
        let home = Home::with(&server);
        let (ran, _) = run(&home, &with(&ASSIGN, &["--report", "out.jsonl"]), USERS);
        assert_eq!((ran.code, ran.stdout.matches("alice").count()), (code, usize::from(report)));
        assert_eq!(home.dir.path().join("out.jsonl").exists(), report, "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("--resume out.jsonl"), report, "{}", ran.stderr);
    }
}

#[test]
fn a_mapped_column_must_exist() {
    let server = service();
    let home = Home::with(&server);
    let args = ["users", "import", "users.csv", "--map", "email=e-mail"];
    let (ran, _) = run(&home, &args, USERS);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("Unknown column e-mail."), "{}", ran.stderr);
    assert!(ran.stderr.contains("Columns: email, userId"), "{}", ran.stderr);
    assert!(server.received().is_empty());
}

#[test]
fn a_dry_run_of_a_file_writes_no_report() {
    let server = service();
    let home = Home::with(&server);
    let (ran, report) = run(&home, &with(&ASSIGN, &["-n", "--report", "out.jsonl"]), USERS);
    assert_eq!((ran.code, ran.stdout.matches("POST ").count()), (0, 3));
    assert!(report.is_empty() && assigned(&server).is_empty());
}

#[cfg(unix)]
#[test]
fn a_signal_finishes_the_rows_in_flight_and_names_the_command_that_continues() {
    for signal in ["-INT", "-TERM"] {
        stops_after_the_rows_in_flight(signal);
    }
}

#[cfg(unix)]
fn stops_after_the_rows_in_flight(signal: &str) {
    use std::io::{BufRead, BufReader};
    use std::process::Command;

    // The server responds to assignments only after the signal was noticed, because the channel is
    // closed then.
    let (open, wait) = std::sync::mpsc::channel::<()>();
    let (told, begun) = std::sync::mpsc::channel();
    let server = FakeServer::answering(move |request| {
        if request.method == "GET" {
            return answer(request);
        }
        told.send(()).unwrap();
        let _ = wait.recv();
        Reply::data(201, &assignment())
    });
    let home = Home::with(&server);
    let users = format!("userId\n{}", (0..20).map(|n| format!("u{n}\n")).collect::<String>());
    fs::write(home.dir.path().join("users.csv"), users).unwrap();
    let mut command = home.command(&with(&ASSIGN, &["--report", "out.jsonl"]));
    let mut child = command.current_dir(home.dir.path()).spawn().unwrap();
    begun.recv_timeout(Duration::from_secs(60)).unwrap();
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("finishing the requests in flight"), "{line}");
    drop(open);
    let rest: Vec<String> = stderr.lines().map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    insta::allow_duplicates! { insta::assert_snapshot!(rest.join("\n"), @"
    note: 4 succeeded, 0 failed, 16 not tried. Report: out.jsonl
    note: resume with: licctl licenses assign lic_01h455vb4pex5vsknk084sn02q --from users.csv --resume out.jsonl
    error: Interrupted. Requests in flight were completed.
    ") };
    let report = fs::read_to_string(home.dir.path().join("out.jsonl")).unwrap();
    assert_eq!((report.lines().count(), assigned(&server).len()), (1 + 4, 4));
}
