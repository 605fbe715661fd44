//! Leases: the answers of validations that hold without the network.

use axum::extract::State;
use common::{
    AssignmentId, ExternalId, LeaseAnswer, LeasedAnswer, LicenseId, List, Open, RequestLease, Role,
    RunningLease, Validation,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::validate;
use crate::error::Error;
use crate::http::App;
use crate::http::answer::{Data, ListParams, Streamed};
use crate::http::credentials::{Reader, Validator};
use crate::http::extract::{Lenient, Limit, Query};
use crate::ops::leases::{self, Issued, LeaseOptions, LeaseQuery};

/// Maximum number of attempts when concurrent changes interfere.
const ATTEMPTS: usize = 5;

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
    let origin = caller.origin();
    for _ in 0..ATTEMPTS {
        let validation = match validate::submit(&app, request.clone()).await? {
            Validation::Valid(answer) => *answer,
            Validation::Invalid(answer) => return Ok(Data(LeaseAnswer::Invalid(answer))),
        };
        let issuing = leases::issue(&app.ops, origin.clone(), &app.secrets, &options, &validation);
        let (lease, reason) = match issuing.await? {
            Issued::Lease(lease) => (Some(lease), None),
            Issued::Refused(reason) => (None, Some(reason)),
            Issued::Outdated => continue,
        };
        app.metrics.lease_was(reason);
        if lease.is_some() && request.caller.exceeded_seat_events() {
            app.metrics.leases_unrecorded.inc();
        }
        let lease_reason = reason.map(Open::Known);
        let answer = LeasedAnswer { validation, lease, lease_reason };
        return Ok(Data(LeaseAnswer::Valid(Box::new(answer))));
    }
    Err(Error::Unavailable)
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
