//! `licctl licenses list`.

use clap::Args;
use common::{ExternalId, License, LicenseWithSeats, Seats, Status, Timestamp};

use super::{past, status_cell};
use crate::client::ApiRecord;
use crate::commands::plans::joined;
use crate::completion;
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

/// List licenses, oldest first
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl licenses list --product \"Acme Studio\" --status active
  licctl licenses list --user alice
  licctl licenses list --expiring-within 30d -o json")]
pub struct ListArgs {
    /// Only licenses of this plan
    #[arg(long, add = completion::plans())]
    plan: Option<String>,
    /// Only licenses of this product
    #[arg(long, add = completion::products())]
    product: Option<String>,
    /// Only licenses of this effective status; an active license past its date counts as expired
    #[arg(long)]
    status: Option<Status>,
    /// Only licenses assigned to this user
    #[arg(long, add = completion::users())]
    user: Option<ExternalId>,
    /// Only active licenses that expire within this time
    #[arg(long, value_name = "SPAN")]
    expiring_within: Option<Span>,
}

pub async fn run(ctx: &Context, args: ListArgs) -> Result<View> {
    let product = match &args.product {
        Some(given) => Some(resolve::product(ctx, given, Purpose::Read).await?.id.to_string()),
        None => None,
    };
    let plan = match &args.plan {
        Some(given) => Some(resolve::plan(ctx, given, Purpose::Read).await?.id.to_string()),
        None => None,
    };
    let user = args.user.as_ref().map(ExternalId::as_str);
    let filters =
        [("productId", product.as_deref()), ("planId", plan.as_deref()), ("userId", user)];
    let filters: Vec<_> =
        filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let mut licenses = ctx.client().await?.licenses().list(&filters).await?;
    if filters.is_empty() {
        completion_cache::remember(ctx, &licenses);
    }
    if let (Some(user), true) = (user, licenses.is_empty()) {
        // An unknown user is an error, so that a typo is not taken for a user without licenses.
        resolve::user(ctx, user).await?;
    }
    licenses.retain(|license| fits(license, &args, ctx.now));
    let ids = licenses.iter().map(|license| license.id.to_string()).collect();
    let view = View::new(&licenses, ids)?;
    if ctx.output.format != Format::Table || licenses.is_empty() {
        return Ok(view.table(Table::new(&COLUMNS)).or_when_empty(hint(&args)));
    }
    let names = NameIndex::load(ctx).await?;
    Ok(view.table(table(ctx, &licenses, &names)))
}

/// The status as a validation treats it.
fn effective(license: &License, now: Timestamp) -> Status {
    match license.status {
        Status::Active if past(license, now).is_some() => Status::Expired,
        status => status,
    }
}

fn fits(license: &License, args: &ListArgs, now: Timestamp) -> bool {
    let soon = |span: Span| {
        let end = license.expires_at.filter(|&end| end > now && end <= now.plus(span.delta()));
        license.status == Status::Active && end.is_some()
    };
    args.status.is_none_or(|status| status == effective(license, now))
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

fn table(ctx: &Context, licenses: &[ApiRecord<LicenseWithSeats>], names: &NameIndex) -> Table {
    let row = |license: &ApiRecord<LicenseWithSeats>| {
        let Seats { used, allowed } = license.seats;
        let allowed = allowed.map_or_else(|| "no limit".to_owned(), |max| max.to_string());
        vec![
            TextCell::of(license.id),
            TextCell::text(names.product(license.product_id)),
            TextCell::text(names.plan(license.plan_id)),
            status_cell(license, ctx.now),
            TextCell::text(format!("{used}/{allowed}")),
            TextCell::time_or("never", license.expires_at, ctx.now),
            TextCell::text(joined(&license.features)),
        ]
    };
    Table::new(&COLUMNS).with(licenses.iter().map(row))
}
