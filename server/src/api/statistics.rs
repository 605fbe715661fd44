//! The number of validations by outcome.

use common::{Statistics, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::answer::Data;
use crate::http::credentials::Reader;
use crate::http::extract::Query;
use crate::ops::outcomes;

/// The query of the statistics.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// A time in the first hour, in RFC 3339; if absent, the result covers 24 hours. At most 31 days
    /// before `to`.
    #[schemars(example = "2027-01-31T00:00:00.000Z")]
    from: Option<Timestamp>,
    /// The end of the last hour, or a time in it, in RFC 3339; now if absent.
    to: Option<Timestamp>,
}

pub async fn get(
    Reader(view): Reader,
    Query(period): Query<Period>,
) -> Result<Data<Statistics>, Error> {
    outcomes::statistics(view, period.from, period.to).await.map(Data)
}
