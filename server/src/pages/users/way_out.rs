//! The way out for a user who is refused, as forms: what `licctl validate --explain` advises.

use chrono::TimeDelta;
use common::{
    ActivationId, ExplainedLicense, Explanation, License, MaxSeats, Reason, Status, Timestamp,
    Verdict,
};

use crate::error::Error;
use crate::ops::licenses::{self, SeatHolder};
use crate::ops::view::View;
use crate::pages::fields::last_day;
use crate::store::Page;

/// For how long a license is renewed that was never valid.
const DEFAULT_RENEWAL: TimeDelta = TimeDelta::days(30);
/// How many holders of a full license are shown.
const SHOWN_HOLDERS: usize = 10;
/// How many seats are read to find the least recently checked ones. The oldest are read, which are
/// the most likely to be idle.
const READ_SEATS: i64 = 1000;

/// The license that decides: the valid or full one, or the first with the fault that is the reason.
pub fn deciding(explained: &Explanation) -> Option<&ExplainedLicense> {
    let verdict = match explained.reason {
        None => Verdict::Valid,
        Some(Reason::ExceededSeats) => Verdict::ExceededSeats,
        Some(Reason::Expired) => Verdict::Expired,
        Some(Reason::Suspended) => Verdict::Suspended,
        Some(Reason::Revoked) => Verdict::Revoked,
        Some(Reason::NoLicense | Reason::UserNotFound) => return None,
    };
    explained.licenses.iter().find(|license| license.verdict == verdict)
}

/// What would put the deciding license in force for the user.
#[derive(Default)]
pub struct WayOut {
    /// Its status must become active.
    pub activates: bool,
    /// Its end must move to this day, or another one.
    pub renews_until: Option<String>,
    /// It needs a free seat.
    pub room: Option<Room>,
}

impl WayOut {
    pub async fn of(view: View, explained: &Explanation) -> Result<Self, Error> {
        let Some(decides) = deciding(explained) else { return Ok(Self::default()) };
        let license = &decides.license;
        Ok(match decides.verdict {
            Verdict::ExceededSeats => {
                let oldest = Page::oldest_first(ActivationId::default(), READ_SEATS);
                let holders = licenses::holders(view, license.id, oldest).await?;
                Self { room: Some(Room::of(decides, holders)), ..Self::default() }
            }
            // It may have that status, an end in the past, or both.
            Verdict::Expired => Self {
                activates: license.status != Status::Active,
                renews_until: renewed_end(license, explained.checked_at),
                room: None,
            },
            Verdict::Suspended | Verdict::Revoked => Self { activates: true, ..Self::default() },
            Verdict::Valid | Verdict::NotReached | Verdict::OtherProduct => Self::default(),
        })
    }
}

/// How a full license gets a free seat.
pub struct Room {
    /// Some who hold a seat, least recently checked first.
    pub holders: Vec<SeatHolder>,
    /// How many more hold one.
    pub more: usize,
    /// How many of them must leave. A limit that was lowered leaves more than one.
    pub too_many: i32,
    /// The limit that has a seat for the user.
    pub limit: Option<MaxSeats>,
}

impl Room {
    fn of(full: &ExplainedLicense, mut holders: Vec<SeatHolder>) -> Self {
        holders.sort_by_key(|holder| holder.last_checked_at);
        holders.truncate(SHOWN_HOLDERS);
        let allowed = full.license.max_seats.map_or(0, MaxSeats::get);
        let more = usize::try_from(full.seats_used).unwrap_or(0).saturating_sub(holders.len());
        let limit = MaxSeats::new(i64::from(full.seats_used) + 1).ok();
        Self { holders, more, too_many: full.seats_used - allowed + 1, limit }
    }
}

/// The last valid day of an expired license that is renewed for as long as it was valid.
fn renewed_end(license: &License, now: Timestamp) -> Option<String> {
    let end = license.expires_at.filter(|&end| end <= now)?;
    let valid_for = end.since(license.created_at);
    // An end before the license shows nothing of the time that was sold.
    let valid_for = if valid_for > TimeDelta::zero() { valid_for } else { DEFAULT_RENEWAL };
    Some(last_day(now.plus(valid_for)))
}

#[cfg(test)]
mod tests {
    use common::{Features, LicenseId, PlanId, ProductId};

    use super::*;

    #[test]
    fn a_license_is_renewed_for_as_long_as_it_was_valid() {
        let created_at = "2027-01-01T12:00:00Z".parse().unwrap();
        let license = |end: &str| License {
            id: LicenseId::default(),
            product_id: ProductId::default(),
            plan_id: PlanId::default(),
            status: Status::Active,
            max_seats: None,
            expires_at: Some(end.parse().unwrap()),
            features: Features::default(),
            created_at,
            updated_at: created_at,
        };
        for (end, now, renewed) in [
            ("2027-01-31T12:00:00Z", "2027-02-01T00:00:00Z", Some("2027-03-02")),
            ("2027-01-31T12:00:00Z", "2027-02-01T00:00:00.001Z", Some("2027-03-03")),
            // It ended before it began.
            ("2026-12-31T00:00:00Z", "2027-02-01T00:00:00Z", Some("2027-03-02")),
            ("2027-02-02T00:00:00Z", "2027-02-01T00:00:00Z", None),
        ] {
            let found = renewed_end(&license(end), now.parse().unwrap());
            assert_eq!(found.as_deref(), renewed, "{end}, {now}");
        }
    }
}
