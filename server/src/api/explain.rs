//! The result of a validation with its reasons, without its effects.

use common::{Explain, Explanation};

use crate::error::Error;
use crate::http::answer::Data;
use crate::http::credentials::Reader;
use crate::http::extract::Json;
use crate::ops::explain;

pub async fn explain(
    Reader(view): Reader,
    Json(body): Json<Explain>,
) -> Result<Data<Explanation>, Error> {
    explain::explain(view, body).await.map(Data)
}
