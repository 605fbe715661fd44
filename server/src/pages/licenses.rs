//! Licenses: the list, the form for a new one, and the page of each with its forms.

use axum::response::Response;

use super::visitor::{Editor, Viewer};
use crate::error::Error;

pub async fn list(_: Viewer) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn new(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn create(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn get(_: Viewer) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn set_status(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn set_limit(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn set_expiry(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn set_features(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn assign(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}

pub async fn unassign(_: Editor) -> Result<Response, Error> {
    Err(Error::RouteNotFound)
}
