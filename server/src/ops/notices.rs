//! Notices: events some days before a license ends, when it ends, and when its grace is over.
//! Nobody asks for them, so licd records them by itself, each once, also over several nodes.

use std::fmt;
use std::str::FromStr;

use chrono::TimeDelta;
use common::{LicenseDetails, LicenseId, Timestamp};

use crate::db::{self, Db, Tx};
use crate::events::{self, Actor, NewEvent, Origin};
use crate::store::Scope;
use crate::store::notices::{self, End, Reached};

/// The most notices that one transaction records, since it holds SQLite's only writer.
const PORTION: usize = 500;
/// What is over for so long is told: a request under way may still set an end just passed.
const DELAY: TimeDelta = TimeDelta::seconds(2);
/// Maximum delay of a notice. Those that are due for longer are left out, for example after licd
/// was down for weeks.
const LONGEST_DELAY: TimeDelta = TimeDelta::days(7);
const MAX_NOTICES: usize = 10;

/// Of which ends licd tells: how many days before, the most first, and of each end itself. None: of
/// nothing.
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
    /// In one order on all nodes, as each is locked.
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

    /// How long before the end its moment is.
    fn ahead(self) -> TimeDelta {
        match self {
            Self::Expiring(days) => TimeDelta::days(days.into()),
            Self::Expired | Self::GraceEnded => TimeDelta::zero(),
        }
    }

    /// The end that it is about.
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

    /// The next licenses of the notice with the moments up to `now`, at most `room`, and how far it
    /// has come with them.
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

/// Records the notices whose moments have come since the last time. The first time there are none,
/// so that a database with years of licenses does not flood its readers.
pub async fn give(db: &Db, wanted: &ExpiryNotices, now: Timestamp) -> db::Result<()> {
    let kinds = wanted.kinds();
    while !kinds.is_empty() && portion(db, &kinds, now).await? {}
    Ok(())
}

/// Returns whether there may be more.
async fn portion(db: &Db, kinds: &[Notice], now: Timestamp) -> db::Result<bool> {
    let until = now.plus(-DELAY);
    let mut tx = db.begin().await?;
    let mut told = Vec::new();
    let mut read = 0;
    for kind in kinds {
        if read == PORTION {
            break;
        }
        let name = kind.name();
        let reached = notices::lock(&mut tx, &name).await?;
        let begun = match reached {
            None => (until, LicenseId::default()),
            Some((moment, _)) if until.since(moment) > LONGEST_DELAY => {
                let begin = until.plus(-LONGEST_DELAY);
                tracing::warn!(
                    notice = name, from = %moment, to = %begin,
                    "notices about the ends of licenses were due for more than a week and are left out"
                );
                (begin, LicenseId::default())
            }
            Some(reached) => reached,
        };
        if until < begun.0 {
            // A node whose clock is ahead has told it, or will.
            continue;
        }
        let (found, reached) = kind.next(&mut tx, begun, until, PORTION - read).await?;
        read += found.len();
        for (scope, license) in found {
            // An end that was as near from the beginning is no news.
            if kind.moment(&license).is_some_and(|moment| moment > license.created_at) {
                let origin = Origin { actor: Actor::System, scope, request_id: None };
                told.push((origin, kind.event(&license)));
            }
        }
        notices::set(&mut tx, &name, reached).await?;
    }
    events::record(&mut tx, &told, now).await?;
    tx.commit().await?;
    Ok(read == PORTION)
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
