//! Strict reading of administrative requests. An unknown member or parameter is an error, because
//! the caller would not notice that it is ignored. Requests of applications, which may be newer
//! than licd, are lenient: `POST /validate`, `/claim`, `/lease` and `/release` ignore unknown
//! members.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use common::{
    AssignLicense, CreateKey, CreateLicense, CreateLicenseKey, CreatePlan, CreateProduct,
    CreateUser, CreateWebhook, Explain, FindLicenseKey, ForgetUser, ReleaseSeat, RenewLicense,
    ReplayWebhook, ResendEvent, RevokeKey, RollKey, RotateSigningKeys, SetStatus, TransferLicense,
    UpdateLicense, UpdatePlan, UpdateProduct, UpdateUser, UpdateWebhook,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::query;
use crate::error::Error;

/// A body whose unknown members are refused.
pub trait StrictBody: DeserializeOwned {
    /// Members of the record that this body cannot set, and what sets them.
    const SET_ELSEWHERE: &[(&str, &str)];
}

macro_rules! bodies {
    ($($body:ident { $($member:literal: $elsewhere:expr,)* })*) => {$(
        impl StrictBody for $body {
            const SET_ELSEWHERE: &[(&str, &str)] = &[$(($member, $elsewhere)),*];
        }
    )*};
}

/// The way to set a term of a license, which a body without terms does not have.
pub const BY_UPDATE: &str = "it comes from the plan. PATCH /api/v1/admin/licenses/{id} changes it";
const BY_STATUS: &str = "PATCH /api/v1/admin/licenses/{id}/status does";
const NEVER: &str = "it never changes";

bodies! {
    Explain {}
    CreateProduct {}
    UpdateProduct {}
    CreatePlan {
        "expiresAt": "a plan has expiresInDays, from which each license gets its own expiresAt",
    }
    UpdatePlan {
        "productId": NEVER,
        "expiresAt": "a plan has expiresInDays, from which each license gets its own expiresAt",
    }
    CreateLicense {
        "maxSeats": BY_UPDATE,
        "expiresFrom": "it is the plan's",
        "features": BY_UPDATE,
        "productId": "it is the plan's",
        "status": BY_STATUS,
        "userId": "give it in assignTo",
    }
    UpdateLicense {
        "productId": "it is that of the plan: give planId",
        "expiresInDays": "give expiresAt or startsWithDays",
        "status": BY_STATUS,
        "userId": "POST /api/v1/admin/licenses/{id}/assign does",
    }
    RenewLicense {
        "days": "give for, such as 30d",
        "expiresAt": "PATCH /api/v1/admin/licenses/{id} does",
        "expiresInDays": "give for, such as 30d",
    }
    SetStatus {
        "maxSeats": "PATCH /api/v1/admin/licenses/{id} does",
        "features": "PATCH /api/v1/admin/licenses/{id} does",
        "expiresAt": "PATCH /api/v1/admin/licenses/{id} does",
        "name": "PATCH /api/v1/admin/licenses/{id} does",
    }
    AssignLicense {
        "externalId": "give it as userId",
        "email": "give it in newUser",
        "name": "give it in newUser",
    }
    CreateUser {
        "userId": "give it as externalId",
    }
    UpdateUser {
        "userId": "give it as externalId",
    }
    CreateKey {
        "key": "licd generates it",
    }
    CreateLicenseKey {
        "licenseId": "it is in the address",
    }
    FindLicenseKey {}
    ForgetUser {}
    ReleaseSeat {
        "externalId": "give it as userId",
        "productId": "the license is in the address",
    }
    TransferLicense {
        "userId": "give fromUserId and toUserId",
    }
    CreateWebhook {
        "enabled": "PATCH /api/v1/admin/webhooks/{id} does",
    }
    UpdateWebhook {
        "secret": "POST /api/v1/admin/webhooks/{id}/roll makes another one",
    }
    ReplayWebhook {}
    ResendEvent {}
    RotateSigningKeys {}
    RevokeKey {}
    RollKey {
        "role": "the new key has that of the old one",
        "mode": "the new key has that of the old one",
        "name": "the new key has that of the old one",
        "expiresAt": "the new key has that of the old one",
    }
}

/// A request without a query.
pub struct NoQuery;

impl<S: Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        query(&parts.uri).map(|Nothing {}| Self)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}
