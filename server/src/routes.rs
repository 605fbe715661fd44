//! The table of contents: every path of the service, once, with its summary and description. The
//! OpenAPI document is generated from this file and from the types of the handlers' parameters and
//! responses. Rules that apply to many operations are in docs/reference/api.md.

mod dashboard;
mod licenses;
mod signing_keys;
mod webhooks;

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};
use aide::openapi::{OpenApi, Tag};
use aide::transform::TransformOperation;
use axum::http::Uri;
use axum::routing::get;
use axum::{Router, middleware};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

use crate::api::{
    events, explain, health, keys, leases, license_keys, metrics, plans, products, reference,
    refusals, statistics, users, validate,
};
use crate::error::Error;
use crate::http::App;
use crate::http::openapi::Refusal;
use crate::http::{context, openapi};
use crate::metrics::Metrics;

/// The router of the whole service.
pub fn router(app: App) -> Router {
    let (api, document) = api();
    let document = openapi::text(&document);
    let context = middleware::from_fn_with_state(app.metrics.clone(), context::run);
    api.route("/api/v1/openapi.json", get(async move || openapi::serve(document)))
        .route("/docs", get(reference::page))
        .route(reference::REDOC_PATH, get(reference::redoc))
        .merge(dashboard::routes())
        .fallback(no_route)
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        // Combined into one layer: each separate one would box every request's future once more.
        .layer(
            ServiceBuilder::new().layer(context).layer(CatchPanicLayer::custom(context::panicked)),
        )
        .with_state(app)
}

/// The router of a node that cannot serve yet.
pub fn starting() -> Router {
    let context = middleware::from_fn_with_state(Arc::<Metrics>::default(), context::run);
    Router::new()
        .route("/healthz", get(health::healthz))
        .fallback(async || Error::Unavailable)
        .layer(context)
}

async fn no_route(address: Uri) -> Error {
    if address.path().ends_with('/') { Error::SlashAtEnd } else { Error::RouteNotFound }
}

/// The router of the metrics listener, which requires no keys.
pub fn metrics(scrape: metrics::Scrape) -> Router {
    Router::new().route("/metrics", get(metrics::show)).with_state(scrape)
}

/// The interface as an OpenAPI 3.1 document.
pub fn document() -> OpenApi {
    api().1
}

fn api() -> (Router<App>, OpenApi) {
    openapi::configure_generator();
    let mut document = OpenApi::default();
    let routes = routes().finish_api_with(&mut document, |document| {
        GROUPS.iter().fold(openapi::preface(document), |document, (name, text, _)| {
            let description = Some((*text).to_owned());
            document.tag(Tag { name: (*name).to_owned(), description, ..Tag::default() })
        })
    });
    openapi::add_examples(&mut document);
    (routes, document)
}

/// A group's name, its description and its routes.
type Group = (&'static str, &'static str, fn() -> ApiRouter<App>);

/// The groups of operations, in the order of the reference. A generated client has one class for
/// each.
const GROUPS: [Group; 13] = [
    // For the vendor's application.
    ("Validation", "Validations of users, and explanations.", validation),
    // For the vendor's administrators.
    ("Products", "Products that the vendor sells.", products),
    ("Plans", "Templates for licenses, with their terms.", plans),
    (
        "Licenses",
        "Licenses, their assignments to users, and the seats that users hold.",
        licenses::licenses,
    ),
    ("LicenseKeys", "Texts with which users claim a license.", licenses::license_keys),
    ("Users", "The users of the vendor's application.", users),
    ("Keys", "The API keys of the tenant.", keys),
    (
        "SigningKeys",
        "Keys that sign leases, and with which applications verify them.",
        signing_keys::signing_keys,
    ),
    ("Events", "The changes of records, in the order of commit.", events),
    ("Webhooks", "URLs to which licd sends events.", webhooks::webhooks),
    ("Refusals", "The users whose validations were refused.", refusals),
    ("Statistics", "Validations by outcome, and licenses, seats and users by plan.", statistics),
    // For operators.
    (
        "Health",
        "The state of a node. These operations require no key and have no rate limit.",
        health,
    ),
];

fn routes() -> ApiRouter<App> {
    GROUPS.into_iter().fold(ApiRouter::new(), |routes, (name, _, group)| {
        routes.merge(group().with_path_items(|path| path.tag(name)))
    })
}

#[rustfmt::skip]
fn validation() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/validate",
            post_with(validate::validate, op("validate", "Validate a user",
                "Returns whether the user is licensed. The first of the user's licenses that is \
                 active and not expired decides, if it has a seat for the user. Claimed licenses \
                 come first, the last claim before the others, and then the other licenses in the \
                 order of assignment. If the first license has no seat, a license on which the \
                 user holds a seat decides, and then the next claimed license with a free seat. \
                 The first validation by a license takes a seat, and later ones keep it. An \
                 unknown user is created without licenses. `valid: false` is a result, not an \
                 error. Safe to repeat if a response is lost.")))
        .api_route("/api/v1/claim",
            post_with(license_keys::claim, refusing(&CLAIM, op("claim", "Claim a license with a license key",
                "Assigns the license of the key to the user, takes a seat, and returns the result \
                 of a validation. A claimed license that is valid comes before all other licenses \
                 of the user. A user who already has the license is simply validated, even if the \
                 key was revoked, so an application may claim at each start. Another license may \
                 decide then. A full license is not assigned, unless its seats are floating, and \
                 the result is `exceeded_seats`. Safe to repeat if a response is lost. After 10 \
                 wrong keys a minute from an address, or 100 with an API key, keys that could be \
                 guessed are refused. Addresses without wrong keys are not affected."))))
        .api_route("/api/v1/lease",
            post_with(leases::issue, op("issueLease", "Validate a user, and sign the result",
                "Returns the result of a validation and, for a licensed user, a lease: a signed \
                 text with which the application is licensed offline until the lease ends. The \
                 seat stays taken until then. If the validation is valid but there is no lease, \
                 `lease` is null and `leaseReason` has the reason. Safe to repeat if a response \
                 is lost.")))
        .api_route("/api/v1/admin/leases",
            get_with(leases::list, op("listLeases", "List the leases that hold a seat",
                "Lists the seats that a lease holds now, in the order of assignment. Their users \
                 stay licensed offline until `leasedUntil`, even if the license is suspended, \
                 revoked or unassigned.")))
        .api_route("/api/v1/release",
            post_with(validate::release, op("release", "Release a user's floating seats",
                "For an application that ends. Frees the seats that the user holds on licenses \
                 with `seatIdleMinutes` and `maxSeats`, so that other users need not wait for the \
                 idle time. All other seats stay, and so do the assignments. With `checkedAt`, a \
                 seat that was validated later stays, because it is in use elsewhere. Unknown \
                 users are not created. Safe to repeat if a response is lost.")))
        .api_route("/api/v1/admin/explain",
            post_with(explain::explain, op("explain", "Explain the result of a validation",
                "Returns the result of a validation, with all of the user's licenses in order, \
                 the verdict on each and its seats, and the user's last ten refusals. It changes \
                 nothing: no user is created and no seat is taken.")))
}

#[rustfmt::skip]
fn products() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/products",
            post_with(products::create, op("createProduct", "Create a product",
                "Creates a product. Two products may have the same name."))
            .get_with(products::list, op("listProducts", "List products",
                "Lists the tenant's products in this mode, oldest first. Without `limit`, all of \
                 them are streamed. With `limit`, they come in pages, and `nextCursor` is the \
                 `after` of the next page.")))
        .api_route("/api/v1/admin/products/{id}",
            get_with(products::get, op("getProduct", "Get a product",
                "Gets the product with this id."))
            .patch_with(products::update, op("updateProduct", "Update a product",
                "Changes the given members. Members named in `clear` become null. All others \
                 stay."))
            .delete_with(products::delete, op("deleteProduct", "Delete a product without plans",
                "Deletes the product and returns it as it was. A product with plans cannot be \
                 deleted: 409.")))
}

#[rustfmt::skip]
fn plans() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/plans",
            post_with(plans::create, op("createPlan", "Create a plan",
                "Creates a plan of an existing product. Without `maxSeats` its licenses have no \
                 seat limit, and without `expiresInDays` they don't expire."))
            .get_with(plans::list, op("listPlans", "List plans",
                "Lists the tenant's plans in this mode, oldest first, optionally of one product.")))
        .api_route("/api/v1/admin/plans/{id}",
            get_with(plans::get, op("getPlan", "Get a plan",
                "Gets the plan with this id."))
            .patch_with(plans::update, op("updatePlan", "Update a plan, not its licenses",
                "Changes the given members. Members named in `clear` become null. All others \
                 stay, and so do licenses that were created from the plan."))
            .delete_with(plans::delete, op("deletePlan", "Delete a plan without licenses",
                "Deletes the plan and returns it as it was. A plan with licenses cannot be \
                 deleted: 409.")))
}

#[rustfmt::skip]
fn users() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/users",
            post_with(users::create, op("createUser", "Create a user, or update an existing one",
                "Creates the user with this `externalId`, or updates the existing one: given \
                 members are replaced, others stay. Validations and assignments create unknown \
                 users too."))
            .get_with(users::list, op("listUsers", "List users",
                "Lists the tenant's users in this mode, oldest first.")))
        .api_route("/api/v1/admin/users/{id}",
            get_with(users::get, op("getUser", "Get a user",
                "Gets the user with this internal id."))
            .patch_with(users::update, op("updateUser", "Update a user",
                "Changes the given members. Members named in `clear` become null. All others \
                 stay. With another `externalId`, the user keeps licenses and seats."))
            .delete_with(users::delete, op("deleteUser", "Delete a user and free the seats",
                "Unassigns all licenses from the user, frees the seats and deletes the user. \
                 Returns the user as it was.")))
        .api_route("/api/v1/admin/users/{id}/forget",
            post_with(users::forget, op("forgetUser", "Remove a user's personal data",
                "Removes name, email and metadata from the user, from the user's assignments and \
                 from all events. With `externalId`, it also replaces the present and former \
                 external ids there. Licenses, seats and leases stay. `id` is the internal id, or \
                 the external id, percent-encoded. Both may be those of a deleted user. Records \
                 `user.forgotten`, and returns the remaining data with its retention. Safe to \
                 repeat.")))
}

#[rustfmt::skip]
fn keys() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/key",
            get_with(keys::current, op("getCurrentKey", "Get the request's key and its tenant",
                "Gets the key of this request, with its role, its mode and its tenant. Available \
                 to every role.")))
        .api_route("/api/v1/admin/keys",
            post_with(keys::create, op("createKey", "Create an API key, which is shown once",
                "Creates a key. Only this response shows it. A live key may also create test \
                 keys. Repeating the request with the same `Idempotency-Key` returns 409, because \
                 the key itself is not stored."))
            .get_with(keys::list, op("listKeys", "List API keys",
                "Lists the tenant's keys, oldest first, including revoked and expired ones, but \
                 never the keys themselves. A live key also sees test keys.")))
        .api_route("/api/v1/admin/keys/{id}/roll",
            post_with(keys::roll, op("rollKey", "Replace an API key with a new one, shown once",
                "Creates a key of the same name, role, mode and expiry. Only this response shows \
                 it. The old key stays valid for `overlapSeconds`, unless it expires sooner, so \
                 that you can update your applications. With 0 it is revoked immediately. \
                 Repeating the request with the same `Idempotency-Key` returns 409, because the \
                 key itself is not stored.")))
        .api_route("/api/v1/admin/keys/{id}/revoke",
            post_with(keys::revoke, op("revokeKey", "Revoke an API key",
                "Revokes the key immediately and permanently. `made` also revokes all keys that \
                 it created, directly or through other keys, because a leaked admin key may have \
                 created others. The tenant's last valid live admin key cannot be revoked.")))
}

#[rustfmt::skip]
fn events() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/events",
            get_with(events::list, refusing(&AHEAD, op("listEvents", "List events, in the order of commit",
                "Lists the changes in this mode of the tenant after the sequence `after`, without \
                 gaps and in the order of commit. A reader that stores the last sequence misses \
                 nothing and sees nothing twice."))))
}

#[rustfmt::skip]
fn refusals() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/refusals",
            get_with(refusals::list, op("listRefusals", "List refused validations, newest first",
                "Lists the refused validations of the last 30 days by user, reason and hour, \
                 newest first, in pages of 100 without `limit`. They are counted with a delay of \
                 a few seconds. With filters, the search for a page ends after a second. The page \
                 may then have fewer records than its limit, or none, while `nextCursor` is set.")))
}

#[rustfmt::skip]
fn statistics() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/statistics",
            get_with(statistics::get, op("getStatistics", "Count validations by hour and outcome",
                "Counts the validations of each hour by outcome, for at most 31 days. Without \
                 `to`, the current hour is the last one. Without `from`, the result has 24 hours.")))
        .api_route("/api/v1/admin/statistics/plans",
            get_with(statistics::plans, op("getPlanStatistics", "Count licenses, seats and users by plan",
                "The numbers of each plan on a day in UTC. licd counts today's every hour.")))
        .api_route("/api/v1/admin/statistics/months",
            get_with(statistics::months, op("getMonthStatistics", "Count licenses, seats and users by month",
                "The numbers at the end of each month, with the licenses made and ended and the \
                 validations in it. Months before the first count are left out.")))
}

#[rustfmt::skip]
fn health() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/healthz",
            get_with(health::healthz, op("getHealth", "Check that the process is up",
                "Returns 200 as long as the process is up. It does not check the database.")))
        .api_route("/readyz",
            get_with(health::readyz, op("getReadiness", "Check that this node can serve",
                "Returns 200 while this node can validate users who hold their seats, and 503 \
                 while it cannot. With `for=writes` it is also 503 while nothing can be written.")))
}

/// Refusals of a claim, in addition to those of all operations.
const CLAIM: [Refusal; 2] = [Refusal::LicenseKeyNotFound, Refusal::LicenseKeyConflict];

/// Refusals of a list of events, in addition to those of all operations.
const AHEAD: [Refusal; 1] = [Refusal::SequenceAhead];

/// Documents an operation with refusals that do not follow from its parameters.
fn refusing(
    refusals: &'static [Refusal],
    op: impl FnOnce(TransformOperation<'_>) -> TransformOperation<'_>,
) -> impl FnOnce(TransformOperation<'_>) -> TransformOperation<'_> {
    move |mut operation| {
        openapi::refuse(operation.inner_mut(), refusals);
        op(operation)
    }
}

/// Sets an operation's id, for generated clients, its summary and its description.
fn op(
    id: &'static str,
    summary: &'static str,
    description: &'static str,
) -> impl FnOnce(TransformOperation<'_>) -> TransformOperation<'_> {
    move |operation| {
        let mut operation = operation.id(id).summary(summary).description(description);
        openapi::complete(operation.inner_mut());
        operation
    }
}
