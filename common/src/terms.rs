//! The terms of a license beyond its seats and its end: when a seat comes free by itself, how long
//! the license is valid past its end, and whether its days have begun. And seats that are given back.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    ExpiresInDays, ExternalId, GraceDays, LeasedSeat, LicenseId, MaxLeaseSeconds, MaxSeats,
    ProductId, SeatIdleMinutes, Timestamp,
};

string_enum! {
    /// From when the days of a plan's licenses count.
    ExpiresFrom, "one of creation, firstValidation" {
        /// From the creation of the license.
        Creation = "creation",
        /// From the first validation that takes a seat.
        FirstValidation = "firstValidation",
    }
}

/// The terms of a license that has any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    /// A seat whose user was not validated for so long may be taken over, if the license has a limit:
    /// its seats are floating. Null: users keep their seats.
    pub seat_idle_minutes: Option<SeatIdleMinutes>,
    /// How long the license is still valid past `expiresAt`, as long as its status is active.
    pub grace_days: Option<GraceDays>,
    /// The license waits for its first validation, and ends so many days after it.
    #[cfg_attr(feature = "server", sqlx(rename = "pending_days"))]
    pub starts_with_days: Option<ExpiresInDays>,
    /// How long a lease lasts at most, with which an application is licensed without the network.
    /// Null: an application is given none.
    #[serde(default)]
    pub max_lease_seconds: Option<MaxLeaseSeconds>,
}

impl Terms {
    /// The most seats of a floating license.
    pub const MAX_FLOATING_SEATS: i32 = 10_000;

    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// The idle time, if the seats of a license with this limit are floating.
    pub fn floating(&self, max_seats: Option<MaxSeats>) -> Option<SeatIdleMinutes> {
        self.seat_idle_minutes.filter(|_| max_seats.is_some())
    }

    /// When the grace of a license with this end is over, if it has any.
    pub fn grace_ends_at(&self, expires_at: Option<Timestamp>) -> Option<Timestamp> {
        let (days, end) = (self.grace_days?, expires_at?);
        Some(end.plus(chrono::TimeDelta::days(days.get().into())))
    }
}

impl SeatIdleMinutes {
    pub fn duration(self) -> chrono::TimeDelta {
        chrono::TimeDelta::minutes(self.get().into())
    }

    /// How often an application asks at least, so that its user keeps a floating seat, in seconds.
    pub fn check_after_seconds(self) -> i32 {
        self.get() * 60 / 3
    }
}

/// The body of `POST /api/v1/release`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// The caller's own identifier of the user. An unknown user is not created.
    pub user_id: ExternalId,
    /// Only seats on licenses of this product are given back. Null is as if it were absent.
    pub product_id: Option<ProductId>,
    /// The `activation.lastCheckedAt` of the application's own last answer: a seat that was checked
    /// later is in use elsewhere, and stays.
    pub checked_at: Option<Timestamp>,
}

/// The seats that were given back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Released {
    /// Empty if the user held none that could be.
    pub released: Vec<ReleasedSeat>,
    /// Those that stay, since leases hold them. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leased: Vec<LeasedSeat>,
}

/// A seat that is free again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReleasedSeat {
    pub license_id: LicenseId,
}

/// The body of `POST /api/v1/admin/licenses/{id}/release`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleaseSeat {
    /// The caller's own identifier of the user.
    pub user_id: ExternalId,
}
