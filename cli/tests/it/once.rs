//! Every write carries an idempotency key, so that a repeated request has no second effect.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{FakeServer, Home, LICENSE, Reply, service, user};

/// The idempotency keys of the requests.
fn names(server: &FakeServer) -> Vec<Option<String>> {
    let writes = server.received().into_iter().filter(|request| request.method != "GET");
    writes.map(|request| request.idempotency_key).collect()
}

#[test]
fn every_write_and_no_read_has_an_idempotency_key() {
    let server = service();
    let ran = Home::with(&server).run(&["licenses", "assign", LICENSE, "alice", "bob"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let names: HashSet<_> = names(&server).into_iter().map(Option::unwrap).collect();
    assert_eq!(names.len(), 2);
    let reads = server.received().into_iter().filter(|request| request.method == "GET");
    assert!(reads.map(|request| request.idempotency_key).all(|name| name.is_none()));
}

#[test]
fn a_lost_write_is_sent_again_with_the_same_key() {
    let asked = AtomicUsize::new(0);
    let server = FakeServer::serving(move |_, stream| {
        if asked.fetch_add(1, Ordering::Relaxed) > 0 {
            Reply::data(201, &user("alice")).send(stream);
        }
    });
    let ran = Home::with(&server).run(&["users", "create", "--external-id", "alice", "-q"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1), "{}", ran.stderr);
    let names = names(&server);
    assert_eq!(names.len(), 2);
    assert_eq!(names[0], names[1]);
}

#[test]
fn a_refused_write_is_not_sent_again() {
    let server = FakeServer::answering(|_| Reply::refusal(500, "internal", "Oh."));
    assert_eq!(Home::with(&server).run(&["users", "create", "--external-id", "a"]).code, 1);
    assert_eq!(names(&server).len(), 1);
}

#[test]
fn a_resumed_run_repeats_the_idempotency_key_of_its_report() {
    let server = service();
    let home = Home::with(&server);
    let folder = home.dir.path();
    fs::write(folder.join("users.csv"), "userId\nalice\n").unwrap();
    let args = ["licenses", "assign", "--plan", "Pro annual", "--from", "users.csv"];
    let run = |flag| {
        let args = [&args[..], &[flag, "out.jsonl"]].concat();
        home.command(&args).current_dir(folder).output().unwrap().status.code()
    };
    assert_eq!(run("--report"), Some(0));
    let made = |server: &FakeServer| {
        let all = server.received().into_iter();
        let made = all.filter(|request| request.line() == "POST /api/v1/admin/licenses");
        made.map(|request| request.idempotency_key.unwrap()).collect::<Vec<_>>()
    };
    // The report of a run that was killed before the first answer.
    let report = fs::read_to_string(folder.join("out.jsonl")).unwrap();
    let first = report.lines().next().unwrap();
    fs::write(folder.join("out.jsonl"), format!("{first}\n")).unwrap();
    assert_eq!(run("--resume"), Some(0));
    let made = made(&server);
    assert_eq!(made.len(), 2);
    assert_eq!(made[0], made[1]);
}
