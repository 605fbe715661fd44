//! Records and users that events and refusals are looked up for: an empty answer to a mistyped one
//! would look like no event.

use crate::support::{FakeServer, Home, LICENSE, Reply, RunOutput, answer, refusal, user};

const USER: &str = "usr_01h455vb4pex5vsknk084sn02q";

/// A service that knows alice and the license, has events of the license and of gone, a deleted
/// user, and refusals of gone.
fn history() -> FakeServer {
    FakeServer::answering(|request| {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
        };
        match path.strip_prefix("/api/v1/admin/").unwrap_or_default() {
            "events" => {
                let subject = value("subject").is_none_or(|it| it == LICENSE);
                let user = value("userId").is_none_or(|it| it == "gone");
                // All are old.
                let times = value("from").is_none();
                if subject && user && times { answer(request) } else { Reply::list(&[]) }
            }
            "refusals" => match value("userId").is_none_or(|it| it == "gone") {
                true => Reply::list(&[refusal("gone", "expired")]),
                false => Reply::list(&[]),
            },
            "users" if value("similarTo").as_deref() == Some("alic") => {
                Reply::list(&[user("alice")])
            }
            "users" => match value("externalId").is_none_or(|it| it == "alice") {
                true => answer(request),
                false => Reply::list(&[]),
            },
            _ => answer(request),
        }
    })
}

fn run(args: &[&str]) -> (RunOutput, FakeServer) {
    let server = history();
    let ran = Home::with(&server).run(args);
    (ran, server)
}

#[test]
fn a_subject_is_named_as_any_other_record() {
    for (given, meant) in [
        (LICENSE, LICENSE),
        ("alice", USER),
        ("Pro annual", crate::support::PLAN),
        ("Acme Studio", crate::support::PRODUCT),
        ("ci", "key_01h455vb4pex5vsknk084sn02q"),
        (&LICENSE[..8], LICENSE),
    ] {
        let (_, server) = run(&["events", "list", "--subject", given]);
        let asked = format!("subject={meant}&");
        let first = server.lines().into_iter().find(|line| line.contains("admin/events?")).unwrap();
        assert!(first.contains(&asked), "{given}: {first}");
    }
    // The ends of all ids are alike here.
    let (ran, _) = run(&["events", "list", "--subject", &LICENSE[20..]]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(ran.stderr.contains("matches 4 records."), "{}", ran.stderr);
}

#[test]
fn what_is_not_known_is_an_error() {
    for (args, told) in [
        (&["events", "list", "--subject", "typo"][..], "No record matches typo."),
        (
            &["events", "list", "--subject", "lic_01h455vb4pex5vsknk084sn0zz"],
            "No record matches lic_01h455vb4pex5vsknk084sn0zz.",
        ),
        (&["events", "tail", "--subject", "typo"], "No record matches typo."),
        (&["events", "list", "--user", "alic"], "User alic not found.\n  Did you mean alice ("),
        (&["refusals", "list", "typo"], "User typo not found."),
        (&["refusals", "list", "typo", "--since", "1h"], "User typo not found."),
    ] {
        let (ran, _) = run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(&format!("error: {told}")), "{args:?}: {}", ran.stderr);
    }
}

/// Records outlive the user.
#[test]
fn a_deleted_or_quiet_user_is_no_error() {
    let found = |args: &[&str]| {
        let (ran, _) = run(&[args, &["-o", "json"]].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        ran.json().as_array().map(Vec::len)
    };
    assert_eq!(found(&["events", "list", "--user", "gone"]), Some(3));
    assert_eq!(found(&["events", "list", "--user", "gone", "--since", "1s"]), Some(0));
    assert_eq!(found(&["events", "list", "--user", "alice"]), Some(0));
    assert_eq!(found(&["refusals", "list", "gone"]), Some(1));
    assert_eq!(found(&["refusals", "list", "alice"]), Some(0));
    assert_eq!(found(&["refusals", "list", USER]), Some(0));
}

/// A user that is to come is worth waiting for.
#[test]
fn an_unknown_user_is_followed_with_a_note() {
    let (ran, _) = run(&["events", "tail", "--user", "newguy", "--for", "100ms"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.starts_with("note: User newguy not found."), "{}", ran.stderr);
}
