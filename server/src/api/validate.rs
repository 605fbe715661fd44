//! The question the service exists for.

use axum::extract::State;
use common::{Validate, Validation};

use crate::App;
use crate::answer::Data;
use crate::auth::Asker;
use crate::error::Error;
use crate::extract::Json;
use crate::validation::{Ask, UnknownProduct};

pub async fn validate(
    State(app): State<App>,
    Asker(caller): Asker,
    Json(body): Json<Validate>,
) -> Result<Data<Validation>, Error> {
    let ask = Ask { scope: caller.scope(), user: body.user_id, product: body.product_id };
    let answer = app.validations.ask(ask).await?;
    answer.map(Data).map_err(|UnknownProduct| Error::unknown("productId", "product"))
}
