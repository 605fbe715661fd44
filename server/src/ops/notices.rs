//! Notices: events some days before a license ends, when it ends, and when its grace period ends. A
//! background task records each once, even if several nodes run.

use std::fmt;
use std::str::FromStr;

use chrono::TimeDelta;
use common::{LicenseDetails, LicenseId, Timestamp};

use crate::db::{self, Db, Tx};
use crate::events::{self, Actor, NewEvent, Origin};
use crate::store::Scope;
use crate::store::notices::{self, End, Reached};

/// Maximum number of notices per transaction, because it holds SQLite's only writer.
const BATCH: usize = 500;
/// Delay of a notice after its time, because a request under way may still change an end that has
/// just passed.
const DELAY: TimeDelta = TimeDelta::seconds(2);
/// Maximum delay of a notice. Notices that are overdue by more are skipped, for example after licd
/// was down for weeks.
const MAX_DELAY: TimeDelta = TimeDelta::days(7);
const MAX_NOTICES: usize = 10;

/// Notices that licd records: the numbers of days before an end, the largest first. `None` turns
/// off all notices, those of the end itself included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiryNotices(Option<Vec<u16>>);

impl Default for ExpiryNotices {
    fn default() -> Self {
        Self(Some(vec![30, 7, 1]))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("must be up to 10 numbers of days from 1 to 366, such as 30,7,1, or off")]
pub struct MalformedNotices;

impl FromStr for ExpiryNotices {
    type Err = MalformedNotices;

    fn from_str(text: &str) -> Result<Self, MalformedNotices> {
        if text == "off" {
            return Ok(Self(None));
        }
        let days = text.split(',').map(|days| match days.trim().parse() {
            Ok(days @ 1..=366) => Ok(days),
            _ => Err(MalformedNotices),
        });
        let mut days = days.collect::<Result<Vec<u16>, _>>()?;
        days.sort_unstable_by(|a, b| b.cmp(a));
        days.dedup();
        if days.len() > MAX_NOTICES { Err(MalformedNotices) } else { Ok(Self(Some(days))) }
    }
}

impl fmt::Display for ExpiryNotices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(days) => {
                let days: Vec<_> = days.iter().map(u16::to_string).collect();
                f.write_str(&days.join(","))
            }
            None => f.write_str("off"),
        }
    }
}

#[derive(Clone, Copy)]
enum Notice {
    Expiring(u16),
    Expired,
    GraceEnded,
}

impl ExpiryNotices {
    /// Returns the kinds of notices, in the order in which all nodes lock them.
    fn kinds(&self) -> Vec<Notice> {
        let days = self.0.iter().flatten().map(|days| Notice::Expiring(*days));
        let ends = self.0.iter().flat_map(|_| [Notice::Expired, Notice::GraceEnded]);
        days.chain(ends).collect()
    }
}

impl Notice {
    fn name(self) -> String {
        match self {
            Self::Expiring(days) => format!("expiring_{days}"),
            Self::Expired => "expired".to_owned(),
            Self::GraceEnded => "grace_ended".to_owned(),
        }
    }

    /// Returns how long before the end the notice is due.
    fn ahead(self) -> TimeDelta {
        match self {
            Self::Expiring(days) => TimeDelta::days(days.into()),
            Self::Expired | Self::GraceEnded => TimeDelta::zero(),
        }
    }

    /// Returns the end that the notice is about.
    fn end(self) -> End {
        match self {
            Self::Expiring(_) | Self::Expired => End::Expiry,
            Self::GraceEnded => End::Grace,
        }
    }

    fn moment(self, license: &LicenseDetails) -> Option<Timestamp> {
        let end = match self.end() {
            End::Expiry => license.expires_at,
            End::Grace => license.terms.grace_ends_at(license.expires_at),
        };
        end.map(|end| end.plus(-self.ahead()))
    }

    fn event(self, license: &LicenseDetails) -> NewEvent {
        match self {
            Self::Expiring(days) => NewEvent::license_expiring(license, days),
            Self::Expired => NewEvent::license_expired(license),
            Self::GraceEnded => NewEvent::license_grace_ended(license),
        }
    }

    /// Returns at most `room` licenses whose notices are due up to `now`, and the new position.
    async fn next(
        self,
        tx: &mut Tx,
        (moment, license): Reached,
        now: Timestamp,
        room: usize,
    ) -> db::Result<(Vec<(Scope, LicenseDetails)>, Reached)> {
        let (after, before) = ((moment.plus(self.ahead()), license), now.plus(self.ahead()));
        let limit = room as i64;
        let found = notices::ending(tx, self.end(), after, before, limit).await?;
        let last = found.last().filter(|_| found.len() == room);
        let last = last.and_then(|(_, it)| Some((self.moment(it)?, it.id)));
        Ok((found, last.unwrap_or((now, LicenseId::default()))))
    }
}

/// Records the notices that became due since the last call. The first call records none, so that a
/// database with years of licenses does not flood the readers of events.
pub async fn give(db: &Db, wanted: &ExpiryNotices, now: Timestamp) -> db::Result<()> {
    let kinds = wanted.kinds();
    while !kinds.is_empty() && record_batch(db, &kinds, now).await? {}
    Ok(())
}

/// Records a batch of notices. Returns whether more may be due.
async fn record_batch(db: &Db, kinds: &[Notice], now: Timestamp) -> db::Result<bool> {
    let until = now.plus(-DELAY);
    let mut tx = db.begin().await?;
    let mut told = Vec::new();
    let mut read = 0;
    for kind in kinds {
        if read == BATCH {
            break;
        }
        let name = kind.name();
        let reached = notices::lock(&mut tx, &name).await?;
        let begun = match reached {
            None => (until, LicenseId::default()),
            Some((moment, _)) if until.since(moment) > MAX_DELAY => {
                let begin = until.plus(-MAX_DELAY);
                tracing::warn!(
                    notice = name, from = %moment, to = %begin,
                    "notices about ends of licenses were overdue by more than a week and are skipped"
                );
                (begin, LicenseId::default())
            }
            Some(reached) => reached,
        };
        if until < begun.0 {
            // A node whose clock is ahead has recorded the notice, or will.
            continue;
        }
        let (found, reached) = kind.next(&mut tx, begun, until, BATCH - read).await?;
        read += found.len();
        for (scope, license) in found {
            // No notice if the end was this close when the license was created.
            if kind.moment(&license).is_some_and(|moment| moment > license.created_at) {
                let origin = Origin { actor: Actor::System, scope, request_id: None };
                told.push((origin, kind.event(&license)));
            }
        }
        notices::set(&mut tx, &name, reached).await?;
    }
    events::commit(tx, &told, now).await?;
    Ok(read == BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_its_setting() {
        for (text, written) in [("30,7,1", "30,7,1"), ("1, 366,7,7", "366,7,1"), ("off", "off")] {
            assert_eq!(text.parse::<ExpiryNotices>().unwrap().to_string(), written);
        }
        for text in ["", "0", "367", "7d", "30,,1", "on", "-1", "1,2,3,4,5,6,7,8,9,10,11"] {
            assert!(text.parse::<ExpiryNotices>().is_err(), "{text}");
        }
        assert_eq!(ExpiryNotices::default().to_string(), "30,7,1");
    }
}
