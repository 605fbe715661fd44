//! Writes whose responses are lost: the advice to a person, and the requests that licctl repeats.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::patience::{created, error, with_writes, writes};
use crate::support::{FakeServer, Home, LICENSE, Reply, answer};

/// A write whose answer did not come may have been done.
#[test]
fn a_write_without_an_answer_says_that_it_may_have_been_done() {
    let kept = std::sync::Mutex::new(Vec::new());
    let server = FakeServer::serving(move |request, stream| match request.method.as_str() {
        "GET" => answer(request).send(stream),
        _ => kept.lock().unwrap().push(stream),
    });
    let home = Home::with(&server);
    let create = ["licenses", "create", "--plan", "Pro annual", "--timeout", "1s"];
    let ran = home.run(&create);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, ""));
    insta::assert_snapshot!(ran.seen(&server, &home), @"
    error: http://SERVER did not respond within 1 s.
      The license may have been created anyway.
    fix: check with licctl licenses list before you retry; or raise --timeout to 4s
    http://SERVER
    [exit 7]
    ");
    let ran = home.run(&["licenses", "unassign", LICENSE, "alice", "--timeout", "1s"]);
    assert!(ran.stderr.contains("fix: run the command again; that is safe"), "{}", ran.stderr);
}

/// The answers of writes are lost on the way; licd, asked again, says that it was done before.
fn forgetful() -> FakeServer {
    let written = AtomicUsize::new(0);
    FakeServer::serving(move |request, stream| match request.method.as_str() {
        "GET" => answer(request).send(stream),
        _ if written.fetch_add(1, Ordering::Relaxed) == 0 => drop(stream),
        _ => Reply::refusal(409, "conflict", "This was done before").send(stream),
    })
}

/// Running a command again has a second effect unless the effect is that of once.
#[test]
fn the_advice_after_a_lost_answer_is_true_for_the_command() {
    const SAFE: &str = "run the command again; that is safe";
    for (args, reason, fix) in [
        (
            &["keys", "roll", "ci"][..],
            "Key ci may have been rolled, and the new secret is lost.",
            "run licctl keys list, and revoke the newest ci before you retry",
        ),
        (
            &["keys", "create", "--name", "K", "--role", "read"],
            "Key K may have been created, and the new secret is lost.",
            "run licctl keys list, and revoke the newest K before you retry",
        ),
        (
            &["licenses", "create", "--plan", "Pro annual"],
            "The license may have been created anyway.",
            "check with licctl licenses list before you retry",
        ),
        (
            &["licenses", "create", "--plan", "Pro annual", "--idempotency-key", "order-7"],
            "The license may have been created anyway.",
            "run the command again with the same --idempotency-key; that is safe",
        ),
        (
            &["products", "create", "--name", "P"],
            "The product may have been created anyway.",
            "check with licctl products list before you retry",
        ),
        (&["keys", "revoke", "ci", "--yes"], "The change may have been made anyway.", SAFE),
        (&["validate", "alice"], "The change may have been made anyway.", SAFE),
        (&["signing-keys", "create"], "The change may have been made anyway.", SAFE),
        (
            &["users", "update", "alice", "--name", "A"],
            "The change may have been made anyway.",
            SAFE,
        ),
        (
            &["api", "-X", "POST", "admin/some/thing"],
            "The change may have been made anyway.",
            "check before you retry",
        ),
    ] {
        let ran = Home::with(&forgetful()).run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (7, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("\n  {reason}\nfix: {fix}\n")), "{}", ran.stderr);
    }
}

/// The license is there, with its first user. The whole command again would create a second one.
#[test]
fn an_assignment_whose_answer_is_lost_is_repeated_alone() {
    let at = AtomicUsize::new(0);
    let server = FakeServer::serving(move |request, stream| match request.method.as_str() {
        "GET" => answer(request).send(stream),
        _ => match at.fetch_add(1, Ordering::Relaxed) {
            0 => created(1).send(stream),
            1 => drop(stream),
            _ => Reply::refusal(409, "conflict", "No.").send(stream),
        },
    });
    let create = ["licenses", "create", "--plan", "Pro annual", "--assign", "bob"];
    let ran =
        Home::with(&server).run(&[&create[..], &["--assign", "alice", "-o", "json"]].concat());
    assert_eq!(ran.code, 9, "{}", ran.stderr);
    let assign = "licctl licenses assign lic_01h455vb4pex5vsknk084sn01q alice";
    assert_eq!(error(&ran)["errors"][0]["hint"], assign);
}

#[test]
fn a_given_idempotency_key_is_sent() {
    let server = with_writes(|at, _| created(at));
    let home = Home::with(&server);
    home.run(&["licenses", "create", "--plan", "Pro annual", "--idempotency-key", "order-7"]);
    let three = ["--count", "3", "--idempotency-key", "o"];
    home.run(&[&["licenses", "create", "--plan", "Pro annual"], &three[..]].concat());
    let key = ["keys", "create", "--name", "K", "--role", "read", "--idempotency-key", "k"];
    home.run(&key);
    let keys: Vec<_> = writes(&server).into_iter().map(|it| it.idempotency_key.unwrap()).collect();
    assert_eq!(keys, ["order-7", "o", "o-2", "o-3", "k"]);
    for wrong in ["", "a b", "ä"] {
        let ran =
            home.run(&["licenses", "create", "--plan", "Pro annual", "--idempotency-key", wrong]);
        assert_eq!(ran.code, 2, "{wrong:?}: {}", ran.stderr);
    }
}
