//! Counting in memory: counts add up, and the limits hold.

use common::{Mode, Name, TenantId};
use tempfile::TempDir;

use super::*;
use crate::ops::tenants;
use crate::store::Page;
use crate::store::outcomes::RefusalFilter;

fn scope() -> Scope {
    Scope { world: 1.into(), tenant: TenantId::default(), mode: Mode::Live }
}

fn noon() -> Timestamp {
    "2027-01-31T12:00:00Z".parse().unwrap()
}

fn after(seconds: i64) -> Timestamp {
    noon().plus(TimeDelta::seconds(seconds))
}

fn user(name: &str) -> ExternalId {
    name.parse().unwrap()
}

/// Counts a validation, and returns the license that gave the reason.
fn note(
    outcomes: &OutcomeCounts,
    name: &str,
    reason: Option<Reason>,
    now: Timestamp,
) -> Option<LicenseId> {
    let (scope, user, license) = (scope(), user(name), reason.map(|_| LicenseId::new(now)));
    let decided = DecidedValidation { scope, user: &user, reason, license };
    outcomes.record_batch([decided].into_iter(), now);
    license
}

fn take(outcomes: &OutcomeCounts) -> Unwritten {
    std::mem::take(&mut *outcomes.pending.lock()).into()
}

/// Returns each count as hour, outcome and number.
fn counts(unwritten: &Unwritten) -> Vec<(String, &'static str, i64)> {
    let counts = unwritten.counts.iter().map(|(_, count)| count);
    counts
        .map(|count| {
            let hour = count.hour.to_string()[11..13].to_owned();
            (hour, count.reason.map_or("valid", Reason::as_str), count.count)
        })
        .collect()
}

#[test]
fn outcomes_are_counted_by_hour() {
    let outcomes = OutcomeCounts::default();
    note(&outcomes, "ada", None, noon());
    note(&outcomes, "ada", None, after(3599));
    note(&outcomes, "ada", Some(Reason::Expired), after(3599));
    note(&outcomes, "ada", None, after(3600));
    let counted =
        [("12".into(), "valid", 2), ("12".into(), "expired", 1), ("13".into(), "valid", 1)];
    assert_eq!(counts(&take(&outcomes)), counted);
    assert_eq!(counts(&take(&outcomes)), [], "what was taken is counted once");
}

#[test]
fn the_refusals_of_a_user_add_up() {
    let outcomes = OutcomeCounts::default();
    let licenses = [5, 9, 3].map(|at| note(&outcomes, "ada", Some(Reason::Revoked), after(at)));
    note(&outcomes, "ada", Some(Reason::Expired), after(4));
    note(&outcomes, "bob", Some(Reason::Revoked), after(4));
    note(&outcomes, "ada", Some(Reason::Revoked), after(3600));
    let taken = take(&outcomes).refusals;
    let lines =
        taken.iter().map(|(_, it)| (it.user_id.as_str(), it.reason.known().unwrap(), it.count));
    let lines: Vec<_> = lines.collect();
    let revoked = Reason::Revoked;
    let expected = [("ada", Reason::Expired, 1), ("ada", revoked, 3), ("bob", revoked, 1)];
    assert_eq!(lines[..3], expected);
    assert_eq!(lines[3], ("ada", revoked, 1), "of the next hour");
    let ada = &taken[1].1;
    assert_eq!((ada.first_at, ada.last_at, ada.hour), (after(3), after(9), noon()));
    assert_eq!(ada.license_id, licenses[1], "of the last refusal");
}

/// Counts that could not be written are added to those that came in the meantime.
#[test]
fn unwritten_counts_are_added_again() {
    let outcomes = OutcomeCounts::default();
    note(&outcomes, "ada", Some(Reason::Revoked), after(1));
    let unwritten = take(&outcomes);
    let first = unwritten.refusals[0].1.clone();
    note(&outcomes, "ada", Some(Reason::Revoked), after(2));
    outcomes.pending.lock().put_back(unwritten);
    let both = take(&outcomes);
    assert_eq!(counts(&both), [("12".into(), "revoked", 2)]);
    let both = &both.refusals[0].1;
    assert_eq!((both.count, both.first_at, both.last_at), (2, after(1), after(2)));
    assert_eq!(both.id, first.id);
    assert_ne!(both.license_id, first.license_id, "the later license stays");
}

/// Beyond the limit, new users are only counted. Users that are already known are still updated.
#[test]
fn refused_users_are_bounded() {
    let outcomes = OutcomeCounts::default();
    for number in 0..MAX_REFUSALS + 5 {
        note(&outcomes, &format!("user-{number}"), Some(Reason::NoLicense), noon());
    }
    note(&outcomes, "user-0", Some(Reason::NoLicense), after(1));
    assert_eq!(outcomes.pending.lock().without_user, 5);
    let taken = take(&outcomes);
    assert_eq!(taken.refusals.len(), MAX_REFUSALS);
    assert_eq!(taken.refusals[0].1.count, 2);
    assert_eq!(counts(&taken), [("12".into(), "no_license", MAX_REFUSALS as i64 + 6)]);
    note(&outcomes, "new", Some(Reason::NoLicense), noon());
    outcomes.pending.lock().put_back(taken);
    assert_eq!(outcomes.pending.lock().users, MAX_REFUSALS, "the same limit applies");
    assert_eq!(outcomes.pending.lock().without_user, 1);
}

#[test]
fn counts_are_bounded() {
    let outcomes = OutcomeCounts::default();
    let hours = MAX_COUNTS as i64 + 3;
    for hour in 0..hours {
        note(&outcomes, "ada", None, after(hour * 3600));
    }
    note(&outcomes, "ada", None, after(1));
    assert_eq!(outcomes.pending.lock().uncounted, 3);
    let taken = take(&outcomes);
    assert_eq!(taken.counts.len(), MAX_COUNTS);
    assert_eq!(taken.counts[0].1.count, 2);
}

/// While the database is unavailable, counts stay in memory. They are written once it is back.
#[tokio::test]
async fn unwritten_counts_are_written_later() {
    let folder = TempDir::new().unwrap();
    let url = format!("sqlite://{}", folder.path().join("licd.db").display()).parse().unwrap();
    let db = Db::open(&url).await.unwrap();
    tenants::create(&db, Name::from_static("default"), |_, _| true).await.unwrap();
    db.close().await;
    let outcomes = OutcomeCounts::default();
    note(&outcomes, "ada", Some(Reason::Revoked), after(1));
    assert!(outcomes.flush(&db).await.is_err());
    note(&outcomes, "ada", Some(Reason::Revoked), after(2));
    let back = Db::open(&url).await.unwrap();
    for _ in 0..2 {
        outcomes.flush(&back).await.unwrap();
    }
    let mut conn = back.read().await.unwrap();
    let counted = outcomes::counts(&mut conn, scope(), noon(), after(3600)).await.unwrap();
    assert_eq!(counted, [OutcomeCount { hour: noon(), reason: Some(Reason::Revoked), count: 2 }]);
    let refusals = outcomes::refusals(
        &mut conn,
        scope(),
        &RefusalFilter::default(),
        Page::newest_first(None, 10),
    )
    .await
    .unwrap()
    .records;
    let [ada] = &refusals[..] else { panic!("{refusals:?}") };
    assert_eq!((ada.count, ada.first_at, ada.last_at), (2, after(1), after(2)));
}
