//! Explanations of validations: the result in sentences, the verdict on each license, and remedies
//! for a refused user.

mod lost_seat;
mod namesakes;
mod products;
mod remedies;

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use common::{
    Explain, ExplainedLicense, Explanation, ExternalId, License, LicenseId, MaxSeats, Open,
    ProductId, Reason, RenamedUser, Status, Timestamp, User, UserRefusal, Verdict,
};

use super::renames::renamed_from;
use super::view::View;
use crate::db::Conn;
use crate::error::Error;
use crate::store::outcomes::RefusalFilter;
use crate::store::seats::HeldSeat;
use crate::store::validations::{self, AssignedLicense, NamedLicense};
use crate::store::{Page, Scope, outcomes, products as stored_products, users};
use crate::validation::LastChecks;
use crate::validation::idle::{ContestedLicense, IdleSeats};
use crate::validation::verdict::{Decision, decide, verdicts};

use namesakes::licensed_namesakes;
pub use products::{ExplainedUser, ProductAnswer, Refused, of_user};
use remedies::add_remedies;

/// Time after which it is worth asking again for an idle seat, if no better time is known.
const SOON: TimeDelta = TimeDelta::minutes(1);

/// Seats that a validation would take over, by license.
type IdleHolders = BTreeMap<LicenseId, Vec<HeldSeat>>;

/// Maximum number of the user's refusals in an explanation.
const LAST_REFUSALS: i64 = 10;

/// Explains a validation without any effect, from one snapshot.
pub async fn explain(view: View, request: Explain) -> Result<Explanation, Error> {
    let (mut tx, scope, now) = (view.snapshot().await?, view.scope, Timestamp::now());
    if let Some(product) = request.product_id {
        let product = stored_products::find(&mut tx, scope, product).await?;
        product.ok_or_else(|| Error::unknown("productId", "product"))?;
    }
    let user = users::find_external(&mut tx, scope, &request.user_id).await?;
    let facts = UserFacts::read(&mut tx, &view, &request.user_id, user.as_ref(), now).await?;
    let (reason, mut licenses) = judge(&facts, request.product_id, now);
    let reason = if user.is_none() { Some(Reason::UserNotFound) } else { reason };
    let of = (scope, &request.user_id);
    add_remedies(&mut tx, of, reason, &mut licenses, &view.last_checks, now).await?;
    let considered = licenses.iter().filter(|it| it.verdict != Verdict::OtherProduct);
    let considered: Vec<&License> = considered.map(|it| &it.license).collect();
    let renamed_to = facts.renamed_to.filter(|_| reason.is_some());
    let summary = summary(&request, reason, &considered, now);
    Ok(Explanation {
        valid: reason.is_none(),
        reason: reason.map(Open::Known),
        summary: summary + &renamed(&request.user_id, renamed_to.as_ref()),
        checked_at: now,
        licenses,
        user,
        refusals: facts.refusals,
        similar_users: facts.similar_users,
        renamed_to,
    })
}

/// Facts about an external id, and about its user if there is one.
struct UserFacts {
    licenses: Vec<NamedLicense>,
    idle: IdleHolders,
    /// Last refused validations, newest first.
    refusals: Vec<UserRefusal>,
    /// Users with a license who may be the same person, if this user has none.
    similar_users: Vec<User>,
    /// User who had this external id before and has another one now.
    renamed_to: Option<RenamedUser>,
}

impl UserFacts {
    async fn read(
        conn: &mut Conn,
        view: &View,
        id: &ExternalId,
        user: Option<&User>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let scope = view.scope;
        let mut licenses = match user {
            Some(user) => validations::explain(conn, scope, user.id).await?,
            None => Vec::new(),
        };
        show_checks(&mut licenses, &view.last_checks);
        let idle = find_idle(conn, scope, &mut licenses, now).await?;
        let of_user = RefusalFilter { user: Some(id.to_string()), ..RefusalFilter::default() };
        let newest = Page::newest_first(None, LAST_REFUSALS);
        let refusals = outcomes::refusals(conn, scope, &of_user, newest).await?.records;
        let similar_users = match licenses.as_slice() {
            [] => licensed_namesakes(conn, scope, id, user).await?,
            _ => Vec::new(),
        };
        let renamed_to = renamed_from(conn, scope, id, user).await?;
        Ok(Self { licenses, idle, refusals, similar_users, renamed_to })
    }
}

/// Returns a sentence about the user who had this external id before.
fn renamed(former: &ExternalId, renamed_to: Option<&RenamedUser>) -> String {
    renamed_to.map_or_else(String::new, |it| {
        let day = it.renamed_at.day();
        format!(" The user who was {former} before has been {} since {day}.", it.external_id)
    })
}

/// Updates the last checks of seats with those in memory.
fn show_checks(found: &mut [NamedLicense], checks: &LastChecks) {
    found.iter_mut().filter_map(|it| it.assigned.seat.as_mut()).for_each(|it| checks.show(it));
}

/// Returns the idle seats that a validation of this user could take over, and marks full licenses
/// that have none.
async fn find_idle(
    conn: &mut Conn,
    scope: Scope,
    found: &mut [NamedLicense],
    now: Timestamp,
) -> Result<IdleHolders, Error> {
    let may_take_over = |it: &NamedLicense| {
        let wanted = ContestedLicense::new(scope, &it.assigned, 1, now);
        wanted.filter(|_| it.assigned.seat.is_none())
    };
    let wanted: Vec<_> = found.iter().filter_map(may_take_over).collect();
    let mut idle = IdleSeats::find(conn, &wanted, &BTreeSet::new(), now).await?;
    let mut holders = IdleHolders::new();
    for NamedLicense { assigned, .. } in found {
        let license = assigned.license.id;
        if wanted.iter().all(|wanted| wanted.license != license) {
            continue;
        }
        match idle.take_for_one(assigned) {
            Some(seats) => drop(holders.insert(license, seats)),
            // Without a known time, no seat can be taken over for now.
            None => assigned.seats_idle_at = idle.next(license).or(Some(now.plus(SOON))),
        }
    }
    Ok(holders)
}

/// Returns the reason for a refused validation of this product, if it is refused, and the verdict
/// on each license.
fn judge(
    UserFacts { licenses: found, idle, .. }: &UserFacts,
    product: Option<ProductId>,
    now: Timestamp,
) -> (Option<Reason>, Vec<ExplainedLicense>) {
    let licenses: Vec<AssignedLicense> = found.iter().map(|found| found.assigned.clone()).collect();
    let reason = match decide(&licenses, product, now) {
        Decision::Refuse(reason, _) => Some(reason),
        Decision::Keep(..) | Decision::Take(_) | Decision::TakeOver(_) => None,
    };
    let verdicts = verdicts(&licenses, product, now);
    let first = |verdict| verdicts.iter().position(|it| *it == verdict).map(|at| at + 1);
    let decisive = first(Verdict::Valid).or_else(|| first(Verdict::ExceededSeats));
    let explained = found.iter().zip(verdicts);
    let explained = explained.map(|(found, verdict)| ExplainedLicense {
        sentence: {
            let idle = idle.get(&found.assigned.license.id).map(Vec::as_slice);
            sentence(verdict, found, idle, decisive, now) + &offline(&found.assigned, now)
        },
        license: found.assigned.license.clone(),
        product_name: found.product_name.clone(),
        plan_name: found.plan_name.clone(),
        assigned_at: found.assigned_at,
        name: found.license_name.clone(),
        claimed_with: found.claimed_with,
        terms: found.assigned.terms,
        seats_used: found.assigned.seats_used,
        activation: found.assigned.seat.clone(),
        verdict: Open::Known(verdict),
        remedies: Vec::new(),
    });
    (reason, explained.collect())
}

/// Returns the result in a sentence. `considered` are the licenses that the request is about.
fn summary(
    request: &Explain,
    reason: Option<Reason>,
    considered: &[&License],
    now: Timestamp,
) -> String {
    let user = &request.user_id;
    let product = if request.product_id.is_some() { " for this product" } else { "" };
    let Some(reason) = reason else { return format!("{user} is licensed{product}.") };
    match (reason, considered) {
        (Reason::UserNotFound, _) => {
            format!("{user} is unknown; a validation would create this user.")
        }
        (Reason::NoLicense, _) => format!("{user} has no license{product}."),
        (Reason::ExceededSeats, _) => {
            format!("{user} has a license{product}, but all of its seats are taken.")
        }
        (Reason::Expired, [one]) => match last_end(&[one], now) {
            Some(end) => format!("{user}'s license{product} expired on {end}."),
            None => format!("{user}'s license{product} has expired."),
        },
        (Reason::Expired, _) => match last_end(considered, now) {
            Some(end) => {
                format!("{user} has no valid license{product}; the last expired on {end}.")
            }
            None => format!("{user} has no valid license{product}; one has expired."),
        },
        (Reason::Suspended, [_]) => format!("{user}'s license{product} is suspended."),
        (Reason::Suspended, _) => {
            format!("{user} has no valid license{product}; one is suspended.")
        }
        (Reason::Revoked, [_]) => format!("{user}'s license{product} is revoked."),
        (Reason::Revoked, _) => format!("All licenses of {user}{product} are revoked."),
    }
}

/// Returns the day on which the last of the expired licenses ended, if it had an end.
fn last_end(licenses: &[&License], now: Timestamp) -> Option<String> {
    let expires = |license: &&&License| matches!(license.status, Status::Active | Status::Expired);
    let ends = licenses.iter().filter(expires).filter_map(|license| license.expires_at);
    ends.filter(|&end| end <= now).max().map(Timestamp::day)
}

/// Returns the verdict on a license in a sentence. `decisive` is the number of the license that is
/// used, and `idle` are the seats that would be taken over.
fn sentence(
    verdict: Verdict,
    NamedLicense { assigned, product_name, .. }: &NamedLicense,
    idle: Option<&[HeldSeat]>,
    decisive: Option<usize>,
    now: Timestamp,
) -> String {
    match verdict {
        Verdict::Valid => {
            let AssignedLicense { license, terms, seat, .. } = assigned;
            let seats = match (seat, idle) {
                (Some(_), _) => "the user holds a seat".to_owned(),
                (None, Some([one, ..])) => {
                    let (user, since) = (&one.external_id, one.seat.last_checked_at);
                    format!("the seat of {user}, idle since {since}, comes free")
                }
                (None, _) => "a seat is free".to_owned(),
            };
            match license.in_grace_until(terms, now).zip(license.expires_at) {
                Some((until, end)) => {
                    format!("Expired at {end}, in grace until {until}, and {seats}.")
                }
                None => match terms.starts_with_days {
                    Some(days) => format!("Valid: its {days} days start now, and {seats}."),
                    None => format!("Valid, and {seats}."),
                },
            }
        }
        Verdict::ExceededSeats => full(assigned),
        Verdict::Expired => {
            let ended = expired(&assigned.license, now);
            let in_grace = assigned.license.is_in_grace(&assigned.terms, now);
            if in_grace { format!("{ended} It is in grace. {}", full(assigned)) } else { ended }
        }
        Verdict::Suspended => "Suspended.".into(),
        Verdict::Revoked => "Revoked.".into(),
        Verdict::NotReached => match decisive {
            Some(number) => format!("Valid too, but license {number} is used."),
            None => "Valid too, but an earlier license is used.".into(),
        },
        Verdict::OtherProduct => format!("Skipped: this license is for {product_name}."),
    }
}

/// Returns a sentence about a running lease, which is valid whatever the verdict.
fn offline(assigned: &AssignedLicense, now: Timestamp) -> String {
    let until = assigned.seat.as_ref().and_then(|seat| seat.lease_until(now));
    until.map_or_else(String::new, |until| {
        format!(" Offline a lease licenses the user until {until}.")
    })
}

fn full(assigned: &AssignedLicense) -> String {
    let next = assigned.seats_idle_at.filter(|_| assigned.idle_time().is_some());
    let next = next.map_or_else(String::new, |at| {
        format!(" The license is floating, and a seat can come free at {at}.")
    });
    match assigned.license.max_seats.map(MaxSeats::get) {
        Some(1) => format!("Another user holds the only seat.{next}"),
        seats => format!("All {} seats are taken.{next}", seats.unwrap_or(0)),
    }
}

fn expired(license: &License, now: Timestamp) -> String {
    match license.expires_at {
        Some(end) if license.has_ended(now) => format!("Expired at {end}."),
        _ => "Its status is expired.".into(),
    }
}
