//! Outcomes of validations: counts by hour, and refusals by user.

use std::ops::{Deref, DerefMut};

use chrono::Duration;
use serde::{Deserialize, Serialize};

use crate::{ExternalId, LicenseId, Open, Reason, RefusalId, Timestamp};

/// Refused validations of one user, for one reason, in one hour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct UserRefusal {
    pub id: RefusalId,
    /// External id of the user.
    #[cfg_attr(feature = "server", sqlx(rename = "external_id"))]
    pub user_id: ExternalId,
    pub reason: Open<Reason>,
    /// License that gave the reason of the last refusal. Null if no license was assigned.
    pub license_id: Option<LicenseId>,
    /// Start of the hour.
    pub hour: Timestamp,
    /// Number of refused validations.
    pub count: i64,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
}

/// Counts by hour from `from` until `to`, exclusive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Statistics {
    /// Start of the first hour.
    pub from: Timestamp,
    /// End of the last hour.
    pub to: Timestamp,
    /// All hours, oldest first, including hours without a validation.
    pub hours: Vec<HourStatistics>,
}

/// Number of validations of an hour by outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct HourStatistics {
    /// Start of the hour.
    pub hour: Timestamp,
    #[serde(flatten)]
    pub outcomes: Outcomes,
}

/// Number of validations by outcome.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Outcomes {
    /// Number of all validations, which is the sum of the other members.
    pub total: i64,
    pub valid: i64,
    pub no_license: i64,
    pub expired: i64,
    pub revoked: i64,
    pub suspended: i64,
    pub exceeded_seats: i64,
    /// Always 0, because a validation creates an unknown user.
    pub user_not_found: i64,
}

impl HourStatistics {
    /// Returns an hour without a validation.
    pub fn empty(hour: Timestamp) -> Self {
        Self { hour, outcomes: Outcomes::default() }
    }
}

impl Deref for HourStatistics {
    type Target = Outcomes;

    fn deref(&self) -> &Outcomes {
        &self.outcomes
    }
}

impl DerefMut for HourStatistics {
    fn deref_mut(&mut self) -> &mut Outcomes {
        &mut self.outcomes
    }
}

impl Outcomes {
    /// Adds validations that were refused for the reason, or valid ones if it is `None`.
    pub fn add(&mut self, reason: Option<Reason>, count: i64) {
        *self.outcome(reason) += count;
        self.total += count;
    }

    /// Returns the number of validations that were refused for the reason.
    pub fn refused_for(&self, reason: Reason) -> i64 {
        *self.clone().outcome(Some(reason))
    }

    fn outcome(&mut self, reason: Option<Reason>) -> &mut i64 {
        match reason {
            None => &mut self.valid,
            Some(Reason::NoLicense) => &mut self.no_license,
            Some(Reason::Expired) => &mut self.expired,
            Some(Reason::Revoked) => &mut self.revoked,
            Some(Reason::Suspended) => &mut self.suspended,
            Some(Reason::ExceededSeats) => &mut self.exceeded_seats,
            Some(Reason::UserNotFound) => &mut self.user_not_found,
        }
    }
}

/// Returns the start of the hour of a time.
pub fn hour_of(time: Timestamp) -> Timestamp {
    const HOUR: u64 = 3_600_000;
    time.plus(-Duration::milliseconds((time.millis() % HOUR) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_begins_with_its_first_millisecond() {
        for (time, hour) in [
            ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z"),
            ("2027-01-31T12:59:59.999Z", "2027-01-31T12:00:00Z"),
            ("2027-01-31T11:59:59.999Z", "2027-01-31T11:00:00Z"),
            ("1970-01-01T00:30:00Z", "1970-01-01T00:00:00Z"),
        ] {
            assert_eq!(hour_of(time.parse().unwrap()), hour.parse().unwrap(), "{time}");
        }
    }

    #[test]
    fn each_outcome_has_a_member_and_all_add_up() {
        let mut hour = HourStatistics::empty("2027-01-31T12:00:00Z".parse().unwrap());
        hour.add(None, 100);
        for (at, reason) in Reason::ALL.iter().enumerate() {
            hour.add(Some(*reason), 1 << at);
        }
        let json = serde_json::to_value(&hour).unwrap();
        let members = json.as_object().unwrap();
        assert_eq!(members.len(), 3 + Reason::ALL.len());
        let outcomes = members.iter().filter(|(name, _)| *name != "total");
        let sum: i64 = outcomes.filter_map(|(_, count)| count.as_i64()).sum();
        assert_eq!(sum, 100 + (1 << Reason::ALL.len()) - 1);
        assert_eq!(members["total"], sum);
        assert_eq!(members["exceededSeats"], 1 << 4);
    }
}
