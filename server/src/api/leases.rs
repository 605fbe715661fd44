//! Leases: the answers of validations that hold without the network.

use axum::extract::State;
use common::{
    AssignmentId, ExternalId, LeaseAnswer, LicenseId, List, Open, RequestLease, Role, RunningLease,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::validate;
use crate::error::Error;
use crate::http::App;
use crate::http::answer::{Data, ListParams, Streamed};
use crate::http::credentials::{Reader, Validator};
use crate::http::extract::{Lenient, Limit, Query};
use crate::ops::leases::{self, LeaseOptions, LeaseQuery};

/// Validates, and issues a lease to who is licensed. It may be repeated, so it has no
/// `Idempotency-Key`, with which a token would lie about.
pub async fn issue(
    State(app): State<App>,
    Validator(caller): Validator,
    Lenient(body): Lenient<RequestLease>,
) -> Result<Data<LeaseAnswer>, Error> {
    let request = caller.validation(body.user_id.clone(), Some(body.product_id));
    let key = caller.key.id;
    let admits_event = || app.gate.admit_seat_event(key, &body.user_id, &request.caller);
    let options = LeaseOptions {
        user: &body.user_id,
        product: body.product_id,
        ttl: body.ttl_seconds,
        device: body.device.as_ref(),
        is_admin: caller.key.role == Role::Admin,
        admits_event: &admits_event,
    };
    let validate = || validate::submit(&app, request.clone());
    let answer = leases::issue(&app.ops, caller.origin(), &app.secrets, &options, validate).await?;
    if let LeaseAnswer::Valid(answer) = &answer {
        app.metrics.lease_was(answer.lease_reason.as_ref().and_then(Open::known));
        if answer.lease.is_some() && request.caller.exceeded_seat_events() {
            app.metrics.leases_unrecorded.inc();
        }
    }
    Ok(Data(answer))
}

/// The query of the list of running leases.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListLeases {
    /// Only leases of this user, by the caller's own identifier.
    user_id: Option<ExternalId>,
    /// Only leases on seats of this license.
    license_id: Option<LicenseId>,
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<AssignmentId>,
}

pub async fn list(
    Reader(view): Reader,
    Query(query): Query<ListLeases>,
) -> Result<Streamed<List<RunningLease>>, Error> {
    let params = ListParams::new(query.after, query.limit);
    let query = LeaseQuery { user: query.user_id, license: query.license_id };
    Streamed::list(params, move |page| leases::running(view.clone(), query.clone(), page)).await
}
