//! Operations that no address of the API offers: lists that are newest first, and what an overview
//! shows.

mod holders;
mod key_uses;
mod keys;
mod licenses;
mod newest_first;
mod users;

use std::sync::Arc;

use common::{Mode, TenantId};
use licd::ops::Operations;
use licd::ops::view::View;
use licd::store::{Scope, worlds};

use crate::harness::{App, Caller};

/// The world of the caller's key.
pub async fn scope_of(app: &App, caller: &Caller) -> Scope {
    let key = caller.get("/api/v1/key").await;
    let tenant: TenantId = key["tenant"]["id"].as_str().unwrap().parse().unwrap();
    let mode: Mode = key["mode"].as_str().unwrap().parse().unwrap();
    let mut conn = app.db().read().await.unwrap();
    worlds::find(&mut conn, tenant, mode).await.unwrap().unwrap()
}

/// Returns the view of the caller.
async fn view_of(app: &App, caller: &Caller) -> View {
    Operations::new(app.db().clone(), Arc::default()).view(scope_of(app, caller).await)
}
