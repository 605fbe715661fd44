//! Servers that are busy, limit the rate or restart: a run waits for them, within its patience, and
//! shows what it did even if it gives up.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, KEY, LICENSE, Reply, Request, RunOutput, answer, assignment,
    license_with_seats,
};

const CREATE: [&str; 6] = ["licenses", "create", "--plan", "Pro annual", "--count", "4"];
const ASSIGN: [&str; 4] = ["licenses", "assign", LICENSE, "-"];

/// The usual service, but for its writes: `reply` makes the reply to the first, second and so on.
pub fn with_writes(reply: impl Fn(usize, &Request) -> Reply + Send + 'static) -> FakeServer {
    let written = AtomicUsize::new(0);
    FakeServer::answering(move |request| match request.method.as_str() {
        "GET" => answer(request),
        _ => reply(written.fetch_add(1, Ordering::Relaxed), request),
    })
}

fn limited(seconds: u32) -> Reply {
    Reply::refusal(429, "rate_limited", "Slowly.").with("retry-after", seconds.to_string())
}

pub fn created(number: usize) -> Reply {
    let mut made = license_with_seats(0);
    made["id"] = format!("lic_01h455vb4pex5vsknk084sn0{number}q").into();
    Reply::data(201, &made)
}

pub fn writes(server: &FakeServer) -> Vec<Request> {
    server.received().into_iter().filter(|request| request.method != "GET").collect()
}

pub fn error(ran: &RunOutput) -> Value {
    serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("not one object: {}", ran.stderr))
}

/// All attempts of one write have one idempotency key.
#[test]
fn a_busy_server_is_waited_for_in_every_command() {
    for busy in [
        || limited(0),
        || Reply::refusal(503, "overloaded", "Later.").with("retry-after", "0"),
        // A proxy whose server restarts; licd has answered the look-up of the plan.
        || Reply::new(502, "<html>Bad gateway</html>").with("retry-after", "0"),
        || Reply::new(429, "Too many requests").with("retry-after", "0"),
    ] {
        let server = with_writes(move |at, _| if at == 1 { busy() } else { created(at) });
        let ran = Home::with(&server).run(&[&CREATE[..], &["-q"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert_eq!(ran.stdout.lines().count(), 4);
        let keys: Vec<_> = writes(&server).into_iter().map(|it| it.idempotency_key).collect();
        assert_eq!(keys.len(), 5);
        assert!(keys[1] == keys[2] && keys[2] != keys[3], "{keys:?}");
    }
}

#[test]
fn a_single_read_waits_too() {
    let asked = AtomicUsize::new(0);
    let server = FakeServer::serving(move |request, stream| {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => limited(0).send(stream),
            // The connection breaks without an answer.
            1 => {}
            _ => answer(request).send(stream),
        }
    });
    let ran = Home::with(&server).run(&["products", "list", "-q"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(server.received().len(), 3);
}

#[test]
fn rows_go_on_after_the_server_restarted() {
    let written = AtomicUsize::new(0);
    let server = FakeServer::serving(move |request, stream| {
        if request.method == "GET" {
            answer(request).send(stream);
        } else if !(2..6).contains(&written.fetch_add(1, Ordering::Relaxed)) {
            Reply::data(201, &assignment()).send(stream);
        }
    });
    let home = Home::with(&server);
    let users: String = (0..12).map(|n| format!("u{n}\n")).collect();
    let args = ["licenses", "assign", LICENSE, "--from", "-", "--report"];
    let report = home.dir.path().join("out.jsonl").display().to_string();
    let ran = home.run_with_input(&[&args[..], &[&report]].concat(), &format!("userId\n{users}"));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("note: 12 succeeded, 0 failed."), "{}", ran.stderr);
    let keys: std::collections::HashSet<_> =
        writes(&server).into_iter().map(|request| request.idempotency_key.unwrap()).collect();
    assert_eq!((writes(&server).len(), keys.len()), (16, 12));
}

/// The server goes away with the first request, and is back when licctl says that it waits.
#[test]
fn a_server_that_restarts_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gone = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read(&mut [0; 100]).unwrap()
    });
    let home = Home::bare().set("LICCTL_API_KEY", KEY);
    let server = format!("http://{address}");
    let create = ["users", "create", "--external-id", "alice", "-q", "--server", &server];
    let mut child = home.command(&create).spawn().unwrap();
    assert!(gone.join().unwrap() > 0);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    stderr.read_line(&mut note).unwrap();
    assert!(note.starts_with("note: no response from the server; giving up in "), "{note}");
    let back = FakeServer::on(TcpListener::bind(address).unwrap(), |request, stream| {
        answer(request).send(stream);
    });
    let ran = RunOutput::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "alice\n"));
    assert_eq!(back.lines()[0], "POST /api/v1/admin/users");
}

/// Runs these arguments against a port at which licd starts only when licctl says that it waits.
fn started_late(home: &Home, address: SocketAddr, args: &[&str]) -> (RunOutput, FakeServer) {
    let mut child = home.command(args).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    stderr.read_line(&mut note).unwrap();
    assert!(note.starts_with("note: no response from the server; giving up in "), "{note}");
    let server = FakeServer::on(TcpListener::bind(address).unwrap(), |request, stream| {
        answer(request).send(stream);
    });
    (RunOutput::from(child.wait_with_output().unwrap()), server)
}

/// Scripts are made of single commands, of which each may meet a server that starts.
#[test]
fn the_first_request_of_a_run_waits_for_a_server_that_starts() {
    let server = FakeServer::answering(answer);
    for is_stored in [false, true] {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let url = format!("http://{address}");
        let home = Home::bare();
        let home = if is_stored {
            let login = ["login", "--api-key-file", "-", "--server", &server.address];
            assert_eq!(home.run_with_input(&login, KEY).code, 0);
            let config = home.dir.path().join("config.toml");
            let moved = std::fs::read_to_string(&config).unwrap().replace(&server.address, &url);
            std::fs::write(&config, moved).unwrap();
            home
        } else {
            home.set("LICCTL_SERVER", &url)
        };
        let home = home.set("LICCTL_API_KEY", KEY);
        let (ran, server) = started_late(&home, address, &["products", "list", "-q"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "prd_01h455vb4pex5vsknk084sn02q\n"));
        assert_eq!(server.lines().len(), 1);
    }
}

/// A proxy answers in licd's place while licd restarts.
#[test]
fn the_first_answer_may_be_that_of_a_proxy_whose_server_restarts() {
    for status in [502, 503, 504] {
        let asked = AtomicUsize::new(0);
        let server =
            FakeServer::answering(move |request| match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Reply::new(status, "<html>Soon</html>").with("retry-after", "0"),
                _ => answer(request),
            });
        let ran = Home::with(&server).run(&["products", "list", "-q"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{status}");
    }
    let server = FakeServer::answering(|_| Reply::new(502, "<html>Bad gateway</html>"));
    let home = Home::with(&server).set("LICCTL_PATIENCE", "0");
    let ran = home.run(&["users", "create", "--external-id", "a", "-o", "json"]);
    let error = error(&ran);
    assert_eq!((&error["code"], &error["requestId"]), (&"unavailable".into(), &Value::Null));
    assert!(error["message"].as_str().unwrap().contains("may have been made anyway"), "{error}");
    // A body that is not licd's, but has its member for the sentence.
    for (status, code) in [(429, "rate_limited"), (503, "unavailable")] {
        let body = r#"{"success":false,"error":"No."}"#;
        let server = FakeServer::answering(move |_| Reply::new(status, body));
        let home = Home::with(&server).set("LICCTL_PATIENCE", "0");
        let error = self::error(&home.run(&["products", "list", "-o", "json"]));
        assert_eq!((&error["code"], &error["requestId"]), (&code.into(), &Value::Null));
    }
}

/// No network is needed to know that a label of 64 letters has no address.
#[test]
fn a_name_without_an_address_is_not_waited_for() {
    let url = format!("http://{}.example", "a".repeat(64));
    let home = Home::bare().set("LICCTL_API_KEY", KEY).set("LICCTL_SERVER", &url);
    let ran = home.run(&["products", "list", "--allow-http", "--patience", "20"]);
    assert_eq!(ran.code, 7);
    assert!(ran.stderr.starts_with(&format!("error: Cannot reach {url}.")), "{}", ran.stderr);
}

/// Such as the port of another protocol, for which a newcomer should not wait.
#[test]
fn a_server_that_never_answers_is_not_waited_for() {
    let server = FakeServer::serving(|_, stream| drop(stream));
    let ran = Home::with(&server).run(&["products", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, ""));
    assert_eq!(server.received().len(), 2);
}

/// The service may still work on the attempt whose answer was lost.
#[test]
fn a_request_that_is_still_running_is_waited_for() {
    let written = AtomicUsize::new(0);
    let words = "A request with this Idempotency-Key is still in progress";
    let server = FakeServer::serving(move |request, stream| match request.method.as_str() {
        "GET" => answer(request).send(stream),
        _ => match written.fetch_add(1, Ordering::Relaxed) {
            0 => {}
            1 => Reply::refusal(409, "idempotency_key_in_use", words)
                .with("retry-after", "0")
                .send(stream),
            _ => created(1).send(stream),
        },
    });
    let ran = Home::with(&server).run(&["licenses", "create", "--plan", "Pro annual", "-q"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    // As the first attempt, it is a refusal like any other.
    let server = with_writes(move |_, _| Reply::refusal(409, "idempotency_key_in_use", words));
    let ran = Home::with(&server).run(&["licenses", "create", "--plan", "Pro annual", "-q"]);
    assert_eq!((ran.code, writes(&server).len()), (6, 1));
}

#[test]
fn a_pause_beyond_the_patience_ends_at_once() {
    let server = with_writes(|_, _| limited(90));
    let home = Home::with(&server);
    let create = ["users", "create", "--external-id", "alice"];
    let ran = home.run(&create);
    assert_eq!((ran.code, ran.stdout.as_str()), (8, ""));
    assert!(
        ran.stderr.contains("fix: try again in 90 s, or raise --patience to 90s"),
        "{}",
        ran.stderr
    );
    let ran = home.run(&[&create[..], &["-o", "json"]].concat());
    assert_eq!((&error(&ran)["retryAfter"], &error(&ran)["exitCode"]), (&90.into(), &8.into()));
    assert_eq!(writes(&server).len(), 2);
    // A short one, with no patience at all.
    let server = with_writes(|_, _| limited(0));
    let home = Home::with(&server).set("LICCTL_PATIENCE", "0");
    assert_eq!(home.run(&create).code, 8);
    assert_eq!(writes(&server).len(), 1);
    let ran = home.run(&[&create[..], &["--patience", "soon"]].concat());
    assert_eq!(ran.code, 2);
    let ran = Home::with(&server).set("LICCTL_PATIENCE", "soon").run(&create);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("LICCTL_PATIENCE"), "{}", ran.stderr);
}

#[test]
fn licenses_that_were_created_are_printed_when_the_rest_fails() {
    let server = || with_writes(|at, _| if at < 2 { created(at) } else { limited(90) });
    let ran = Home::with(&server()).run(&[&CREATE[..], &["-q"]].concat());
    assert_eq!((ran.code, ran.stdout.lines().count()), (9, 2), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: The key has reached its rate limit."), "{}", ran.stderr);
    assert!(
        ran.stderr.ends_with(
            "note: 2 succeeded, 0 failed, 2 not tried\nnote: create the rest with --count 2\n"
        ),
        "{}",
        ran.stderr
    );
    let ran = Home::with(&server()).run(&[&CREATE[..], &["-o", "json"]].concat());
    assert_eq!((ran.code, ran.json().as_array().unwrap().len()), (9, 2));
    let error = error(&ran);
    assert_eq!((&error["code"], &error["exitCode"]), (&"partial".into(), &9.into()));
    assert_eq!(error["errors"][0]["retryAfter"], 90);
    assert_eq!(error["notTried"], json!(["license 3", "license 4"]));
}

#[test]
fn a_license_is_printed_when_an_assignment_fails() {
    let server = with_writes(|at, _| match at {
        0 => created(1),
        _ => Reply::refusal(400, "invalid_request", "userId: no"),
    });
    let users = ["a", "b c", "d"].map(|user| ["--assign", user]).concat();
    let args = [&["licenses", "create", "--plan", "Pro annual", "-q"][..], &users].concat();
    let ran = Home::with(&server).run(&args);
    let id = "lic_01h455vb4pex5vsknk084sn01q";
    assert_eq!((ran.code, ran.stdout.trim()), (9, id), "{}", ran.stderr);
    let rest = format!("note: continue with licctl licenses assign {id} d\n");
    assert!(ran.stderr.ends_with(&rest), "{}", ran.stderr);
}

#[test]
fn items_that_were_not_tried_are_named() {
    let server = || {
        with_writes(|at, _| match at {
            0 => Reply::data(201, &assignment()),
            _ => limited(90),
        })
    };
    let users = "alice\nbob\nthe third\n";
    let ran = Home::with(&server()).run_with_input(&[&ASSIGN[..], &["-q"]].concat(), users);
    assert_eq!((ran.code, ran.stdout.as_str()), (9, "alice\n"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("note: not tried: bob \"the third\"\n"), "{}", ran.stderr);
    let args = [&ASSIGN[..], &["-o", "json"]].concat();
    let ran = Home::with(&server()).run_with_input(&args, users);
    assert_eq!(error(&ran)["notTried"], json!(["bob", "the third"]));
}

/// A bulk run says in one object what became of its rows.
#[test]
fn a_bulk_run_that_gives_up_names_the_rows_that_were_not_tried() {
    let server = with_writes(|_, request| match request.body["userId"].as_str() {
        Some("alice") => Reply::data(201, &assignment()),
        Some("bob") => Reply::refusal(500, "internal", "Oh."),
        _ => limited(90),
    });
    let home = Home::with(&server);
    let report = home.dir.path().join("out.jsonl").display().to_string();
    let args = ["licenses", "assign", LICENSE, "--from", "-", "-o", "json", "--report", &report];
    let ran = home.run_with_input(&args, "userId\nalice\nbob\ncarol\n");
    assert_eq!((ran.code, ran.json().as_array().unwrap().len()), (9, 2), "{}", ran.stderr);
    let error = error(&ran);
    assert_eq!(error["notTried"], json!(["carol"]));
    let failed = &error["errors"];
    assert_eq!((&failed[0]["item"], &failed[1]["code"]), (&"bob".into(), &"rate_limited".into()));
    assert!(error["hint"].as_str().unwrap().contains("--resume"), "{error}");
}

/// The names are only for the eye; the id is what a script needs.
#[test]
fn a_write_is_shown_though_names_cannot_be_read() {
    let server = FakeServer::answering(|request| match request.line().as_str() {
        "GET /api/v1/admin/plans?limit=1000" => Reply::refusal(500, "internal", "Oh."),
        _ => answer(request),
    });
    let ran = Home::with(&server).run(&["licenses", "update", LICENSE, "--max-seats", "5"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains(LICENSE), "{}", ran.stdout);
}

/// Runs until the note of a long pause, and presses Ctrl-C then.
#[cfg(unix)]
fn interrupted(server: &FakeServer, args: &[&str], input: &str) -> (RunOutput, String) {
    use std::io::Write;

    let home = Home::with(server);
    let mut child = home.command(args).current_dir(home.dir.path()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut note = String::new();
    stderr.read_line(&mut note).unwrap();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let said: String = stderr.lines().map(|line| line.unwrap() + "\n").collect();
    let mut ran = RunOutput::from(child.wait_with_output().unwrap());
    ran.stderr = said;
    (ran, note)
}

/// Each pause would last for hours.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_wait_at_once() {
    const HOURS: [&str; 2] = ["--patience", "9h"];
    let server = FakeServer::answering(|_| limited(20_000));
    let (ran, note) = interrupted(&server, &["products", "list", HOURS[0], HOURS[1]], "");
    assert_eq!(note, "note: rate limited; retrying in 20000 s\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (130, ""));
    let server = with_writes(|at, _| if at == 0 { created(1) } else { limited(20_000) });
    let (ran, _) = interrupted(&server, &[&CREATE[..], &HOURS, &["-q"]].concat(), "");
    assert_eq!((ran.code, ran.stdout.lines().count()), (130, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 succeeded, 0 failed, 3 not tried"), "{}", ran.stderr);
    // Rows that wait are not tried, and all can be resumed.
    let server = with_writes(|at, _| match at {
        0 => Reply::data(201, &assignment()),
        _ => limited(20_000),
    });
    let args = ["licenses", "assign", LICENSE, "--from", "-", "--report", "out.jsonl"];
    let users: String = (0..9).map(|n| format!("u{n}\n")).collect();
    let (ran, _) = interrupted(&server, &[&args[..], &HOURS].concat(), &format!("userId\n{users}"));
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(ran.stderr.contains("note: 1 succeeded, 0 failed, 8 not tried."), "{}", ran.stderr);
}
