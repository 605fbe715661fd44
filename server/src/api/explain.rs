//! The answer of a validation and its reasons, without any of its effects.

use axum::extract::State;
use common::{Explain, Explanation, Timestamp};

use crate::App;
use crate::error::Error;
use crate::http::answer::Data;
use crate::http::credentials::Reader;
use crate::http::extract::Json;
use crate::validation;

pub async fn explain(
    State(app): State<App>,
    Reader(caller): Reader,
    Json(body): Json<Explain>,
) -> Result<Data<Explanation>, Error> {
    let view = app.ops.view(caller.scope);
    let mut tx = view.snapshot().await?;
    validation::explain(&mut tx, view.scope, body, Timestamp::now()).await.map(Data)
}
