//! A request that changes something: its caller, its preconditions, and its idempotency.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::Serialize;

use super::App;
use super::credentials::{Admin, Caller};
use super::idempotency::Idempotency;
use crate::error::Error;
use crate::events::Origin;
use crate::ops::Operations;
use crate::ops::change::Change;
use crate::ops::etag::Expected;
use crate::ops::idempotency::Idempotent;

/// A caller that may change records, whose change has its effect once for each `Idempotency-Key`.
pub struct Writer {
    app: App,
    caller: Caller,
    idempotency: Idempotency,
    expected: Expected,
    drops_leases: bool,
}

impl FromRequestParts<App> for Writer {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Admin(caller) = Admin::from_request_parts(parts, app).await?;
        let idempotency = Idempotency::from_request_parts(parts, app).await?;
        let (app, expected) = (app.clone(), Expected::Anything);
        Ok(Self { app, caller, idempotency, expected, drops_leases: false })
    }
}

impl Writer {
    /// Changes the record only if it is still as the caller saw it.
    pub fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// Takes seats away also while leases hold them, which is another request.
    pub fn dropping_leases(self, drops_leases: bool) -> Self {
        let idempotency = self.idempotency.dropping_leases(drops_leases);
        Self { idempotency, drops_leases, ..self }
    }

    /// The origin of the changes.
    pub fn origin(&self) -> Origin {
        self.caller.clone().origin()
    }

    /// The operations, for work before and after the change.
    pub fn ops(&self) -> Operations {
        self.app.ops.clone()
    }

    /// Makes the change that `request` asks for, unless the very same request had its effect before.
    pub async fn once<R: Serialize, T, F: Future<Output = Result<T, Error>>>(
        self,
        request: R,
        change: impl FnOnce(Change, R) -> F,
    ) -> Result<Idempotent<T>, Error> {
        let key = self.idempotency.of(&request)?;
        let prepared = |new: Change| {
            change(new.expecting(self.expected).dropping_leases(self.drops_leases), request)
        };
        self.app.ops.once(self.caller.origin(), key, prepared).await
    }
}
