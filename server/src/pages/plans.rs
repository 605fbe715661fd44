//! The page of a plan.

use axum::response::Response;

use super::visitor::{Editor, Viewer};
use crate::error::Error;

pub async fn get(_: Viewer) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn update(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}
