//! The use of a license.

use common::{ActivationId, LicenseId, Paged, Usage};

use super::Unfiltered;
use crate::error::Error;
use crate::http::answer::{ListParams, Streamed};
use crate::http::credentials::Reader;
use crate::http::extract::{Id, Query};
use crate::http::json::text;
use crate::ops::usage::{self, LicenseUsage};

pub async fn get(
    Reader(view): Reader,
    Id(id): Id<LicenseId>,
    Query(query): Query<Unfiltered<ActivationId>>,
) -> Result<Streamed<Paged<Usage>>, Error> {
    let params = ListParams::new(query.after, query.limit);
    let page = params.first_long_page();
    let LicenseUsage { license, seats, users, first } = usage::read(&view, id, page).await?;
    let head = format!(r#"{{"license":{},"activations":["#, text(&license)?);
    let tail = format!(r#"],"totalActivations":{seats},"activeSeats":{users}}}"#);
    Streamed::paged(&head, &tail, query.limit, (page, first), move |page| {
        usage::page(view.clone(), id, page)
    })
}
