//! Users whom a command would create: licctl asks about, notes or refuses one who resembles a known
//! user.

use serde_json::{Value, json};

#[cfg(unix)]
use crate::support::terminal::{exit, on_a_terminal, press};
use crate::support::{FakeServer, Home, LICENSE, Reply, RunOutput, answer, service, user};

/// A service with the user dana, whose email is dana@north.example.
fn with_dana() -> FakeServer {
    FakeServer::answering(|request| {
        let created = user(request.body["externalId"].as_str().unwrap_or_default());
        let mut dana = user("dana");
        dana["email"] = "dana@north.example".into();
        dana["id"] = "usr_01h455vb4pex5vsknk084sn0zz".into();
        if request.line() == "POST /api/v1/admin/users" {
            let is_dana = request.body["externalId"] == "dana";
            return Reply::data(201, if is_dana { &dana } else { &created });
        }
        let parameter = |name: &str| {
            let query = request.path.split_once('?')?.1.split('&');
            let mut values = query.filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            values.next().map(|value| value.replace("%40", "@").replace("%20", " "))
        };
        if request.method == "GET" && request.path.starts_with("/api/v1/admin/users?") {
            let is_dana = match (parameter("externalId"), parameter("similarTo")) {
                (Some(id), _) => id == "dana",
                // Finds her as licd does, by letters only.
                (None, Some(text)) => {
                    let letters: String = text.chars().filter(|it| it.is_alphabetic()).collect();
                    let letters = letters.to_lowercase();
                    text != "dana" && ["dana", "dananorthexample", "danna"].contains(&&*letters)
                }
                (None, None) => true,
            };
            return Reply::list(if is_dana { std::slice::from_ref(&dana) } else { &[] });
        }
        answer(request)
    })
}

/// The users of the writes, in order.
fn written(server: &FakeServer) -> Vec<Value> {
    let writes = server.received().into_iter().filter(|request| request.method != "GET");
    let user = |body: &Value| {
        let body = body.get("assignTo").unwrap_or(body);
        body.get("userId").or(body.get("externalId")).cloned().unwrap_or(Value::Null)
    };
    writes.map(|request| user(&request.body)).collect()
}

fn run(args: &[&str]) -> (RunOutput, Vec<Value>) {
    let server = with_dana();
    let ran = Home::with(&server).run(args);
    (ran, written(&server))
}

const CREATE: [&str; 5] = ["licenses", "create", "--plan", "Pro annual", "--assign"];
const COMMANDS: [&[&str]; 4] = [
    &["licenses", "assign", LICENSE],
    &CREATE,
    &["validate"],
    &["users", "create", "--external-id"],
];

#[test]
fn a_script_reads_who_is_new_and_whom_that_resembles() {
    for command in COMMANDS {
        for (given, told) in [
            ("dana@north.example", "dana@north.example is a new user."),
            ("DANA", "DANA is a new user."),
            (" dana", "\" dana\" is a new user. The id begins with a space."),
            ("'dana'", "\"'dana'\" is a new user. The quotation mark is part of the id."),
        ] {
            let (ran, written) = run(&[command, &[given]].concat());
            assert_eq!(written.last(), Some(&given.into()), "{command:?}: {}", ran.stderr);
            let note = format!("note: {told} Did you mean dana (dana@north.example)?\n");
            assert!(ran.stderr.starts_with(&note), "{command:?}: {}", ran.stderr);
            let (ran, written) = run(&[command, &[given, "--create-user"]].concat());
            assert_eq!((written.is_empty(), ran.stderr.as_str()), (false, ""), "{command:?}");
        }
        let (ran, _) = run(&[command, &["dana"]].concat());
        assert_eq!(ran.stderr, "", "{command:?}");
    }
    let (ran, _) = run(&["licenses", "assign", LICENSE, "zoe"]);
    assert_eq!(ran.stderr, "note: zoe is a new user\n");
    let (ran, _) = run(&["validate", "zoe\t"]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: "), "{}", ran.stderr);
    let (ran, _) = run(&["users", "create", "--external-id", "zoe "]);
    assert_eq!(ran.stderr, "note: \"zoe \" is a new user. The id ends with a space.\n");
    let (ran, _) = run(&["licenses", "assign", LICENSE, "zoe", "yan"]);
    assert_eq!(ran.stderr, "note: 2 new users: zoe, yan\n");
}

#[test]
fn unknown_users_can_be_refused() {
    for command in COMMANDS {
        let (ran, written) = run(&[command, &["dana@north.example", "--existing-only"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str(), written.len()), (3, "", 0), "{command:?}");
        let told = "error: User dana@north.example not found.\n  \
                    dana@north.example: Did you mean dana (dana@north.example)?\n";
        assert!(ran.stderr.starts_with(told), "{command:?}: {}", ran.stderr);
        let (ran, _) = run(&[command, &["dana", "--existing-only"]].concat());
        assert_eq!(ran.stderr, "", "{command:?}");
        let both = [command, &["dana", "--existing-only", "--create-user"]].concat();
        assert_eq!(run(&both).0.code, 2, "{command:?}");
    }
}

/// All rows are checked before the first is sent.
#[test]
fn the_unknown_users_of_a_file_are_noted_or_refused_by_their_lines() {
    let server = with_dana();
    let home = Home::with(&server);
    let report = home.dir.path().join("r.jsonl").display().to_string();
    let rows = "userId\ndana\nzoe\nDana\n";
    for command in [
        &["licenses", "assign", LICENSE, "--from", "-"][..],
        &["validate", "--from", "-"],
        &["users", "import", "-"],
    ] {
        let more = ["--existing-only", "--report", &report];
        let ran = home.run_with_input(&[command, &more].concat(), rows);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{command:?}");
        assert!(ran.stderr.contains("  line 3: zoe; line 4: Dana\n"), "{}", ran.stderr);
        assert!(!std::path::Path::new(&report).exists(), "nothing was begun");
    }
    assert!(written(&server).is_empty());
    let assign = ["licenses", "assign", LICENSE, "--from", "-", "--report", &report];
    let ran = home.run_with_input(&assign, rows);
    let notes = "note: these ids differ only in case or form: Dana on line 2 and line 4\n\
                 note: Dana is a new user. Did you mean dana (dana@north.example)?\n\
                 note: zoe is a new user\n";
    assert!(ran.stderr.starts_with(notes), "{}", ran.stderr);
    assert_eq!(written(&server).len(), 3);
    let report = home.dir.path().join("s.jsonl").display().to_string();
    let ran = home.run_with_input(&["users", "import", "-", "--report", &report], rows);
    assert!(ran.stderr.ends_with("note: 3 new users\n"), "{}", ran.stderr);
}

/// A key of role validate cannot look users up, but validates.
#[test]
fn a_key_that_reads_no_users_validates() {
    let server = FakeServer::answering(|request| match request.method.as_str() {
        "GET" => Reply::refusal(403, "forbidden", "Access denied"),
        _ => Reply::data(200, &json!({ "valid": false, "reason": "no_license" })),
    });
    let home = Home::with(&server);
    let ran = home.run(&["validate", "alice", "--expect", "no_license"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(home.run(&["validate", "alice", "--existing-only"]).code, 5);
}

/// An email of a known user is not a new user unless the person says so.
#[cfg(unix)]
#[test]
fn a_user_like_a_known_one_is_asked_about() {
    for args in [
        &["licenses", "assign", LICENSE, "dana@north.example"][..],
        &["licenses", "create", "--plan", "Pro annual", "--assign", "dana@north.example"],
        &["validate", "dana@north.example"],
        &["users", "create", "--external-id", "dana@north.example"],
    ] {
        for (keys, chosen, words) in [
            // Enter without a choice selects nothing.
            ("\r\t\r", "dana", "dana"),
            ("create\r", "dana@north.example", "dana@north.example --create-user"),
        ] {
            let server = with_dana();
            let mut terminal = on_a_terminal(&Home::with(&server), args);
            let question = "dana@north.example is new. Did you mean dana (dana@north.example)?";
            terminal.exp_string(question).unwrap();
            terminal.exp_string("use dana (dana@north.example)").unwrap();
            press(&mut terminal, keys);
            terminal.exp_string("Without prompts: licctl").unwrap();
            terminal.exp_string(words).unwrap();
            terminal.exp_eof().unwrap();
            assert_eq!(written(&server).last(), Some(&chosen.into()), "{args:?}");
        }
        let server = with_dana();
        let mut terminal = on_a_terminal(&Home::with(&server), args);
        terminal.exp_string("use dana (dana@north.example)").unwrap();
        press(&mut terminal, "cancel\r");
        terminal.exp_string("Cancelled; nothing was changed.").unwrap();
        terminal.exp_eof().unwrap();
        assert_eq!(exit(&terminal), 130);
        assert!(written(&server).is_empty());
    }
}

#[cfg(unix)]
#[test]
fn an_assignment_asks_before_it_creates_a_user() {
    let server = with_dana();
    let home = Home::with(&server);
    let assign = ["licenses", "assign", LICENSE, "zoe"];
    let mut terminal = on_a_terminal(&home, &assign);
    terminal.exp_string("User zoe does not exist. Create it?").unwrap();
    press(&mut terminal, "n\r");
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 130);
    assert!(written(&server).is_empty());
    let mut terminal = on_a_terminal(&home, &[&assign[..], &["--create-user"]].concat());
    terminal.exp_string("Assigned license").unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0);
    let mut terminal = on_a_terminal(&home, &["licenses", "assign", LICENSE, "zoe "]);
    let question = "User \"zoe \" does not exist. The id ends with a space. Create it?";
    terminal.exp_string(question).unwrap();
    press(&mut terminal, "n\r");
    terminal.exp_eof().unwrap();
}
/// Columns that are checked are sent. The service stores them if the row creates the user.
#[test]
fn the_email_and_name_of_a_row_are_sent() {
    let server = service();
    let home = Home::with(&server);
    let folder = home.dir.path();
    let map = ["--map", "email=mail", "--map", "name=who", "--create-user"];
    let users = "userId,mail,who\nbob,b@example.com,Bob\n";
    std::fs::write(folder.join("users.csv"), users).unwrap();
    let assign = ["licenses", "assign", LICENSE, "--from", "users.csv"];
    let mut command = home.command(&[&assign[..], &map].concat());
    let ran = RunOutput::from(command.current_dir(folder).output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let new = json!({ "email": "b@example.com", "name": "Bob" });
    assert_eq!(server.received().pop().unwrap().body, json!({ "userId": "bob", "newUser": new }));
}
