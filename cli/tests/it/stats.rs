//! `licctl stats`: the chart of a terminal, and the rows of everything else.

use crate::support::{FakeServer, Home, Reply, on_screen, service, statistics};

#[test]
fn a_pipe_gets_a_row_for_each_hour_or_day() {
    let home = Home::with(&service());
    insta::assert_snapshot!(home.run(&["stats"]).stdout, @"
    HOUR                      TOTAL  VALID  NO LICENSE  EXPIRED  REVOKED  SUSPENDED  EXCEEDED SEATS
    2026-03-01T22:00:00.000Z  16     16     0           0        0        0          0
    2026-03-01T23:00:00.000Z  9      8      0           1        0        0          0
    2026-03-02T00:00:00.000Z  3      0      0           3        0        0          0
    ");
    insta::assert_snapshot!(home.run(&["stats", "--by", "day"]).stdout, @"
    DAY         TOTAL  VALID  NO LICENSE  EXPIRED  REVOKED  SUSPENDED  EXCEEDED SEATS
    2026-03-01  25     24     0           1        0        0          0
    2026-03-02  3      0      0           3        0        0          0
    ");
}

#[test]
fn json_is_that_of_the_service_and_days_are_sums() {
    let home = Home::with(&service());
    assert_eq!(home.run(&["stats", "-o", "json"]).json(), statistics());
    let days = home.run(&["stats", "--by", "day", "-o", "json"]).json();
    assert_eq!(days["from"], statistics()["from"]);
    let counts = |at: usize| (days["days"][at]["day"].clone(), days["days"][at]["total"].clone());
    assert_eq!(counts(0), ("2026-03-01".into(), 25.into()));
    assert_eq!(counts(1), ("2026-03-02".into(), 3.into()));
}

#[test]
fn a_terminal_shows_a_bar_for_each_hour() {
    let home = Home::with(&service());
    let ran = on_screen(&home, &["stats"], 80);
    assert!(ran.stdout.contains("valid, up to 16 in one hour\n█▄\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("refused, up to 3 in one hour\n ▃█\n"), "{}", ran.stdout);
    let narrow = on_screen(&home, &["stats"], 2);
    assert!(narrow.stdout.contains("valid, up to 24 in 2 hours\n█\n"), "{}", narrow.stdout);
}

#[test]
fn a_chart_without_bars_is_a_word() {
    let server = FakeServer::answering(|_| {
        let mut valid = statistics();
        valid["hours"].as_array_mut().unwrap().truncate(1);
        Reply::data(200, &valid)
    });
    let ran = on_screen(&Home::with(&server), &["stats"], 80);
    assert!(ran.stdout.contains("\nrefused: none\n\nOUTCOME"), "{}", ran.stdout);
    assert!(!ran.stderr.contains("refusals list"), "{}", ran.stderr);
}

/// A person looks the refusals up by the word that the totals show.
#[test]
fn the_totals_name_reasons_as_refusals_do() {
    let server = FakeServer::answering(|_| {
        let mut full = statistics();
        (full["hours"][0]["exceededSeats"], full["hours"][0]["total"]) = (4.into(), 20.into());
        Reply::data(200, &full)
    });
    let ran = on_screen(&Home::with(&server), &["stats"], 80);
    assert!(ran.stdout.contains("\nexceeded_seats  4 "), "{}", ran.stdout);
    let refusals = ["refusals", "list", "--reason", "exceeded_seats"];
    assert_eq!(Home::with(&service()).run(&refusals).code, 0);
}

#[test]
fn nothing_at_all_is_said_in_words() {
    let server = FakeServer::answering(|_| {
        let mut empty = statistics();
        for hour in empty["hours"].as_array_mut().unwrap() {
            for (_, count) in hour.as_object_mut().unwrap().iter_mut().skip(1) {
                *count = 0.into();
            }
        }
        Reply::data(200, &empty)
    });
    let ran = on_screen(&Home::with(&server), &["stats"], 80);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("No validations"), "{}", ran.stderr);
}

#[test]
fn the_time_asked_for_is_bounded() {
    let server = service();
    let home = Home::with(&server);
    assert_eq!(home.run(&["stats", "--since", "31d"]).code, 2);
    assert!(server.received().is_empty());
    assert_eq!(home.run(&["stats", "--since", "30d"]).code, 0);
    assert!(server.lines()[0].contains("/statistics?from=20"), "{:?}", server.lines());
}
