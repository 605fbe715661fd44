//! `licctl plans apply`: the gains and losses of a plan's licenses, and the requests that are sent.

use serde_json::{Value, json};

use crate::support::{FakeServer, Home, Reply, license_with_seats, plan};

/// The service with a floating plan of 5 seats, and with these licenses of it.
fn sold(changes: &'static [fn(&mut Value)]) -> FakeServer {
    FakeServer::answering(move |request| {
        let mut plan = plan("Pro annual");
        (plan["seatIdleMinutes"], plan["graceDays"]) = (json!(60), json!(14));
        let licenses = changes.iter().enumerate().map(|(at, change)| {
            let mut license = license_with_seats(3);
            license["id"] = json!(id(at));
            license["terms"] =
                json!({ "seatIdleMinutes": 60, "graceDays": 14, "startsWithDays": null });
            change(&mut license);
            license
        });
        let licenses: Vec<Value> = licenses.collect();
        match (&*request.method, &*request.path) {
            ("GET", path) if path.contains("/licenses?planId=") => Reply::list(&licenses),
            ("GET", path) if path.contains("/plans") => Reply::list(&[plan]),
            ("PATCH", _) => Reply::data(200, &licenses[0]),
            _ => Reply::list(&[]),
        }
    })
}

fn id(at: usize) -> String {
    format!("lic_01h455vb4pex5vsknk084sn02{at}")
}

/// A license that would lose something keeps its terms, and the dry run's exit code says so.
#[test]
fn a_plan_reaches_sold_licenses_without_taking_anything() {
    let server = sold(&[
        |_| {},
        |it| it["features"] = json!(["sso"]),
        |it| (it["maxSeats"], it["features"]) = (json!(20), json!(["sso", "reports"])),
        |it| it["maxSeats"] = json!(2),
    ]);
    let home = Home::with(&server);
    let json = |args: &[&str]| {
        let ran = home.run(&[&["plans", "apply", "Pro annual", "-o", "json"], args].concat());
        let it: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
        (ran.code, it)
    };
    let (code, planned) = json(&["--dry-run"]);
    assert_eq!(code, 10);
    let of = |name: &str| -> Vec<Value> {
        planned.as_array().unwrap().iter().map(|it| it[name].clone()).collect()
    };
    assert_eq!(of("id"), [id(1), id(2), id(3)], "the first is as the plan says");
    assert_eq!(of("result"), ["planned", "kept", "planned"]);
    assert_eq!(
        of("changes"),
        [
            json!(["+export"]),
            json!(["seats 20 → 5", "+export", "-reports"]),
            json!(["seats 2 → 5"])
        ]
    );
    assert_eq!(of("losses"), [json!([]), json!(["seats 20 → 5", "-reports"]), json!([])]);
    let sent = || -> Vec<Value> {
        server.received().into_iter().filter(|it| it.method == "PATCH").map(|it| it.body).collect()
    };
    assert_eq!(sent(), [Value::Null; 0]);

    let (code, applied) = json(&[]);
    assert_eq!((code, &applied[2]["result"]), (0, &json!("kept")));
    assert_eq!(sent(), [json!({ "features": ["export", "sso"] }), json!({ "maxSeats": 5 })]);
    let (code, of_one_field) = json(&["--field", "graceDays,maxSeats", "--dry-run"]);
    assert_eq!((code, of_one_field.as_array().unwrap().len()), (10, 2));
    assert_eq!(of_one_field[0]["changes"], json!(["seats 20 → 5"]));
    let refused = home.run(&["plans", "apply", "Pro annual", "--with-losses"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("of which 1 lose something?"), "{}", refused.stderr);
    let (code, _) = json(&["--with-losses", "--yes"]);
    assert_eq!(code, 0);
    assert_eq!(sent()[3], json!({ "maxSeats": 5, "features": ["export", "sso"] }));
}

/// More or longer is no loss, and every other change of a term is one.
#[test]
fn each_term_that_shrinks_is_a_loss() {
    let server = sold(&[
        |it| it["terms"]["seatIdleMinutes"] = json!(30),
        |it| it["terms"]["graceDays"] = Value::Null,
        |it| it["terms"]["seatIdleMinutes"] = json!(90),
        |it| it["terms"]["seatIdleMinutes"] = Value::Null,
        |it| it["terms"]["graceDays"] = json!(30),
        |it| it["maxSeats"] = Value::Null,
    ]);
    let home = Home::with(&server);
    let ran = home.run(&["plans", "apply", "Pro annual", "--dry-run", "-o", "csv"]);
    assert_eq!(ran.code, 10, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().skip(1).collect();
    let expected = [
        (0, "planned,idle time 30 min → 1 h,"),
        (1, "planned,grace none → 14 days,"),
        (2, "kept,idle time 90 min → 1 h,idle time 90 min → 1 h"),
        (3, "kept,idle time none → 1 h,idle time none → 1 h"),
        (4, "kept,grace 30 days → 14 days,grace 30 days → 14 days"),
        (5, "kept,seats no limit → 5,seats no limit → 5"),
    ];
    for (line, (at, rest)) in lines.iter().zip(expected) {
        assert_eq!(*line, format!("{},Order 4711,{rest}", id(at)));
    }
    assert_eq!(lines.len(), expected.len());
}
