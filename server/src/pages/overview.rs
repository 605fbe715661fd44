//! The overview: what happened lately, and what needs a look.

use axum::response::Response;

use super::visitor::Viewer;
use crate::error::Error;

pub async fn show(_: Viewer) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}
