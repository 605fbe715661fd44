//! What would help a user who is refused.

use chrono::TimeDelta;
use common::{
    ActivationId, ExpiresInDays, ExplainedLicense, MaxSeats, Reason, Status, Timestamp, Verdict,
};

use crate::db::Conn;
use crate::error::Error;
use crate::ops::licenses::show_checks;
use crate::store::assignments::{self, SeatHolder};
use crate::store::{Page, Scope, plans};
use crate::validation::LastChecks;

/// How many holders of a full license are shown.
const SHOWN_HOLDERS: usize = 10;
/// How many seats are read to find the least recently checked ones. The oldest are read, which are
/// the most likely to be idle.
const READ_SEATS: i64 = 1000;

/// The license that decides: the valid or full one, or the first with the fault that is the reason.
pub fn deciding(
    reason: Option<Reason>,
    licenses: &[ExplainedLicense],
) -> Option<&ExplainedLicense> {
    let verdict = match reason {
        None => Verdict::Valid,
        Some(Reason::ExceededSeats) => Verdict::ExceededSeats,
        Some(Reason::Expired) => Verdict::Expired,
        Some(Reason::Suspended) => Verdict::Suspended,
        Some(Reason::Revoked) => Verdict::Revoked,
        Some(Reason::NoLicense | Reason::UserNotFound) => return None,
    };
    licenses.iter().find(|license| license.verdict == verdict)
}

/// What would help, or is a part of it.
pub enum Remedy {
    /// Somebody gives a seat up.
    FreeSeat(FreeSeat),
    /// The license has more seats, which the vendor may have to sell first.
    RaiseLimit { from: i32, to: MaxSeats },
    /// The license becomes active.
    Activate,
    /// The license gets another end.
    Renew {
        /// The end after another term of its plan, if that has one.
        term: Option<Term>,
    },
}

/// The term of a plan, beginning now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    pub days: ExpiresInDays,
    pub end: Timestamp,
}

impl Term {
    fn of(days: ExpiresInDays, now: Timestamp) -> Option<Self> {
        let end = now.plus(TimeDelta::days(days.get().into()));
        end.is_valid().then_some(Self { days, end })
    }
}

/// How a full license gets a free seat.
pub struct FreeSeat {
    /// Some who hold a seat, least recently checked first.
    pub holders: Vec<SeatHolder>,
    /// How many more hold one.
    pub more: usize,
    /// How many of them must leave. A limit that was lowered leaves more than one.
    pub too_many: i32,
}

/// What would make the license that decides a valid one, the cheapest first.
pub async fn find_remedies(
    conn: &mut Conn,
    scope: Scope,
    decides: &ExplainedLicense,
    checks: &LastChecks,
    now: Timestamp,
) -> Result<Vec<Remedy>, Error> {
    let license = &decides.license;
    Ok(match decides.verdict.known() {
        Some(Verdict::ExceededSeats) => {
            let oldest = Page::oldest_first(ActivationId::default(), READ_SEATS);
            let mut holders = assignments::holders(conn, scope, license.id, oldest).await?;
            show_checks(license.id, &mut holders, checks);
            make_room(decides, holders)
        }
        Some(Verdict::Expired) => {
            let plan = plans::find(conn, scope, license.plan_id).await?;
            let days = plan.and_then(|plan| plan.expires_in_days);
            // It may have that status, an end in the past, or both.
            let activate = (license.status != Status::Active).then_some(Remedy::Activate);
            let term = days.and_then(|days| Term::of(days, now));
            let renew = license.has_ended(now).then_some(Remedy::Renew { term });
            activate.into_iter().chain(renew).collect()
        }
        Some(Verdict::Suspended | Verdict::Revoked) => vec![Remedy::Activate],
        Some(Verdict::Valid | Verdict::NotReached | Verdict::OtherProduct) | None => Vec::new(),
    })
}

fn make_room(full: &ExplainedLicense, mut holders: Vec<SeatHolder>) -> Vec<Remedy> {
    holders.sort_by_key(|holder| holder.last_checked_at);
    holders.truncate(SHOWN_HOLDERS);
    let allowed = full.license.max_seats.map_or(0, MaxSeats::get);
    let more = usize::try_from(full.seats_used).unwrap_or(0).saturating_sub(holders.len());
    let free = FreeSeat { holders, more, too_many: full.seats_used - allowed + 1 };
    let limit = MaxSeats::new(i64::from(full.seats_used) + 1).ok();
    let raise = limit.map(|to| Remedy::RaiseLimit { from: allowed, to });
    [Remedy::FreeSeat(free)].into_iter().chain(raise).collect()
}
