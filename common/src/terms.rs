//! Terms of a license in addition to its seats and its end: idle time, grace, start and leases. Also
//! the release of seats.

use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::string_enum::string_enum;
use crate::{
    CreatePlan, ExpiresInDays, ExternalId, GraceDays, LeasedSeat, LicenseId, MaxLeaseSeconds,
    MaxSeats, Name, ProductId, SeatIdleMinutes, Timestamp,
};

string_enum! {
    /// Start of the days of a plan's licenses.
    ExpiresFrom {
        /// The days start with the creation of the license.
        Creation = "creation",
        /// The days start with the first validation that takes a seat.
        FirstValidation = "firstValidation",
    }
}

macro_rules! plan_terms {
    ($($(#[$attribute:meta])* $member:ident: $type:ident = $name:literal,)*) => {
        /// Terms that a license takes from its plan. Both can change each of them, or clear it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
        #[serde(rename_all = "camelCase")]
        pub struct PlanTerms {
            $($(#[$attribute])* #[serde(default)] pub $member: Option<$type>,)*
        }

        impl PlanTerms {
            /// Names of the members in JSON.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Sets the terms that are given, and removes those that are cleared.
            pub fn update(&mut self, given: Self, clear: &[impl AsRef<str>]) {
                let is_cleared = |name| clear.iter().any(|it| it.as_ref() == name);
                $(if given.$member.is_some() || is_cleared($name) {
                    self.$member = given.$member;
                })*
            }

            /// Returns the terms with these names, and null for all others.
            pub fn only(mut self, names: &[&str]) -> Self {
                $(if !names.contains(&$name) {
                    self.$member = None;
                })*
                self
            }

            /// Returns the terms that are null, as fields that an update clears.
            pub fn absent<F: FromStr>(&self) -> Vec<F> {
                let names = [$(self.$member.is_none().then_some($name)),*];
                names.into_iter().flatten().filter_map(|name| name.parse().ok()).collect()
            }
        }
    };
}

// What follows until the terms of a license lists the same members.
plan_terms! {
    /// Idle time in minutes, after which another user may take over a seat, if the license has a
    /// limit. Its seats are then floating. Null if users keep their seats.
    seat_idle_minutes: SeatIdleMinutes = "seatIdleMinutes",
    /// Days past the end in which a license is still valid while its status is active. Null for none.
    grace_days: GraceDays = "graceDays",
    /// Maximum duration of a lease in seconds, with which an application is licensed offline. Null if
    /// applications get no leases.
    max_lease_seconds: MaxLeaseSeconds = "maxLeaseSeconds",
}

/// Adds the terms of a plan to the body of a request. serde cannot flatten a struct into a body that
/// refuses unknown members.
macro_rules! with_terms {
    (
        $(#[$attribute:meta])* pub struct $name:ident {
            $($(#[$of_member:meta])* pub $member:ident: $type:ty,)*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$of_member])* pub $member: $type,)*
            /// Idle time in minutes, after which another user may take over a seat. No seat is idle
            /// before this time has passed since a change. Requires at most 10,000 seats.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub seat_idle_minutes: Option<$crate::SeatIdleMinutes>,
            /// Days past the end in which a license is still valid.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub grace_days: Option<$crate::GraceDays>,
            /// Maximum duration of new leases in seconds. Running leases stay.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub max_lease_seconds: Option<$crate::MaxLeaseSeconds>,
        }

        impl $name {
            /// Returns the terms in this request.
            pub fn terms(&self) -> $crate::PlanTerms {
                let Self { seat_idle_minutes, grace_days, max_lease_seconds, .. } = *self;
                $crate::PlanTerms { seat_idle_minutes, grace_days, max_lease_seconds }
            }

            /// Returns the request with these terms.
            pub fn with_terms(self, terms: $crate::PlanTerms) -> Self {
                let $crate::PlanTerms { seat_idle_minutes, grace_days, max_lease_seconds } = terms;
                Self { seat_idle_minutes, grace_days, max_lease_seconds, ..self }
            }
        }
    };
}

/// Defines the fields of a record with terms that can be cleared.
macro_rules! clearable {
    ($(#[doc = $doc:literal])* $name:ident { $($variant:ident = $word:literal,)* }) => {
        $crate::string_enum::string_enum! {
            $(#[doc = $doc])*
            $name, inline {
                $($variant = $word,)*
                SeatIdleMinutes = "seatIdleMinutes",
                GraceDays = "graceDays",
                MaxLeaseSeconds = "maxLeaseSeconds",
            }
        }
    };
}

pub(crate) use {clearable, with_terms};

impl CreatePlan {
    /// Creates a plan without limit, expiry, features and terms.
    pub fn new(product_id: ProductId, name: Name) -> Self {
        Self {
            product_id,
            name,
            description: None,
            max_seats: None,
            expires_in_days: None,
            features: None,
            expires_from: None,
            trial: None,
            seat_idle_minutes: None,
            grace_days: None,
            max_lease_seconds: None,
        }
    }
}

/// Terms of a license.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    #[serde(flatten)]
    #[cfg_attr(feature = "server", sqlx(flatten))]
    pub of_plan: PlanTerms,
    /// Days after which the license ends, counted from its first validation, if that has not come
    /// yet.
    #[cfg_attr(feature = "server", sqlx(rename = "pending_days"))]
    pub starts_with_days: Option<ExpiresInDays>,
}

impl From<PlanTerms> for Terms {
    fn from(of_plan: PlanTerms) -> Self {
        Self { of_plan, starts_with_days: None }
    }
}

impl Deref for Terms {
    type Target = PlanTerms;

    fn deref(&self) -> &PlanTerms {
        &self.of_plan
    }
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
