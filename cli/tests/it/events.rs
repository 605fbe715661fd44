//! `licctl events`: which part of a long list is read, and how changes are followed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::TimeDelta;
use common::Timestamp;
use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, LICENSE, Reply, Request, RunOutput, event, on_screen, service,
};

/// The value of a parameter of the query.
fn parameter<T: FromStr>(request: &Request, name: &str) -> Option<T> {
    let (_, query) = request.path.split_once('?')?;
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).next()?;
    value.replace("%3A", ":").parse().ok()
}

/// The event of this number.
fn numbered(number: usize) -> Value {
    let object = json!({ "maxSeats": number + 1 });
    let mut event = event(number as i64, "plan.updated", &object, &json!({ "maxSeats": number }));
    event["id"] = json!("evt_01h455vb4pex5vsknk084sn02q");
    event
}

/// A service with a hundred thousand events, a minute apart, the last of them happening now.
fn long_history() -> FakeServer {
    const LAST: usize = 100_000;
    let begun = Timestamp::now().plus(TimeDelta::minutes(-(LAST as i64)));
    FakeServer::answering(move |request| {
        let at = |number: usize| begun.plus(TimeDelta::minutes(number as i64));
        let [from, to] = ["from", "to"].map(|name| parameter::<Timestamp>(request, name));
        let is_asked = |number: &usize| {
            from.is_none_or(|from| at(*number) >= from) && to.is_none_or(|to| at(*number) < to)
        };
        let limit: usize = parameter(request, "limit").unwrap();
        let after: Option<usize> = parameter(request, "after");
        let numbers: Vec<usize> = match request.path.contains("order=newest") {
            true => (1..after.unwrap_or(LAST + 1)).rev().filter(is_asked).take(limit + 1).collect(),
            false => (after.unwrap() + 1..=LAST).filter(is_asked).take(limit + 1).collect(),
        };
        let shown = &numbers[..numbers.len().min(limit)];
        let cursor = shown.last().filter(|_| numbers.len() > limit).map(usize::to_string);
        let event = |&number: &usize| {
            let mut event = numbered(number);
            event["time"] = json!(at(number));
            event
        };
        let events: Vec<Value> = shown.iter().map(event).collect();
        let body = json!({ "success": true, "data": events, "nextCursor": cursor });
        Reply::new(200, body.to_string())
    })
}

/// The numbers of the events that a line prints.
fn sequences(home: &Home, args: &[&str]) -> Vec<i64> {
    let ran = home.run(&[&["events", "list", "-o", "json"], args].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.json().as_array().unwrap().iter().map(|it| it["sequence"].as_i64().unwrap()).collect()
}

#[test]
fn the_last_events_of_a_long_history_take_a_request_for_each_page() {
    let server = long_history();
    let home = Home::with(&server);
    let shown = |args: &[&str]| {
        let before = server.received().len();
        let sequences = sequences(&home, args);
        let requests = server.received().len() - before;
        assert!(requests <= 1 + sequences.len() / 1000, "{args:?}: {requests} requests");
        assert!(sequences.is_sorted(), "{sequences:?}");
        (sequences.first().copied(), sequences.last().copied(), sequences.len())
    };
    let last = Some(100_000);
    assert_eq!(shown(&[]), (Some(99_951), last, 50));
    assert_eq!(shown(&["--limit", "1"]), (last, last, 1));
    assert_eq!(shown(&["--after", "99998"]), (Some(99_999), last, 2));
    // More than a page holds, and what came before a time.
    assert_eq!(shown(&["--limit", "2500"]), (Some(97_501), last, 2500));
    let (first, newest, number) = shown(&["--since", "2h", "--until", "1h"]);
    assert!((99_879..=99_882).contains(&first.unwrap()), "{first:?}");
    assert!((59..=61).contains(&number) && newest.unwrap() < 99_942, "{newest:?}");
    let (_, newest, number) = shown(&["--until", "60d", "--limit", "1200"]);
    assert!((13_598..=13_601).contains(&newest.unwrap()) && number == 1200, "{newest:?}");
    let first_two = "/api/v1/admin/events?limit=2&after=7";
    assert_eq!(shown(&["--after", "7", "--limit", "2"]), (Some(8), Some(9), 2));
    assert!(server.lines().last().unwrap().ends_with(first_two), "no more is read");
    let none = sequences(&home, &["--after", "100000", "--type", "plan.updated"]);
    assert_eq!(none, [] as [i64; 0]);
    // The clock goes on between the making of the events and the run.
    let (first, newest, _) = shown(&["--since", "2h"]);
    assert!((99_879..=99_882).contains(&first.unwrap()) && newest == last, "{first:?}");
    assert_eq!(shown(&["--since", "2h", "--limit", "3"]).2, 3);
}

#[test]
fn the_service_applies_the_filters() {
    let server = service();
    let filters = ["--type", "seat.taken", "--subject", LICENSE, "--user", "a b"];
    Home::with(&server).run(&[&["events", "list"], &filters[..]].concat());
    let query = format!("?type=seat.taken&subject={LICENSE}&userId=a%20b&order=newest&limit=50");
    assert!(server.lines()[0].contains(&query), "{:?}", server.lines());
    let home = Home::with(&server);
    let listed = on_screen(&home, &["events", "list", "--subject", LICENSE, "--user", "a b"], 100);
    let next = format!("Next: licctl events tail --after 3 --subject {LICENSE} --user \"a b\"");
    assert!(listed.stderr.contains(&next), "{}", listed.stderr);
    let ran = home.run(&["events", "tail", "--type", "license.revoked"]);
    assert_eq!(ran.code, 2, "a type that does not exist would never come: {}", ran.stderr);
    let ran = home.run(&["events", "list", "--type", "seat.take"]);
    assert!(ran.stderr.contains("a similar value exists: 'seat.taken'"), "{}", ran.stderr);
    assert!(ran.stderr.contains("license.status_changed"), "{}", ran.stderr);
}

#[test]
fn an_empty_history_suggests_a_command() {
    let server = FakeServer::answering(|_| Reply::list(&[]));
    let ran = Home::with(&server).run(&["events", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("licctl events tail"), "{}", ran.stderr);
    assert_eq!(server.lines().len(), 1);
}

fn tail(server: &FakeServer, args: &[&str]) -> RunOutput {
    Home::with(server).run(&[&["events", "tail"], args].concat())
}

#[test]
fn tail_prints_a_line_for_each_event_until_the_wanted_one() {
    let until = ["--after", "1", "--until-type", "license.status_changed"];
    let ran = tail(&service(), &[&until[..], &["-o", "jsonl"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|it| &it["sequence"]).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(tail(&service(), &[&until[..], &["--jq", ".sequence"]].concat()).stdout, "2\n3\n");
    let ran = tail(&service(), &[&until[..], &["-o", "csv", "-c", "sequence,by"]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "sequence,actorName\n2,ops\n3,ops\n"));
    let ran = tail(&service(), &[&until[..], &["-c", "subject,type"]].concat());
    let (header, rest) = ran.stdout.split_once('\n').unwrap();
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["SUBJECT", "TYPE"]);
    assert!(rest.starts_with("lic_01h455vb4pex5vsknk084sn02q  license.updated\n"), "{rest}");
}

/// A broken line cannot be read.
#[test]
fn tail_is_as_wide_as_the_terminal() {
    let server = service();
    let home = Home::with(&server);
    let args = ["events", "tail", "--after", "0", "--until-type", "license.status_changed"];
    for (columns, titles) in [
        (40, &["TIME", "TYPE", "WHAT", "CHANGED"][..]),
        (80, &["TIME", "TYPE", "WHAT", "CHANGED"]),
        (104, &["TIME", "TYPE", "SUBJECT", "WHAT", "CHANGED"]),
        (200, &["TIME", "TYPE", "SUBJECT", "BY", "WHAT", "CHANGED"]),
    ] {
        let ran = on_screen(&home, &args, columns);
        assert_eq!(ran.stdout.lines().count(), 4, "{}", ran.stdout);
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= columns), "{}", ran.stdout);
        let header: Vec<&str> = ran.stdout.lines().next().unwrap().split_whitespace().collect();
        if columns > 40 {
            assert_eq!(header, titles, "{columns}");
        }
    }
}

#[test]
fn tail_ends_with_10_when_the_wanted_event_does_not_come_in_time() {
    let server = service();
    let bound = ["--after", "3", "--for", "1s"];
    assert_eq!(tail(&server, &[&bound[..], &["--until-type", "user.deleted"]].concat()).code, 10);
    assert_eq!(tail(&server, &bound).code, 0, "nothing in particular was waited for");
    let contradiction = ["--type", "seat.freed", "--until", "seat.taken"];
    assert_eq!(tail(&server, &contradiction).code, 2);
}

/// Each request after the first two is refused once before it succeeds.
#[test]
fn tail_waits_for_a_server_that_restarts_and_repeats_nothing() {
    let asked = AtomicUsize::new(0);
    let server = FakeServer::answering(move |request| {
        let after: usize = parameter(request, "after").unwrap();
        match asked.fetch_add(1, Ordering::SeqCst) {
            1 => Reply::refusal(503, "unavailable", "Later.").with("retry-after", "1"),
            2 => Reply::new(502, "<html>"),
            _ => {
                let body = json!({ "success": true, "data": [numbered(after + 1)],
                    "nextCursor": (after + 1).to_string() });
                let last = Reply::list(&[event(9, "user.deleted", &json!({}), &Value::Null)]);
                if after < 3 { Reply::new(200, body.to_string()) } else { last }
            }
        }
    });
    // Without patience, each refusal reaches the command, which waits by itself.
    let wanted = ["--after", "0", "--until-type", "user.deleted", "--jq", ".sequence"];
    let ran = tail(&server, &[&wanted[..], &["--patience", "0"]].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n2\n3\n9\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Waiting."), "{}", ran.stderr);
    assert!(ran.stderr.contains("the server is back"), "{}", ran.stderr);
}

#[test]
fn tail_does_not_wait_for_a_server_that_never_answered() {
    let server = FakeServer::answering(|_| Reply::new(502, "<html>"));
    for args in [&["--after", "0"][..], &[]] {
        assert_eq!(tail(&server, args).code, 7, "{args:?}");
    }
    let server = FakeServer::answering(|_| Reply::refusal(403, "forbidden", "No."));
    assert_eq!(tail(&server, &["--after", "0"]).code, 5);
}

/// Starts a run with `--follow`, and returns it with its output.
fn following(server: &FakeServer) -> (Child, BufReader<ChildStdout>) {
    let args = ["events", "tail", "--after", "0", "-o", "jsonl"];
    let mut child = Home::with(server).command(&args).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

/// A service with an event for each poll.
fn busy() -> FakeServer {
    FakeServer::answering(|request| {
        let after: usize = parameter(request, "after").unwrap();
        Reply::list(&[numbered(after + 1)])
    })
}

/// The line is there while the program goes on, and a reader who leaves ends it.
#[test]
fn tail_flushes_each_line_and_ends_with_its_reader() {
    let (mut child, mut lines) = following(&busy());
    for _ in 0..2 {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.ends_with("}\n"), "{line}");
    }
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_tail_with_130_and_no_error() {
    let server = Arc::new(busy());
    let (mut child, mut lines) = following(&server);
    lines.read_line(&mut String::new()).unwrap();
    let killed =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), &*said), (Some(130), ""));
}

/// No further output would fail and show that the reader has gone.
#[cfg(unix)]
#[test]
fn tail_ends_with_its_reader_without_another_event() {
    let server = FakeServer::answering(|request| {
        let after: usize = parameter(request, "after").unwrap();
        Reply::list(&if after == 0 { vec![numbered(1)] } else { Vec::new() })
    });
    let (mut child, mut lines) = following(&server);
    lines.read_line(&mut String::new()).unwrap();
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
