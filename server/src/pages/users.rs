//! Users: finding them, and the page for support of each.

use axum::response::Response;

use super::visitor::{Editor, Viewer};
use crate::error::Error;

pub async fn list(_: Viewer) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn create(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn get(_: Viewer) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn update(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn delete(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}
