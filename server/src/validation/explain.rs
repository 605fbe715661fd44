//! Explanations: the answer of a validation in sentences, and its verdict on each license.

use common::{
    Explain, ExplainedLicense, Explanation, ExternalId, License, MaxSeats, Reason, Timestamp,
    Verdict,
};

use super::verdict::{Decision, decide, verdicts};
use crate::db::Conn;
use crate::error::Error;
use crate::store::validations::{self, AssignedLicense};
use crate::store::{Scope, outcomes, products, users};

/// How many of the user's refusals an explanation carries at most.
const LAST_REFUSALS: i64 = 10;

/// Explains without any effect, and as of one moment if `tx` is a snapshot.
pub async fn explain(
    tx: &mut Conn,
    scope: Scope,
    request: Explain,
    now: Timestamp,
) -> Result<Explanation, Error> {
    if let Some(product) = request.product_id {
        let product = products::find(tx, scope, product).await?;
        product.ok_or_else(|| Error::unknown("productId", "product"))?;
    }
    let refusals =
        outcomes::refusals_of_user(tx, scope, &request.user_id, None, LAST_REFUSALS).await?;
    let Some(user) = users::find_external(tx, scope, &request.user_id).await? else {
        return Ok(Explanation {
            valid: false,
            reason: Some(Reason::UserNotFound),
            summary: summary(&request.user_id, Some(Reason::UserNotFound)),
            checked_at: now,
            user: None,
            licenses: Vec::new(),
            refusals,
        });
    };
    let found = validations::explain(tx, scope, user.id).await?;
    let licenses: Vec<AssignedLicense> = found.iter().map(|found| found.assigned.clone()).collect();
    let reason = match decide(&licenses, request.product_id, now) {
        Decision::Refuse(reason) => Some(reason),
        Decision::Keep(_) | Decision::Take(_) => None,
    };
    let verdicts = verdicts(&licenses, request.product_id, now);
    let explained = found.into_iter().zip(verdicts).map(|(found, verdict)| ExplainedLicense {
        sentence: sentence(verdict, &found.assigned, now),
        license: found.assigned.license,
        product_name: found.product_name,
        plan_name: found.plan_name,
        assigned_at: found.assigned_at,
        seats_used: found.assigned.seats_used,
        activation: found.assigned.seat,
        verdict,
    });
    Ok(Explanation {
        valid: reason.is_none(),
        reason,
        summary: summary(&request.user_id, reason),
        checked_at: now,
        licenses: explained.collect(),
        user: Some(user),
        refusals,
    })
}

fn summary(user: &ExternalId, reason: Option<Reason>) -> String {
    let what = match reason {
        None => "is licensed",
        Some(Reason::NoLicense) => "has no license",
        Some(Reason::Expired) => "has no license that is still in force: the best one has expired",
        Some(Reason::Revoked) => "has no license in force: what there was is revoked",
        Some(Reason::Suspended) => "has no license in force: the best one is suspended",
        Some(Reason::ExceededSeats) => "has a license, but no seat of it is free",
        Some(Reason::UserNotFound) => "is unknown; a validation would create the user",
    };
    format!("{user} {what}.")
}

fn sentence(verdict: Verdict, assigned: &AssignedLicense, now: Timestamp) -> String {
    match verdict {
        Verdict::Valid if assigned.seat.is_some() => "In force, and the user holds a seat.".into(),
        Verdict::Valid => "In force, and a seat is free.".into(),
        Verdict::ExceededSeats => match assigned.license.max_seats.map(MaxSeats::get) {
            Some(1) => "In force, but its only seat is held by another user.".into(),
            seats => format!("In force, but all of its {} seats are held.", seats.unwrap_or(0)),
        },
        Verdict::Expired => expired(&assigned.license, now),
        Verdict::Suspended => "Suspended.".into(),
        Verdict::Revoked => "Revoked.".into(),
        Verdict::NotReached => "In force, but an earlier license of the user decides.".into(),
        Verdict::OtherProduct => "Of another product than the request names.".into(),
    }
}

fn expired(license: &License, now: Timestamp) -> String {
    match license.expires_at {
        Some(end) if end <= now => format!("Expired at {end}."),
        _ => "Its status was set to expired.".into(),
    }
}
