//! The feed of events.

use axum::response::Response;

use super::visitor::Viewer;
use crate::error::Error;

pub async fn list(_: Viewer) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}
