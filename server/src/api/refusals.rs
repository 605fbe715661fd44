//! Validations that were refused.

use common::{LicenseId, PlanId, ProductId, Reason, RefusalId, Timestamp, UserRefusal};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::http::answer::ListParams;
use crate::http::credentials::Reader;
use crate::http::extract::{Limit, Query, filter};
use crate::http::newest_first::DescendingPage;
use crate::ops::outcomes::{self, RefusalFilter};

/// The query of the list of refusals.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRefusals {
    /// Only the refusals of this user, by the caller's own identifier.
    user_id: Option<String>,
    /// Only refusals for this reason.
    // Readers keep the set of reasons open; a filter takes those that exist.
    #[schemars(with = "Option<String>", extend("enum" = Reason::WORDS))]
    reason: Option<Reason>,
    /// Only users who were refused at this time or later, of their refusals of one hour.
    from: Option<Timestamp>,
    /// Only users who were first refused before this time, of their refusals of one hour.
    to: Option<Timestamp>,
    /// Only refusals because of a license of this product.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "Option<String>")]
    product_id: Option<ProductId>,
    /// Only refusals because of a license of this plan.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "Option<String>")]
    plan_id: Option<PlanId>,
    /// Only refusals because of this license.
    #[serde(default, deserialize_with = "filter")]
    #[schemars(with = "Option<String>")]
    license_id: Option<LicenseId>,
    /// The greatest number of records; 100 if absent.
    limit: Option<Limit>,
    /// Only records after the one with this id: the `nextCursor` of the page before.
    after: Option<RefusalId>,
}

pub async fn list(
    Reader(view): Reader,
    Query(query): Query<ListRefusals>,
) -> Result<DescendingPage<UserRefusal>, Error> {
    let filter = RefusalFilter {
        user: query.user_id,
        reason: query.reason,
        from: query.from,
        to: query.to,
        product: query.product_id,
        plan: query.plan_id,
        license: query.license_id,
    };
    let params = ListParams::new(query.after, query.limit);
    DescendingPage::list(params, |page| outcomes::refusals(view, filter, page)).await
}
