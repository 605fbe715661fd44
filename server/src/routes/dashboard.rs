//! The addresses of the dashboard. The mode stands in them, so that two tabs cannot be confused.

use axum::routing::{get, post};
use axum::{Router, middleware};
use tower::ServiceBuilder;
use tower_http::csrf::CsrfLayer;

use crate::App;
use crate::error::Error;
use crate::pages::{Viewer, assets, home, keys, refuse_cross_site, render, sign_in};

#[rustfmt::skip]
pub fn routes() -> Router<App> {
    Router::new()
        .route("/dashboard", get(home))
        .route("/dashboard/sign-in", get(sign_in::show).post(sign_in::sign_in))
        .route("/dashboard/sign-out", post(sign_in::sign_out))
        .route("/dashboard/{mode}/keys", get(keys::list).post(keys::create))
        .route("/dashboard/{mode}/keys/{id}", get(keys::get))
        .route("/dashboard/{mode}/keys/{id}/revoke", post(keys::revoke))
        .route("/dashboard/{mode}/sessions/{id}/end", post(keys::end_session))
        .route("/dashboard/{mode}/{*rest}", get(async |_: Viewer| Error::RouteNotFound))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(
            ServiceBuilder::new()
                .layer(middleware::from_fn(render))
                .layer(CsrfLayer::new().with_rejection_response(refuse_cross_site)),
        )
        // Outside: they are nobody's page, and nobody's form.
        .route("/dashboard/assets/{name}", get(assets::get))
}
