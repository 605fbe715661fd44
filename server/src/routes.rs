//! The table of contents: every address of the service, once, with its summary. The OpenAPI
//! document is generated from this page, from the descriptions beside it, and from the types of the
//! handlers' parameters and answers.

mod dashboard;
mod descriptions;

use aide::axum::ApiRouter;
use aide::axum::routing::{delete_with, get_with, patch_with, post_with};
use aide::openapi::{OpenApi, Tag};
use aide::transform::TransformOperation;
use axum::routing::get;
use axum::{Router, middleware};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;

use crate::App;
use crate::api::{
    events, explain, health, keys, licenses, metrics, plans, products, reference, refusals,
    statistics, usage, users, validate,
};
use crate::error::Error;
use crate::http::{context, openapi};

/// The router of the whole service.
pub fn router(app: App) -> Router {
    let (api, document) = api();
    let document = openapi::text(&document);
    let context = middleware::from_fn_with_state(app.metrics.clone(), context::run);
    api.route("/api/v1/openapi.json", get(async move || openapi::serve(document)))
        .route("/docs", get(reference::page))
        .route(reference::REDOC_PATH, get(reference::redoc))
        .merge(dashboard::routes())
        .fallback(async || Error::RouteNotFound)
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        // As one layer: each by itself would box every request's future once more.
        .layer(
            ServiceBuilder::new().layer(context).layer(CatchPanicLayer::custom(context::panicked)),
        )
        .with_state(app)
}

/// The router of the listener for metrics, which has no keys.
pub fn metrics(scrape: metrics::Scrape) -> Router {
    Router::new().route("/metrics", get(metrics::show)).with_state(scrape)
}

/// The interface as an OpenAPI 3.1 document.
pub fn document() -> OpenApi {
    api().1
}

fn api() -> (Router<App>, OpenApi) {
    openapi::begin();
    let mut document = OpenApi::default();
    let routes = routes().finish_api_with(&mut document, |document| {
        descriptions::TAGS.iter().fold(openapi::preface(document), |document, (name, text)| {
            let description = Some((*text).to_owned());
            document.tag(Tag { name: (*name).to_owned(), description, ..Tag::default() })
        })
    });
    (routes, document)
}

fn routes() -> ApiRouter<App> {
    ApiRouter::new()
        // For the vendor's application.
        .merge(tagged("Validation", validation()))
        // For the vendor's administrators.
        .merge(tagged("Products", products()))
        .merge(tagged("Plans", plans()))
        .merge(tagged("Licenses", licenses()))
        .merge(tagged("Users", users()))
        .merge(tagged("Keys", keys()))
        .merge(tagged("Events", events()))
        .merge(tagged("Refusals", refusals()))
        .merge(tagged("Statistics", statistics()))
        // For what runs the service.
        .merge(tagged("Health", health()))
}

#[rustfmt::skip]
fn validation() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/validate",
            post_with(validate::validate, op("validate", "Validate a user")))
        .api_route("/api/v1/admin/explain",
            post_with(explain::explain, op("explain", "Explain the answer of a validation")))
}

#[rustfmt::skip]
fn products() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/products",
            post_with(products::create, op("createProduct", "Create a product"))
            .get_with(products::list, op("listProducts", "List products")))
        .api_route("/api/v1/admin/products/{id}",
            get_with(products::get, op("getProduct", "Get a product"))
            .patch_with(products::update, op("updateProduct", "Update a product")))
}

#[rustfmt::skip]
fn plans() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/plans",
            post_with(plans::create, op("createPlan", "Create a plan"))
            .get_with(plans::list, op("listPlans", "List plans")))
        .api_route("/api/v1/admin/plans/{id}",
            get_with(plans::get, op("getPlan", "Get a plan"))
            .patch_with(plans::update, op("updatePlan", "Update a plan, not its licenses")))
}

#[rustfmt::skip]
fn licenses() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/licenses",
            post_with(licenses::create, op("createLicense", "Create a license from a plan"))
            .get_with(licenses::list, op("listLicenses", "List licenses")))
        .api_route("/api/v1/admin/licenses/{id}",
            get_with(licenses::get, op("getLicense", "Get a license"))
            .patch_with(licenses::update,
                op("updateLicense", "Update a license's terms, name or metadata")))
        .api_route("/api/v1/admin/licenses/{id}/status",
            patch_with(licenses::set_status, op("setLicenseStatus", "Set a license's status")))
        .api_route("/api/v1/admin/licenses/{id}/assign",
            post_with(licenses::assign, op("assignLicense", "Assign a license to a user"))
            .delete_with(licenses::unassign_by_query,
                op("unassignLicenseByQuery", "Unassign a license from a user named in the query")))
        .api_route("/api/v1/admin/licenses/{id}/assign/{userId}",
            delete_with(licenses::unassign,
                op("unassignLicense", "Unassign a license from a user")))
        .api_route("/api/v1/admin/licenses/{id}/assignments",
            get_with(licenses::assignments,
                op("listAssignments", "List the users to whom a license is assigned")))
        .api_route("/api/v1/admin/licenses/{id}/usage",
            get_with(usage::get, op("getLicenseUsage", "List the seats of a license")))
}

#[rustfmt::skip]
fn users() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/users",
            post_with(users::create, op("createUser", "Create a user, or update an existing one"))
            .get_with(users::list, op("listUsers", "List users")))
        .api_route("/api/v1/admin/users/{id}",
            get_with(users::get, op("getUser", "Get a user"))
            .patch_with(users::update, op("updateUser", "Update a user"))
            .delete_with(users::delete, op("deleteUser", "Delete a user and free the seats")))
}

#[rustfmt::skip]
fn keys() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/key",
            get_with(keys::current, op("getCurrentKey", "Get the request's key and its tenant")))
        .api_route("/api/v1/admin/keys",
            post_with(keys::create, op("createKey", "Create an API key, which is shown once"))
            .get_with(keys::list, op("listKeys", "List API keys")))
        .api_route("/api/v1/admin/keys/{id}/roll",
            post_with(keys::roll, op("rollKey", "Replace an API key by a new one, shown once")))
        .api_route("/api/v1/admin/keys/{id}/revoke",
            post_with(keys::revoke, op("revokeKey", "Revoke an API key")))
}

#[rustfmt::skip]
fn events() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/events",
            get_with(events::list, op("listEvents", "List events, in the order of commit")))
}

#[rustfmt::skip]
fn refusals() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/refusals",
            get_with(refusals::list, op("listRefusals", "List refused validations, newest first")))
}

#[rustfmt::skip]
fn statistics() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/statistics",
            get_with(statistics::get, op("getStatistics", "Count validations by hour and outcome")))
}

#[rustfmt::skip]
fn health() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/healthz",
            get_with(health::healthz, op("getHealth", "Check that the process is up")))
        .api_route("/readyz",
            get_with(health::readyz, op("getReadiness", "Check that this node can serve")))
}

/// Puts the operations into a group, which becomes one class of a generated client.
fn tagged(tag: &str, routes: ApiRouter<App>) -> ApiRouter<App> {
    routes.with_path_items(|path| path.tag(tag))
}

/// Sets an operation's name, for generated clients, its summary and its description.
fn op(id: &str, summary: &str) -> impl FnOnce(TransformOperation<'_>) -> TransformOperation<'_> {
    move |operation| {
        let mut operation = operation.id(id).summary(summary).description(descriptions::of(id));
        openapi::complete(operation.inner_mut());
        operation
    }
}
