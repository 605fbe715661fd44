//! Finds remedies for a refused user.

use common::{
    ActivationId, ExplainedLicense, ExternalId, MaxSeats, Reason, Remedy, RemedyType, Status, Term,
    Timestamp, UsageActivation, Verdict,
};

use super::lost_seat::lost_seat;
use crate::db::Conn;
use crate::error::Error;
use crate::store::{Page, Scope, plans, seats};
use crate::validation::LastChecks;

/// Maximum number of holders of a full license that are shown.
const SHOWN_HOLDERS: usize = 10;
/// Maximum number of seats that are read to find the least recently checked ones. The oldest seats
/// are the most likely to be idle.
const READ_SEATS: i64 = 1000;

/// Returns the license that decides: the valid or full one, or the first with the fault that is the
/// reason.
pub fn deciding(
    reason: Option<Reason>,
    licenses: &mut [ExplainedLicense],
) -> Option<&mut ExplainedLicense> {
    // The license that gave the reason has the verdict of the same name.
    let verdict: Verdict = reason.map_or("valid", Reason::as_str).parse().ok()?;
    licenses.iter_mut().find(|license| license.verdict == verdict)
}

/// Whether a license behind a full one, which therefore is not considered, has a free seat.
fn has_free_license(licenses: &[ExplainedLicense], now: Timestamp) -> bool {
    licenses.iter().any(|it| {
        let has_seat = it.license.max_seats.is_none_or(|limit| it.seats_used < limit.get());
        let is_active = it.license.effective_status(now) == Status::Active;
        it.verdict == Verdict::NotReached && is_active && has_seat
    })
}

/// Adds the remedies to the license that decides, if any, and explains when the user lost its seat.
pub async fn add_remedies(
    conn: &mut Conn,
    (scope, user): (Scope, &ExternalId),
    reason: Option<Reason>,
    licenses: &mut [ExplainedLicense],
    checks: &LastChecks,
    now: Timestamp,
) -> Result<(), Error> {
    let is_free = has_free_license(licenses, now);
    if let Some(decides) = deciding(reason, licenses) {
        decides.remedies = find_remedies(conn, scope, decides, is_free, checks, now).await?;
        if decides.verdict == Verdict::ExceededSeats
            && let Some(lost) = lost_seat(conn, scope, user, decides.license.id).await?
        {
            decides.sentence += &format!(" {lost}");
        }
    }
    Ok(())
}

/// Returns what would license the user by the deciding license or a free one behind it, least drastic
/// first.
async fn find_remedies(
    conn: &mut Conn,
    scope: Scope,
    decides: &ExplainedLicense,
    has_free_license: bool,
    checks: &LastChecks,
    now: Timestamp,
) -> Result<Vec<Remedy>, Error> {
    let license = &decides.license;
    Ok(match decides.verdict.known() {
        Some(Verdict::ExceededSeats) => {
            let oldest = Page::oldest_first(ActivationId::default(), READ_SEATS);
            let mut holders = seats::page_of_license(conn, scope, license.id, oldest).await?;
            holders.iter_mut().for_each(|holder| checks.show(&mut holder.activation));
            // Users with a running lease come last, because they would not notice before its end.
            holders.sort_by_key(|UsageActivation { activation, .. }| {
                (activation.lease_until(now).is_some(), activation.last_checked_at)
            });
            holders.truncate(SHOWN_HOLDERS);
            let used = decides.seats_used;
            let count = Some(used - license.max_seats.map_or(0, MaxSeats::get) + 1);
            let free = Remedy { count, holders, ..Remedy::new(RemedyType::FreeSeats) };
            let max_seats = MaxSeats::new(i64::from(used) + 1).ok();
            let raise = Remedy { max_seats, ..Remedy::new(RemedyType::RaiseLimit) };
            let unassign = has_free_license.then(|| Remedy::new(RemedyType::Unassign));
            [unassign, Some(free), max_seats.map(|_| raise)].into_iter().flatten().collect()
        }
        Some(Verdict::Expired | Verdict::Suspended | Verdict::Revoked) => {
            let plan = plans::find(conn, scope, license.plan_id).await?;
            let days = plan.and_then(|plan| plan.expires_in_days);
            // The license may have this status, an end in the past, or both.
            let activate =
                (license.status != Status::Active).then(|| Remedy::new(RemedyType::Activate));
            let start = license.renews_from(&decides.terms, now);
            let term = days.and_then(|days| Term::beginning(start, days));
            let renew =
                license.has_ended(now).then(|| Remedy { term, ..Remedy::new(RemedyType::Renew) });
            activate.into_iter().chain(renew).collect()
        }
        Some(Verdict::Valid | Verdict::NotReached | Verdict::OtherProduct) | None => Vec::new(),
    })
}
