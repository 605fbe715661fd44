//! Terms of a license in addition to its seats and its end: idle time, grace, start and leases. Also
//! the release of seats.

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    ExpiresInDays, ExternalId, GraceDays, LeasedSeat, LicenseId, MaxLeaseSeconds, MaxSeats,
    ProductId, SeatIdleMinutes, Timestamp,
};

string_enum! {
    /// Start of the days of a plan's licenses.
    ExpiresFrom, "one of creation, firstValidation" {
        /// The days start with the creation of the license.
        Creation = "creation",
        /// The days start with the first validation that takes a seat.
        FirstValidation = "firstValidation",
    }
}

/// Terms of a license.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    /// Idle time in minutes, after which another user may take over a seat, if the license has a
    /// limit. Its seats are then floating. Null if users keep their seats.
    pub seat_idle_minutes: Option<SeatIdleMinutes>,
    /// Days past `expiresAt` in which the license is still valid while its status is active.
    pub grace_days: Option<GraceDays>,
    /// Days after which the license ends, counted from its first validation, if that has not come
    /// yet.
    #[cfg_attr(feature = "server", sqlx(rename = "pending_days"))]
    pub starts_with_days: Option<ExpiresInDays>,
    /// Maximum duration of a lease in seconds, with which an application is licensed offline. Null if
    /// applications get no leases.
    #[serde(default)]
    pub max_lease_seconds: Option<MaxLeaseSeconds>,
}

impl Terms {
    /// Maximum number of seats of a floating license.
    pub const MAX_FLOATING_SEATS: i32 = 10_000;

    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the idle time, if the seats of a license with this limit are floating.
    pub fn floating(&self, max_seats: Option<MaxSeats>) -> Option<SeatIdleMinutes> {
        self.seat_idle_minutes.filter(|_| max_seats.is_some())
    }

    /// Returns the end of the grace period of a license with this end, if it has one.
    pub fn grace_ends_at(&self, expires_at: Option<Timestamp>) -> Option<Timestamp> {
        let (days, end) = (self.grace_days?, expires_at?);
        Some(end.plus(chrono::TimeDelta::days(days.get().into())))
    }
}

impl SeatIdleMinutes {
    pub fn duration(self) -> chrono::TimeDelta {
        chrono::TimeDelta::minutes(self.get().into())
    }

    /// Returns the interval in seconds in which an application must validate to keep a floating seat.
    pub fn check_after_seconds(self) -> i32 {
        self.get() * 60 / 3
    }
}

/// The body of `POST /api/v1/release`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// External id of the user. An unknown user is not created.
    pub user_id: ExternalId,
    /// Id of the product. Only seats on its licenses are released. Null is the same as absent.
    pub product_id: Option<ProductId>,
    /// `activation.lastCheckedAt` of the application's last response. A seat that was checked later
    /// is in use elsewhere and is not released.
    pub checked_at: Option<Timestamp>,
}

/// Released seats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Released {
    /// Seats that are free now. Empty if the user held none that could be released.
    pub released: Vec<ReleasedSeat>,
    /// Seats that were not released, because leases hold them. Absent if there are none.
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
    /// External id of the user.
    pub user_id: ExternalId,
}
