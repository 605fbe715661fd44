//! New keys, whose secret is shown once: in place of an old one, and where it cannot be printed.

use serde_json::{Value, json};

use crate::support::{
    FakeServer, Home, OTHER_KEY, Reply, RunOutput, answer, key, on_screen, service,
};

const CREATE: [&str; 6] = ["keys", "create", "--name", "z", "--role", "admin"];
const ROLL: [&str; 3] = ["keys", "roll", "ci"];
const AT_ONCE: [&str; 6] = ["keys", "roll", "ci", "--overlap", "0", "--yes"];
const NEW: &str = "key_01h455vb4pex5vsknk084sn0zz";

/// A service whose new keys have an id and an expiry of their own.
fn with_new_key(expires_at: Value) -> FakeServer {
    FakeServer::answering(move |request| match &*request.path {
        "/api/v1/admin/keys/key_01h455vb4pex5vsknk084sn02q/roll" => {
            let mut new = key();
            (new["id"], new["key"]) = (NEW.into(), OTHER_KEY.into());
            new["expiresAt"] = expires_at.clone();
            Reply::data(201, &new)
        }
        _ => answer(request),
    })
}

fn writes(server: &FakeServer) -> Vec<(String, Value)> {
    let writes = server.received().into_iter().filter(|request| request.method != "GET");
    writes.map(|it| (it.path.rsplit('/').next().unwrap_or_default().to_owned(), it.body)).collect()
}

/// Runs licctl without a reader of its output.
fn unread(home: &Home, args: &[&str]) -> RunOutput {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    RunOutput::from(home.command(args).stdout(writer).output().unwrap())
}

/// In the overlap of a roll two keys have one name.
fn two_keys_of_a_name() -> FakeServer {
    FakeServer::answering(|request| match (&*request.method, &*request.path) {
        ("GET", path) if path.contains("/keys") => {
            let mut old = key();
            old["expiresAt"] = "2999-01-31T12:00:00.000Z".into();
            let mut new = key();
            (new["id"], new["prefix"]) = (NEW.into(), "sk_test_NEWK".into());
            Reply::list(&[old, new])
        }
        _ => answer(request),
    })
}

#[test]
fn keys_of_one_name_are_told_apart_by_prefix_and_expiry() {
    let server = two_keys_of_a_name();
    let ran = Home::with(&server).run(&["keys", "revoke", "ci", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    let first = "ci (sk_test_OTHE…, created 2026-01-31T12:00Z, expires 2999-01-31T12:00Z)";
    let second = "ci (sk_test_NEWK…, created 2026-01-31T12:00Z, expires never)";
    for told in [first, second] {
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

/// A person who finds a leaked key has the secret, and neither its name nor its id.
#[test]
fn a_key_is_named_by_its_prefix_or_its_secret() {
    let server = two_keys_of_a_name();
    let home = Home::with(&server);
    let revoked = |args: &[&str], input: &str| {
        let ran = home.run_with_input(&[&["keys", "revoke", "--yes", "-q"], args].concat(), input);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!format!("{ran:?}").contains(OTHER_KEY), "{ran:?}");
        server.lines().pop().unwrap()
    };
    let old = "POST /api/v1/admin/keys/key_01h455vb4pex5vsknk084sn02q/revoke";
    for (args, input) in [
        (&["sk_test_OTHE"][..], ""),
        (&["sk_test_OTHE…"], ""),
        (&[OTHER_KEY], ""),
        (&["-"], OTHER_KEY),
    ] {
        assert_eq!(revoked(args, input), old, "{args:?}");
    }
    let ran = home.run(&["keys", "revoke", "sk_test_NONE6789", "--yes"]);
    assert_eq!(ran.code, 3);
    assert!(!ran.stderr.contains("6789"), "{}", ran.stderr);
    assert!(server.received().iter().all(|it| !it.path.contains("OTHER")), "{:?}", server.lines());
}

/// Without an overlap applications stop, as when a key is revoked.
#[test]
fn a_key_is_rolled_without_an_overlap_after_a_confirmation_alone() {
    let server = service();
    let home = Home::with(&server);
    let ran = home.run(&AT_ONCE[..5]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("fix: add --yes"), "{}", ran.stderr);
    assert!(writes(&server).is_empty());
    let ran = home.run(&AT_ONCE);
    assert_eq!((ran.code, ran.stdout.trim(), &*ran.stderr), (0, OTHER_KEY, ""));
    let steps = [
        ("roll".to_owned(), json!({ "overlapSeconds": 3600 })),
        ("revoke".to_owned(), Value::Null),
    ];
    assert_eq!(writes(&server), steps);
    for (span, seconds) in [("90s", 90), ("12h", 43_200), ("30d", 2_592_000)] {
        home.run(&["keys", "roll", "ci", "--overlap", span]);
        assert_eq!(server.received().pop().unwrap().body, json!({ "overlapSeconds": seconds }));
    }
    for span in ["31d", "100ms", "1", "-1h", "soon"] {
        let ran = home.run(&["keys", "roll", "ci", &format!("--overlap={span}")]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{span}");
    }
}

#[test]
fn a_dry_run_shows_both_requests_of_a_roll_without_an_overlap() {
    let server = service();
    let ran = Home::with(&server).run(&[&AT_ONCE[..], &["--dry-run"]].concat());
    let paths: Vec<_> = ran.stdout.lines().filter(|line| line.starts_with("POST")).collect();
    assert_eq!(paths.len(), 2, "{ran:?}");
    assert!(paths[0].ends_with("/roll") && paths[1].ends_with("/revoke"), "{paths:?}");
    assert!(writes(&server).is_empty());
}

/// Otherwise an active key remains that no one has, or that someone else has read.
#[test]
fn a_key_whose_secret_cannot_be_printed_is_named() {
    let server = with_new_key(Value::Null);
    let home = Home::with(&server);
    let created = "key_01h455vb4pex5vsknk084sn02q";
    for (args, id) in [(&CREATE[..], created), (&ROLL, NEW), (&AT_ONCE, NEW)] {
        for more in [&[][..], &["-q"], &["-o", "json"]] {
            let ran = unread(&home, &[args, more].concat());
            assert_eq!(ran.code, 1, "{args:?} {more:?}: {}", ran.stderr);
            for said in [&*format!("{id} is active"), &format!("licctl keys revoke {id}")] {
                assert!(ran.stderr.contains(said), "{args:?} {more:?}: {}", ran.stderr);
            }
        }
    }
}

/// The rolled key is the only one that anyone has.
#[test]
fn an_old_key_stays_while_the_new_secret_is_not_printed() {
    let server = with_new_key(Value::Null);
    let home = Home::with(&server);
    let ran = unread(&home, &AT_ONCE);
    assert_eq!(writes(&server).len(), 1);
    assert!(ran.stderr.contains("The old key expires in 1h."), "{}", ran.stderr);
    let ran = unread(&home, &ROLL);
    assert!(ran.stderr.contains("The old key expires in 1d."), "{}", ran.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn a_secret_for_a_full_disk_is_told_to_be_lost() {
    let server = service();
    let home = Home::with(&server);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = RunOutput::from(home.command(&CREATE).stdout(full).output().unwrap());
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
    assert!(ran.stderr.contains("fix: licctl keys revoke key_"), "{}", ran.stderr);
}

/// The secret is out, and the old key is still accepted.
#[test]
fn a_revocation_that_fails_after_a_roll_is_an_error_that_names_the_old_key() {
    let server = FakeServer::answering(|request| match request.path.ends_with("/revoke") {
        true => Reply::refusal(500, "internal", "Oh."),
        false => answer(request),
    });
    let ran = Home::with(&server).run(&AT_ONCE);
    assert_eq!((ran.code, ran.stdout.trim()), (1, OTHER_KEY), "{}", ran.stderr);
    let told = "note: the old key is not revoked. The old key expires in 1h. Revoke it: licctl keys \
                revoke key_01h455vb4pex5vsknk084sn02q\n";
    assert!(ran.stderr.starts_with(told), "{}", ran.stderr);
}

/// A successor ends when the old key would have.
#[test]
fn the_expiry_of_a_new_key_is_said() {
    let server = with_new_key("2026-03-02T12:00:00.000Z".into());
    let home = Home::with(&server);
    let ran = on_screen(&home, &ROLL, 200);
    assert!(ran.stdout.starts_with(&format!("{OTHER_KEY}\nexpires  ")), "{ran:?}");
    assert!(ran.stderr.contains(" The new key expires in 30d. Save"), "{}", ran.stderr);
    // A script reads only the secret.
    assert_eq!(home.run(&ROLL).stdout, format!("{OTHER_KEY}\n"));
    let ran = on_screen(&Home::with(&with_new_key(Value::Null)), &ROLL, 200);
    assert_eq!(ran.stdout, format!("{OTHER_KEY}\n"));
    assert!(!ran.stderr.contains("by one that expires"), "{}", ran.stderr);
}

/// A leaked admin key may have made others, and these again.
#[test]
fn a_key_is_revoked_with_what_it_made() {
    let ids = ["key_01h455vb4pex5vsknk084sn0a1", "key_01h455vb4pex5vsknk084sn0a2"];
    let server = FakeServer::answering(move |request| {
        let made = |at: usize, maker: Value| {
            let mut made = key();
            made["name"] = ["leaked", "sync2"][at].into();
            (made["id"], made["createdBy"]) = (ids[at].into(), maker);
            made
        };
        let both = [made(0, Value::Null), made(1, ids[0].into())];
        match request.method.as_str() {
            "GET" => Reply::list(&both),
            _ => Reply::data(200, &both[0]),
        }
    });
    let home = Home::with(&server);
    let ran = home.run(&["keys", "revoke", "leaked", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("the key made keys that still work: "), "{ran:?}");
    assert!(ran.stderr.contains("sync2") && ran.stderr.contains("--made revokes them"), "{ran:?}");
    let ran = home.run(&["keys", "revoke", "leaked", "--made"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("and the key that it made, "), "{ran:?}");
    let ran = home.run(&["keys", "revoke", "leaked", "--made", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let bodies = server.received().into_iter().filter(|it| it.method == "POST").map(|it| it.body);
    assert_eq!(bodies.collect::<Vec<_>>(), [Value::Null, json!({ "made": true })]);
}
