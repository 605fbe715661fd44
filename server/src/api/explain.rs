//! The result of a validation with its reasons, without its effects.

use axum::extract::State;
use common::{Explain, Explanation};

use crate::error::Error;
use crate::http::App;
use crate::http::answer::Data;
use crate::http::credentials::Reader;
use crate::http::extract::Json;
use crate::ops::explain;

pub async fn explain(
    State(app): State<App>,
    Reader(caller): Reader,
    Json(body): Json<Explain>,
) -> Result<Data<Explanation>, Error> {
    explain::explain(app.ops.view(caller.scope), body).await.map(Data)
}
