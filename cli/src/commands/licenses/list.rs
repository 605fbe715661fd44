//! `licctl licenses list`.

use clap::{Args, ValueEnum};
use common::{
    Explain, Explanation, ExternalId, License, LicenseWithSeats, PlanId, ProductId, Seats, Status,
    Timestamp,
};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::{FIELDS, PATH, past, status_cell};
use crate::client::{ApiRecord, Client};
use crate::commands::lists::{self, Kind, ListFlags};
use crate::commands::plans::joined;
use crate::completion_cache;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::View;
use crate::output::cell::TextCell;
use crate::output::table::{Column, Table};
use crate::output::time::Span;
use crate::resolve::{self, NameIndex, Purpose};

const COLUMNS: [Column; 7] = [
    Column::new("ID", 0),
    Column::flexible("PRODUCT", 4),
    Column::flexible("PLAN", 1),
    Column::kept("STATUS"),
    Column::new("SEATS", 3),
    Column::new("EXPIRES", 2),
    Column::flexible("FEATURES", 5),
];
const KIND: Kind<ApiRecord<LicenseWithSeats>> = Kind {
    fields: &FIELDS,
    id: |it| it.license.id.to_string(),
    remember: completion_cache::remember,
};

/// List licenses, oldest first
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl licenses list --product \"Acme Studio\" --status active
  licctl licenses list --user alice
  licctl licenses list --expiring-within 30d -o json
  licctl licenses list -c id,status,expires --limit 20
  licctl licenses list -o csv > licenses.csv

With -o csv, jsonl or ids the licenses are printed as they arrive. If the list
ends early, those that came stay printed, and the exit code is the error's.")]
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
    #[command(flatten)]
    flags: ListFlags,
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

/// What a license must be to be listed.
struct Filter<'a> {
    args: &'a ListArgs,
    plan: Option<PlanId>,
    product: Option<ProductId>,
    now: Timestamp,
}

pub async fn run(ctx: &Context, args: ListArgs) -> Result<View> {
    let client = ctx.client().await?;
    let product = match &args.product {
        Some(given) => Some(resolve::product(ctx, given, Purpose::Read).await?.id),
        None => None,
    };
    let plan = match &args.plan {
        Some(given) => Some(resolve::plan(ctx, given, Purpose::Read).await?.id),
        None => None,
    };
    let filter = Filter { args: &args, plan, product, now: ctx.now };
    let query: Vec<(&str, String)> = plan.iter().map(|id| ("planId", id.to_string())).collect();
    let query: Vec<(&str, &str)> = query.iter().map(|(key, id)| (*key, id.as_str())).collect();
    let limit = args.flags.limit().filter(|_| !filter.selects());
    let pages = match &args.user {
        Some(user) => stream::once(of_user(client, user)).left_stream(),
        None => client.pages(PATH, &query, limit).right_stream(),
    };
    let pages = pages.map_ok(|mut page: Vec<ApiRecord<LicenseWithSeats>>| {
        page.retain(|it| filter.fits(&it.license));
        page
    });
    let whole = plan.is_none() && !filter.selects();
    let Some(licenses) = lists::read(ctx, &KIND, &args.flags, whole, pages).await? else {
        return Ok(View::printed());
    };
    let ids = licenses.iter().map(KIND.id).collect();
    let view = View::new(&licenses, ids)?.or_when_empty(hint(&args));
    if !ctx.output.format.has_columns() || licenses.is_empty() {
        return Ok(view.table(Table::new(&COLUMNS)));
    }
    Ok(view.table(table(ctx, &licenses, &NameIndex::load(ctx).await?)))
}

impl Filter<'_> {
    /// Whether some licenses of the service's list may not fit.
    fn selects(&self) -> bool {
        self.product.is_some()
            || self.args.status.is_some()
            || self.args.user.is_some()
            || self.args.expiring_within.is_some()
    }

    fn fits(&self, license: &License) -> bool {
        let soon = |span: Span| {
            let until = self.now.plus(span.delta());
            let end = license.expires_at.filter(|&end| end > self.now && end <= until);
            license.status == Status::Active && end.is_some()
        };
        self.product.is_none_or(|product| license.product_id == product)
            && self.plan.is_none_or(|plan| license.plan_id == plan)
            && self.args.status.is_none_or(|status| status.fits(license, self.now))
            && self.args.expiring_within.is_none_or(soon)
    }
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
async fn of_user(client: &Client, user: &ExternalId) -> Result<Vec<ApiRecord<LicenseWithSeats>>> {
    let body = Explain { user_id: user.clone(), product_id: None };
    let explained: ApiRecord<Explanation> = client.ask("/api/v1/admin/explain", &body).await?;
    if explained.user.is_none() {
        let what = format!("There is no user {user}.");
        return Err(Error::not_found(what).fix("licctl users list --search TEXT"));
    }
    let with_seats = explained.licenses.iter().map(|it| {
        let seats = Seats { used: it.seats_used, allowed: it.license.max_seats };
        ApiRecord::typed(LicenseWithSeats { license: it.license.clone(), seats })
    });
    Ok(with_seats.collect())
}

fn table(ctx: &Context, licenses: &[ApiRecord<LicenseWithSeats>], names: &NameIndex) -> Table {
    let row = |it: &ApiRecord<LicenseWithSeats>| {
        let license = &it.license;
        let allowed = it.seats.allowed.map_or_else(|| "no limit".to_owned(), |max| max.to_string());
        vec![
            TextCell::of(license.id),
            TextCell::text(names.product(license.product_id)),
            TextCell::text(names.plan(license.plan_id)),
            status_cell(license, ctx.now),
            TextCell::text(format!("{}/{allowed}", it.seats.used)),
            TextCell::time_or("never", license.expires_at, ctx.now),
            TextCell::text(joined(&license.features)),
        ]
    };
    Table::new(&COLUMNS).with(licenses.iter().map(row))
}
