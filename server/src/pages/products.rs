//! Products, with their plans.

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

pub async fn create_plan(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}
