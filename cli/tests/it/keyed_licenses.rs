//! Licenses that are created with keys. A key is shown once, so none may be lost: each is printed
//! before the next license is created.

use std::io::{BufRead, BufReader, Write};

use serde_json::Value;

use crate::support::{FakeServer, Home, LICENSE, Reply, answer, service};

const CREATE: [&str; 6] = ["licenses", "create", "--plan", "Pro annual", "--yes", "--with-key"];

/// The number of requests to this address, by its end.
fn posts(server: &FakeServer, end: &str) -> usize {
    let received = server.received().into_iter();
    received.filter(|it| it.method == "POST" && it.path.ends_with(end)).count()
}

#[test]
fn a_key_that_cannot_be_printed_is_the_last_one() {
    for format in ["table", "json", "jsonl", "csv", "ids"] {
        let server = service();
        let args = [&CREATE[..], &["--count", "300", "-o", format]].concat();
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = Home::with(&server).command(&args).stdout(full).output().unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert_ne!(ran.status.code(), Some(0), "{format}: {told}");
        assert!(posts(&server, "/licenses") <= 1, "{format}: {told}");
    }
}

/// `| head -3`
#[test]
fn no_key_is_made_for_a_reader_that_is_gone() {
    let server = service();
    let args = [&CREATE[..], &["--count", "300", "-o", "csv"]].concat();
    let mut child = Home::with(&server).command(&args).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        lines.next().unwrap().unwrap();
    }
    drop(lines);
    let ran = child.wait_with_output().unwrap();
    let told = String::from_utf8(ran.stderr).unwrap();
    assert_ne!(ran.status.code(), Some(0), "{told}");
    assert!(posts(&server, "/licenses") < 300, "{told}");
}

#[test]
fn each_key_is_printed_before_the_next_license_is_created() {
    for format in ["table", "json", "jsonl", "csv", "ids"] {
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let wait = std::sync::Mutex::new((wait, 0));
        let server = FakeServer::answering(move |request| {
            if request.method == "POST" && request.path.ends_with("/licenses") {
                let mut wait = wait.lock().unwrap();
                wait.1 += 1;
                if wait.1 > 1 {
                    wait.0.recv().unwrap();
                }
            }
            answer(request)
        });
        let args = [&CREATE[..], &["--count", "2", "-o", format]].concat();
        let mut child = Home::with(&server).command(&args).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        while !printed.contains("7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX") {
            assert_ne!(output.read_line(&mut printed).unwrap(), 0, "{format}: {printed}");
        }
        go_on.send(()).unwrap();
        for line in output.lines() {
            printed += &(line.unwrap() + "\n");
        }
        assert!(child.wait().unwrap().success());
        assert_eq!(printed.matches("7KQ4M-").count(), 2, "{format}: {printed}");
        if format == "json" {
            let records: Vec<Value> = serde_json::from_str(&printed).unwrap();
            assert_eq!(records.len(), 2);
            assert_eq!(records[1]["id"], LICENSE);
        }
    }
}

/// The output has what was sent, so that a shop finds its orders.
#[test]
fn the_output_has_the_name() {
    for more in [&[][..], &["--with-key"]] {
        let server = service();
        let create = ["licenses", "create", "--plan", "Pro annual", "--name", "Order 1"];
        let args = [&create[..], &["--metadata", "shop=eu", "-o"], more].concat();
        let run = |format: &str| {
            let mut args = args.clone();
            args.insert(9, format);
            Home::with(&server).run(&args)
        };
        let csv = run("csv");
        assert!(csv.stdout.contains(",Order 1"), "{csv:?}");
        let record = &run("json").json()[0];
        assert_eq!(record["name"], "Order 1");
        assert_eq!(record["metadata"]["shop"], "eu");
    }
}

#[test]
fn existing_keys_are_imported_each_with_a_license() {
    let server = service();
    let home = Home::with(&server);
    let import = ["licenses", "create", "--plan", "Pro annual", "--keys-from", "-", "-q"];
    let ran = home.run_with_input(&import, "GUM-1111-2222-3333\n\nGUM-4444-5555-6666\r\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let received = server.received().into_iter();
    let keys = received.filter(|it| it.path.ends_with("/keys")).map(|it| it.body["key"].clone());
    assert_eq!(keys.collect::<Vec<_>>(), ["GUM-1111-2222-3333", "GUM-4444-5555-6666"]);
    assert_eq!(posts(&server, "/licenses"), 2);

    for (wrong, why) in [
        ("GUM-1111-2222-3333\ngum 1111 2222 3333\n", "Line 2: this key is in the file twice"),
        ("GUM-1111-2222-3333\nGUM\n", "Line 2: the key must"),
    ] {
        let ran = home.run_with_input(&import, wrong);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(why), "{ran:?}");
    }
    assert_eq!(posts(&server, "/licenses"), 2, "nothing was sent");
}

/// Another license has the key already, so the new one would be left without any.
#[test]
fn a_license_whose_key_is_refused_is_deleted_again() {
    let server = FakeServer::answering(|request| match request.path.ends_with("/keys") {
        true => Reply::refusal(409, "conflict", "Another license has this key"),
        false => answer(request),
    });
    let home = Home::with(&server);
    let import = ["licenses", "create", "--plan", "Pro annual", "--keys-from", "-"];
    let ran = home.run_with_input(&import, "GUM-1111-2222-3333\nGUM-4444-5555-6666\n");
    assert_eq!(ran.code, 6, "{ran:?}");
    let deleted = server.received().into_iter().filter(|it| it.method == "DELETE").count();
    assert_eq!((posts(&server, "/licenses"), deleted), (1, 1));
}

/// A prompt, `xargs` and a pipe pass one key each.
#[test]
fn several_lines_are_not_one_key() {
    let server = service();
    let home = Home::with(&server);
    for args in [
        &["claim", "alice", "-"][..],
        &["licenses", "keys", "find"],
        &["licenses", "keys", "create", LICENSE, "--existing"],
        &["keys", "revoke", "-", "--yes"],
    ] {
        for input in ["GUM-1111-2222-3333\nGUM-4444-5555-6666\n", "key\nGUM-1111-2222-3333\n"] {
            let before = server.received().iter().filter(|it| it.method != "GET").count();
            let mut child = home.command(args).spawn().unwrap();
            let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
            let ran = child.wait_with_output().unwrap();
            let told = String::from_utf8(ran.stderr).unwrap();
            assert_eq!(ran.status.code(), Some(2), "{args:?}: {told}");
            assert!(told.contains("Expected one line on stdin, and got 2."), "{args:?}: {told}");
            let after = server.received().iter().filter(|it| it.method != "GET").count();
            assert_eq!(before, after);
        }
    }
}
