//! Explanations: the answer of a validation in sentences, its verdict on each license, and what
//! would help a user who is refused.

mod products;
mod remedies;

use common::{
    Explain, ExplainedLicense, Explanation, ExternalId, License, MaxSeats, ProductId, Reason,
    Timestamp, Verdict,
};

use super::view::View;
use crate::error::Error;
use crate::store::validations::{self, AssignedLicense, NamedLicense};
use crate::store::{outcomes, products as stored_products, users};
use crate::validation::verdict::{Decision, decide, verdicts};

pub use products::{ExplainedUser, ProductAnswer, Refused, of_user};
pub use remedies::{Remedy, Term};

/// How many of the user's refusals an explanation carries at most.
const LAST_REFUSALS: i64 = 10;

/// Explains without any effect, and as of one moment.
pub async fn explain(view: View, request: Explain) -> Result<Explanation, Error> {
    let (mut tx, scope, now) = (view.snapshot().await?, view.scope, Timestamp::now());
    if let Some(product) = request.product_id {
        let product = stored_products::find(&mut tx, scope, product).await?;
        product.ok_or_else(|| Error::unknown("productId", "product"))?;
    }
    let refusals =
        outcomes::refusals_of_user(&mut tx, scope, &request.user_id, None, LAST_REFUSALS).await?;
    let Some(user) = users::find_external(&mut tx, scope, &request.user_id).await? else {
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
    let found = validations::explain(&mut tx, scope, user.id).await?;
    let (reason, licenses) = judge(&found, request.product_id, now);
    Ok(Explanation {
        valid: reason.is_none(),
        reason,
        summary: summary(&request.user_id, reason),
        checked_at: now,
        licenses,
        user: Some(user),
        refusals,
    })
}

/// Why a validation is refused that names this product, if it is, with the verdict on each license.
fn judge(
    found: &[NamedLicense],
    product: Option<ProductId>,
    now: Timestamp,
) -> (Option<Reason>, Vec<ExplainedLicense>) {
    let licenses: Vec<AssignedLicense> = found.iter().map(|found| found.assigned.clone()).collect();
    let reason = match decide(&licenses, product, now) {
        Decision::Refuse(reason) => Some(reason),
        Decision::Keep(_) | Decision::Take(_) => None,
    };
    let explained = found.iter().zip(verdicts(&licenses, product, now));
    let explained = explained.map(|(found, verdict)| ExplainedLicense {
        sentence: sentence(verdict, &found.assigned, now),
        license: found.assigned.license.clone(),
        product_name: found.product_name.clone(),
        plan_name: found.plan_name.clone(),
        assigned_at: found.assigned_at,
        seats_used: found.assigned.seats_used,
        activation: found.assigned.seat.clone(),
        verdict,
    });
    (reason, explained.collect())
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
