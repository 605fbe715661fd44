//! The addresses of the dashboard. They contain the mode, so that two tabs cannot be confused.

use axum::routing::{get, post};
use axum::{Router, middleware};
use tower::ServiceBuilder;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;

use crate::error::Error;
use crate::http::App;
use crate::pages::{
    Viewer, assets, delete, events, form_opened, front_door, home, keys, licenses, numbers,
    overview, plans, products, refusals, refuse_cross_site, render, sign_in, users, webhooks,
};

#[rustfmt::skip]
pub fn routes() -> Router<App> {
    Router::new()
        .route("/dashboard", get(home))
        .route("/dashboard/", get(home))
        .route("/dashboard/sign-in", get(sign_in::show).post(sign_in::sign_in))
        .route("/dashboard/sign-out", post(sign_in::sign_out))
        .route("/dashboard/{mode}", get(overview::show))
        .route("/dashboard/{mode}/", get(overview::show))
        .route("/dashboard/{mode}/licenses", get(licenses::list).post(licenses::create))
        .route("/dashboard/{mode}/licenses.csv", get(licenses::export))
        .route("/dashboard/{mode}/licenses/new", get(licenses::new))
        .route("/dashboard/{mode}/licenses/renew", post(licenses::renew))
        .route("/dashboard/{mode}/licenses/{id}", get(licenses::get))
        .route("/dashboard/{mode}/licenses/{id}/delete", post(delete::license))
        .route("/dashboard/{mode}/licenses/{id}/keys", post(licenses::keys::create))
        .route("/dashboard/{mode}/licenses/{id}/keys/{key}/reissue", post(licenses::keys::reissue))
        .route("/dashboard/{mode}/licenses/{id}/keys/{key}/revoke", post(licenses::keys::revoke))
        .route("/dashboard/{mode}/licenses/{id}/{action}", post(licenses::change))
        .route("/dashboard/{mode}/search", post(users::search))
        .route("/dashboard/{mode}/users", get(users::list).post(users::create))
        .route("/dashboard/{mode}/users/{id}", get(users::get).post(users::update))
        .route("/dashboard/{mode}/users/{id}/assign", post(users::assign))
        .route("/dashboard/{mode}/users/{id}/licenses", post(users::create_license))
        .route("/dashboard/{mode}/users/{id}/delete", post(delete::user))
        .route("/dashboard/{mode}/products", get(products::list).post(products::create))
        .route("/dashboard/{mode}/products/{id}", get(products::get).post(products::update))
        .route("/dashboard/{mode}/products/{id}/plans", post(products::create_plan))
        .route("/dashboard/{mode}/products/{id}/delete", post(delete::product))
        .route("/dashboard/{mode}/plans/{id}", get(plans::get).post(plans::update))
        .route("/dashboard/{mode}/plans/{id}/delete", post(delete::plan))
        .route("/dashboard/{mode}/refusals", get(refusals::list))
        .route("/dashboard/{mode}/numbers", get(numbers::show))
        .route("/dashboard/{mode}/events", get(events::list))
        .route("/dashboard/{mode}/keys", get(keys::list).post(keys::create))
        .route("/dashboard/{mode}/keys/{id}", get(keys::get))
        .route("/dashboard/{mode}/keys/{id}/roll", post(keys::roll))
        .route("/dashboard/{mode}/keys/{id}/revoke", post(keys::revoke))
        .route("/dashboard/{mode}/signing-keys", post(keys::signing::create))
        .route("/dashboard/{mode}/signing-keys/{id}/rotate", post(keys::signing::rotate))
        .route("/dashboard/{mode}/signing-keys/{id}/delete", post(keys::signing::delete))
        .route("/dashboard/{mode}/sessions/{id}/end", post(keys::end_session))
        .route("/dashboard/{mode}/webhooks", get(webhooks::list).post(webhooks::create))
        .route("/dashboard/{mode}/webhooks/{id}", get(webhooks::get).post(webhooks::update))
        .route("/dashboard/{mode}/webhooks/{id}/act", post(webhooks::act))
        .route("/dashboard/{mode}/webhooks/{id}/delete", post(delete::webhook))
        .route("/dashboard/{mode}/{*rest}", get(async |_: Viewer| Error::RouteNotFound))
        .method_not_allowed_fallback(form_opened)
        .layer(
            ServiceBuilder::new()
                .layer(middleware::from_fn(render))
                .layer(CsrfLayer::new().with_rejection_response(refuse_cross_site)),
        )
        // Outside: these are neither pages nor forms.
        .route("/dashboard/assets/{name}", get(assets::get))
        .route("/", get(front_door))
        // Tables of links shrink by a factor of eight.
        .layer(CompressionLayer::new())
}
