//! `licctl import --compare`: asks the export and licd the same questions, and lists the differences.

use std::collections::BTreeMap;

use common::{Explain, ExternalId, Status};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::Serialize;

use super::catalog::Catalog;
use super::rows::ImportedLicense;
use crate::bulk::ROWS_IN_FLIGHT;
use crate::commands::prelude::*;

const COLUMNS: [Column; 4] = [
    Column::flexible("PRODUCT", 1),
    Column::new("USER", 0),
    Column::kept("EXPORT"),
    Column::kept("LICD"),
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    product: String,
    user_id: String,
    export: &'static str,
    licd: String,
}

/// Validates nothing: licd explains what it would answer.
pub async fn run(ctx: &Context, licenses: &[ImportedLicense], catalog: &Catalog) -> Result<View> {
    let client = ctx.client().await?;
    let mut expected = BTreeMap::new();
    for license in licenses {
        for holder in &license.holders {
            let user = (license.terms.product.to_string(), holder.id.to_string());
            let entry = expected.entry(user).or_insert((license, &holder.id, false));
            entry.2 |= is_valid(ctx, license);
        }
    }
    let count = expected.len();
    let ask =
        async |((product, user), (license, user_id, is_valid)): (_, (_, &ExternalId, bool))| {
            let licd = match catalog.product(license) {
                Some(id) => {
                    let question = Explain { user_id: user_id.clone(), product_id: Some(id) };
                    client.explain(&question).await?.reason.as_ref().map(ToString::to_string)
                }
                None => Some("unknown product".to_owned()),
            };
            let export = if is_valid { "valid" } else { "not valid" };
            let is_same = licd.is_none() == is_valid;
            let licd = licd.unwrap_or_else(|| "valid".to_owned());
            Ok((!is_same).then_some(Difference { product, user_id: user, export, licd }))
        };
    let answers = stream::iter(expected).map(ask).buffered(ROWS_IN_FLIGHT);
    let different: Vec<Difference> =
        answers.try_filter_map(async |it| Ok(it)).try_collect().await?;
    ctx.note(&format!("{count} users compared, {} different", different.len()));
    let row = |it: &Difference| {
        let (product, user) = (TextCell::text(&it.product), TextCell::text(&it.user_id));
        vec![product, user, TextCell::text(it.export), TextCell::text(&it.licd)]
    };
    let table = Table::new(&COLUMNS).with(different.iter().map(row));
    let ids = different.iter().map(|it| it.user_id.clone()).collect();
    let exit = if different.is_empty() { Exit::Success } else { Exit::Negative };
    let view = View::new(&different, ids)?.fields(&["product userId export licd"]).table(table);
    Ok(view.or_when_empty("No differences.").exit(exit))
}

fn is_valid(ctx: &Context, license: &ImportedLicense) -> bool {
    let row = &license.terms;
    row.status.is_none_or(|status| status == Status::Active)
        && row.expires.is_none_or(|end| end > ctx.now)
}
