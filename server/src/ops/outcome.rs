//! Outcomes of operations that write: a record, and whether it is new.

use common::{
    Assignment, CreatedKey, CreatedLicenseKey, CreatedWebhook, ForgottenUser, Key, License,
    LicenseAssignment, LicenseDetails, LicenseKey, LicenseWithSeats, Plan, Product, Released,
    Retried, SigningKey, SigningKeys, Tenant, User, Webhook,
};
use serde::Serialize;

use super::etag::{ETag, Tagged};

/// A record that was created.
pub struct Created<T>(pub T);

/// A record that existed before, as it is now or as it was when it was deleted.
pub struct Changed<T>(pub T);

/// A record that was created, or existed before.
pub enum Upserted<T> {
    New(T),
    Existing(T),
}

/// A record that an operation returns.
pub trait Record {
    /// The part of the record that callers see.
    type Shown: Serialize;

    fn shown(&self) -> &Self::Shown;

    /// Returns the tag of the record. `None` for a record that cannot be read on its own.
    fn tag(&self) -> Option<ETag>;
}

macro_rules! records {
    ($($record:ty as $shown:ty: |$it:ident| $part:expr, $etag:expr;)*) => {$(
        impl Record for $record {
            type Shown = $shown;

            fn shown(&self) -> &$shown {
                let $it = self;
                $part
            }

            fn tag(&self) -> Option<ETag> {
                let $it = self;
                $etag
            }
        }
    )*};
}

records! {
    Product as Product: |it| it, Some(Tagged::etag(it));
    Plan as Plan: |it| it, Some(Tagged::etag(it));
    User as User: |it| it, Some(Tagged::etag(it));
    Key as Key: |it| it, Some(Tagged::etag(it));
    CreatedKey as CreatedKey: |it| it, Some(Tagged::etag(&it.record));
    // The response to a change has only the nine members of the specification.
    LicenseDetails as License: |it| &it.license, Some(Tagged::etag(it));
    LicenseWithSeats as LicenseWithSeats: |it| it, Some(Tagged::etag(&it.details));
    Assignment as Assignment: |it| it, untagged(it);
    LicenseAssignment as LicenseAssignment: |it| it, untagged(it);
    LicenseKey as LicenseKey: |it| it, untagged(it);
    CreatedLicenseKey as CreatedLicenseKey: |it| it, untagged(it);
    Webhook as Webhook: |it| it, Some(Tagged::etag(it));
    CreatedWebhook as CreatedWebhook: |it| it, Some(Tagged::etag(&it.record));
    Retried as Retried: |it| it, untagged(it);
    SigningKey as SigningKey: |it| it, untagged(it);
    SigningKeys as SigningKeys: |it| it, untagged(it);
    Released as Released: |it| it, untagged(it);
    ForgottenUser as ForgottenUser: |it| it, untagged(it);
    Tenant as Tenant: |it| it, untagged(it);
    () as (): |it| it, untagged(it);
}

fn untagged<T>(_: &T) -> Option<ETag> {
    None
}

/// Outcome of an operation, which is stored for idempotent requests.
pub trait Outcome {
    type Record: Record;

    fn record(&self) -> &Self::Record;

    fn is_new(&self) -> bool;
}

impl<T: Record> Outcome for Created<T> {
    type Record = T;

    fn record(&self) -> &T {
        &self.0
    }

    fn is_new(&self) -> bool {
        true
    }
}

impl<T: Record> Outcome for Changed<T> {
    type Record = T;

    fn record(&self) -> &T {
        &self.0
    }

    fn is_new(&self) -> bool {
        false
    }
}

impl<T: Record> Outcome for Upserted<T> {
    type Record = T;

    fn record(&self) -> &T {
        match self {
            Self::New(record) | Self::Existing(record) => record,
        }
    }

    fn is_new(&self) -> bool {
        matches!(self, Self::New(_))
    }
}
