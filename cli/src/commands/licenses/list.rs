//! `licctl licenses list`.

use std::collections::HashMap;

use clap::{Args, ValueEnum};
use common::{
    Explain, Explanation, ExternalId, License, LicenseId, ProductId, Status, Timestamp, Usage,
};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::{PATH, past, status_cell};
use crate::client::{ApiRecord, Client};
use crate::commands::plans::joined;
use crate::completion_cache;
use crate::context::Context;
use crate::error::Result;
use crate::output::cell::TextCell;
use crate::output::table::{Column, Table};
use crate::output::time::Span;
use crate::output::{Format, View};
use crate::resolve::{self, NameIndex, Purpose};

const COLUMNS: [Column; 7] = [
    Column::new("ID", 0),
    Column::flexible("PRODUCT", 4),
    Column::flexible("PLAN", 1),
    Column::new("STATUS", 1),
    Column::new("SEATS", 3),
    Column::new("EXPIRES", 2),
    Column::flexible("FEATURES", 5),
];

/// Seats in use take a request for each license; longer lists do without.
const MAX_COUNTED_LICENSES: usize = 100;
const REQUESTS_IN_FLIGHT: usize = 4;

/// List licenses, oldest first
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl licenses list --product \"Acme Studio\" --status active
  licctl licenses list --user alice
  licctl licenses list --expiring-within 30d -o json")]
pub struct ListArgs {
    /// Only licenses of this plan
    #[arg(long)]
    plan: Option<String>,
    /// Only licenses of this product
    #[arg(long)]
    product: Option<String>,
    /// Only licenses of this effective status; an active license past its date counts as expired
    #[arg(long)]
    status: Option<StatusArg>,
    /// Only licenses assigned to this user, in the order in which a validation checks them
    #[arg(long)]
    user: Option<ExternalId>,
    /// Only active licenses that expire within this time
    #[arg(long, value_name = "SPAN")]
    expiring_within: Option<Span>,
}

/// [`Status`] as a flag takes it.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatusArg {
    Active,
    Suspended,
    Revoked,
    Expired,
}

impl StatusArg {
    fn fits(self, license: &License, now: Timestamp) -> bool {
        let status = match license.status {
            Status::Active if past(license, now).is_some() => Self::Expired,
            Status::Active => Self::Active,
            Status::Suspended => Self::Suspended,
            Status::Revoked => Self::Revoked,
            Status::Expired => Self::Expired,
        };
        self == status
    }
}

pub async fn run(ctx: &Context, args: ListArgs) -> Result<View> {
    let client = ctx.client().await?;
    let product = match &args.product {
        Some(given) => Some(resolve::product(ctx, given, Purpose::Read).await?.id),
        None => None,
    };
    let mut licenses = match &args.user {
        Some(user) => of_user(client, user).await?,
        None => Vec::new(),
    };
    if args.user.is_none() {
        let plan = match &args.plan {
            Some(given) => Some(resolve::plan(ctx, given, Purpose::Read).await?.id.to_string()),
            None => None,
        };
        let filter: Vec<_> = plan.iter().map(|id| ("planId", id.as_str())).collect();
        licenses = client.list(PATH, &filter).await?;
        if filter.is_empty() {
            completion_cache::remember(ctx, &licenses);
        }
    } else if let Some(given) = &args.plan {
        let plan = resolve::plan(ctx, given, Purpose::Read).await?.id;
        licenses.retain(|license| license.plan_id == plan);
    }
    licenses.retain(|license| fits(license, &args, product, ctx.now));
    let ids = licenses.iter().map(|license| license.id.to_string()).collect();
    let view = View::new(&licenses, ids)?;
    if ctx.output.format != Format::Table || licenses.is_empty() {
        return Ok(view.table(Table::new(&COLUMNS)).or_when_empty(hint(&args)));
    }
    let (names, used) = tokio::try_join!(NameIndex::load(ctx), seats_in_use(ctx, &licenses))?;
    Ok(view.table(table(ctx, &licenses, &names, &used)))
}

fn fits(license: &License, args: &ListArgs, product: Option<ProductId>, now: Timestamp) -> bool {
    let soon = |span: Span| {
        let end = license.expires_at.filter(|&end| end > now && end <= now.plus(span.delta()));
        license.status == Status::Active && end.is_some()
    };
    product.is_none_or(|product| license.product_id == product)
        && args.status.is_none_or(|status| status.fits(license, now))
        && args.expiring_within.is_none_or(soon)
}

fn hint(args: &ListArgs) -> &'static str {
    let filtered = args.plan.is_some()
        || args.product.is_some()
        || args.status.is_some()
        || args.user.is_some()
        || args.expiring_within.is_some();
    if filtered {
        "No license matches."
    } else {
        "There are no licenses yet. Create one: licctl licenses create"
    }
}

/// The licenses of a user. The service lists them only when it explains.
async fn of_user(client: &Client, user: &ExternalId) -> Result<Vec<ApiRecord<License>>> {
    let body = Explain { user_id: user.clone(), product_id: None };
    let explained: ApiRecord<Explanation> = client.ask("/api/v1/admin/explain", &body).await?;
    if explained.user.is_none() {
        let what = format!("There is no user {user}.");
        return Err(crate::error::Error::not_found(what).fix("licctl users list --search TEXT"));
    }
    Ok(explained.licenses.iter().map(|it| ApiRecord::typed(it.license.clone())).collect())
}

/// How many seats of each license are in use; empty when there are too many licenses to ask.
async fn seats_in_use(
    ctx: &Context,
    licenses: &[ApiRecord<License>],
) -> Result<HashMap<LicenseId, i64>> {
    if licenses.len() > MAX_COUNTED_LICENSES {
        ctx.note(&format!(
            "SEATS shows limits only: licctl counts seats in use for up to {MAX_COUNTED_LICENSES} licenses"
        ));
        return Ok(HashMap::new());
    }
    let client = ctx.client().await?;
    let asking = licenses.iter().map(|license| async {
        let path = format!("{PATH}/{}/usage?limit=1", license.id);
        let usage: Usage = client.get(&path).await?;
        Ok((license.id, usage.active_seats))
    });
    stream::iter(asking).buffered(REQUESTS_IN_FLIGHT).try_collect().await
}

fn table(
    ctx: &Context,
    licenses: &[ApiRecord<License>],
    names: &NameIndex,
    used: &HashMap<LicenseId, i64>,
) -> Table {
    let row = |license: &ApiRecord<License>| {
        let allowed =
            license.max_seats.map_or_else(|| "no limit".to_owned(), |max| max.to_string());
        let seats = match used.get(&license.id) {
            Some(used) => format!("{used}/{allowed}"),
            None => allowed,
        };
        vec![
            TextCell::of(license.id),
            TextCell::text(names.product(license.product_id)),
            TextCell::text(names.plan(license.plan_id)),
            status_cell(license, ctx.now),
            TextCell::text(seats),
            TextCell::time_or("never", license.expires_at, ctx.now),
            TextCell::text(joined(&license.features)),
        ]
    };
    Table::new(&COLUMNS).with(licenses.iter().map(row))
}
