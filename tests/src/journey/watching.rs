//! An operator's view of a running service: live changes, refusals, counts, and the page of a user.

use serde_json::Value;

use super::{RunOutput, Shell};
use crate::harness::App;

/// A service with a license of one seat, which alice holds, and the license's id.
async fn one_license() -> (App, String) {
    let app = App::start().await;
    let shell = Shell::at(&app);
    shell.get("licctl products create --name Studio");
    shell.get("licctl plans create --product Studio --name Pro --max-seats 1");
    let license = shell.get("licctl licenses create --plan Pro --assign alice --assign bob -q");
    shell.get("licctl validate alice");
    (app, license)
}

/// The follower runs while the change is made, and ends with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_followed_as_it_happens() {
    let (app, license) = one_license().await;
    let shell = Shell::at(&app);
    let before = shell.json("licctl events list --limit 1");
    let sequence = before[0]["sequence"].to_string();
    let line =
        format!("events tail --subject {license} --until-type license.status_changed -o jsonl");
    let words: Vec<&str> = line.split(' ').chain(["--after", &sequence]).collect();
    let follower = shell.command(&words).spawn().unwrap();
    shell.get("licctl products create --name Other");
    shell.get(&format!("licctl licenses update {license} --max-seats 2"));
    shell.get(&format!("licctl licenses suspend {license}"));

    let followed = RunOutput::from(follower.wait_with_output().unwrap());
    assert_eq!(followed.code, 0, "{}", followed.stderr);
    let events: Vec<Value> =
        followed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
    assert_eq!(types, ["license.updated", "license.status_changed"]);
    assert_eq!(events[0]["data"]["previous"]["maxSeats"], 1);

    let listed = shell.get(&format!("licctl events list --subject {license} --after {sequence}"));
    assert!(listed.contains("maxSeats: 1 → 2"), "{listed}");
    assert!(listed.contains("status: active → suspended"), "{listed}");
    let all = shell.json("licctl events list --since 1h");
    let sequences: Vec<i64> =
        all.as_array().unwrap().iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
    assert_eq!(sequences, (1..=sequences.len() as i64).collect::<Vec<_>>(), "all, in order");
}

/// A clean stop writes the last outcomes, so they are known after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_listed_and_counted() {
    let (app, license) = one_license().await;
    for _ in 0..3 {
        assert_eq!(Shell::at(&app).run("licctl validate bob").code, 10);
    }
    let app = App::on(app.stop().await).await;
    let shell = Shell::at(&app);
    let sum = |list: &Value, member: &str| -> i64 {
        list.as_array().unwrap().iter().map(|it| it[member].as_i64().unwrap()).sum()
    };
    let refusals = shell.json("licctl refusals list bob --reason exceeded_seats --since 1h");
    assert_eq!(sum(&refusals, "count"), 3);
    assert_eq!(refusals[0]["licenseId"], license);
    assert_eq!(shell.get("licctl refusals list alice -o json"), "[]");
    let hours = &shell.json("licctl stats --since 2h")["hours"];
    assert_eq!((sum(hours, "valid"), sum(hours, "exceededSeats")), (1, 3));

    let page = shell.get("licctl users get bob");
    for part in [&*license, "exceeded_seats", "1/1", "Recent refusals", "license.assigned"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let wrong = shell.run("licctl users get Bob");
    assert_eq!(wrong.code, 3);
    assert!(wrong.stderr.contains("Did you mean bob?"), "{}", wrong.stderr);
}
