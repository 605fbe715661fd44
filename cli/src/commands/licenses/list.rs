//! `licctl licenses list`.

use common::{ExternalId, LicenseState, Product, Seats, SeatsTaken, Timestamp, month_of};
use futures_util::stream::TryStreamExt;
use serde::Serialize;

use super::{FIELDS, expires_cell, status_cell, with_its_state};
use crate::client::LicenseWithSeats;
use crate::commands::plans::{joined, seats};
use crate::commands::prelude::*;
use crate::noun::{LICENSE_TERM_FIELDS, ListFlags};
use crate::output::Span;

const NONE_YET: &str = "No licenses yet. Create one: licctl licenses create";
const TOTALS: &str = "licenses seats unlimited held complete";
const NO_MATCH: &str = "No license matches.";

impl Shown for ApiRecord<LicenseWithSeats> {
    const CELLS: Cells<Self> = &[
        (Column::new("ID", 0), |it, _, _| TextCell::of(it.id)),
        (Column::flexible("PRODUCT", 4), |it, _, names| {
            TextCell::text(names.product(it.product_id))
        }),
        (Column::flexible("PLAN", 1), |it, _, names| TextCell::text(names.plan(it.plan_id))),
        (Column::flexible("NAME", 3), |it, _, _| TextCell::maybe(it.name.as_ref())),
        (Column::kept("STATUS"), |it, ctx, _| status_cell(it, &it.terms, ctx.now)),
        (Column::new("SEATS", 3), |it, _, _| used_of(&it.seats)),
        (Column::new("EXPIRES", 2), |it, ctx, _| expires_cell(it, ctx.now)),
        (Column::flexible("FEATURES", 5), |it, _, _| TextCell::text(joined(&it.features))),
        (Column::extra("CREATED"), |it, ctx, _| TextCell::past(it.created_at, ctx.now)),
        (Column::extra("UPDATED"), |it, ctx, _| TextCell::past(it.updated_at, ctx.now)),
    ];
    const FIELDS: &'static str = FIELDS;
    const HAS_NAMES: bool = true;
}

/// A license with the names of its product and plan, for CSV: a spreadsheet cannot look ids up.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WithNames {
    #[serde(flatten)]
    license: ApiRecord<LicenseWithSeats>,
    product_name: String,
    plan_name: String,
}

impl Named for WithNames {
    const NOUN: &str = "license";
    fn id(&self) -> String {
        Named::id(&self.license)
    }
    fn name(&self) -> &str {
        self.license.name()
    }
    fn about(&self) -> String {
        self.license.about()
    }
}

/// List licenses, oldest first
#[derive(Args)]
pub struct ListArgs {
    /// Only licenses of this plan
    #[arg(long)]
    plan: Option<String>,
    /// Only licenses of this product
    #[arg(long)]
    product: Option<String>,
    /// Only licenses with this effective status; an active license past its date counts as expired,
    /// or as grace while its days of grace last
    #[arg(long)]
    status: Option<LicenseState>,
    /// Only licenses assigned to this user
    #[arg(long)]
    user: Option<ExternalId>,
    /// Only active licenses that expire within this time, such as 30d
    #[arg(long, value_name = "SPAN", conflicts_with = "status")]
    expiring_within: Option<Span>,
    /// Only licenses whose last valid day (in UTC) is in this month, such as 2027-01
    #[arg(long, value_name = "MONTH", conflicts_with = "expiring_within", value_parser = month)]
    ends: Option<(Timestamp, Timestamp)>,
    /// Only licenses in force whose seats are all taken, or taken over the limit: full or over
    #[arg(long, value_name = "full or over")]
    seats: Option<SeatsTaken>,
    /// Leave out licenses of trial plans
    #[arg(long)]
    no_trials: bool,
    /// Show only the number of licenses and of their seats, sold and held
    #[arg(long, conflicts_with = "limit")]
    totals: bool,
    /// Only licenses with a word in the name that starts with this text, or an id that ends with it
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    flags: ListFlags,
}

pub async fn run(ctx: &Context, args: ListArgs) -> Result<View> {
    let product = match &args.product {
        Some(given) => Some(noun::named::<Product>(ctx, given, Purpose::Read).await?.id),
        None => None,
    };
    let plan = match &args.plan {
        Some(given) => {
            let product = args.product.as_deref();
            Some(noun::plan(ctx, given, product, Purpose::Read).await?.id)
        }
        None => None,
    };
    // An unknown user is an error, so that a typo does not look like a user without licenses.
    let user = match &args.user {
        Some(given) => Some(noun::user(ctx, given.as_str()).await?.external_id.clone()),
        None => None,
    };
    let end = args.expiring_within.map(|span| ctx.now.plus(span.delta()));
    let filters = Query::default()
        .with("productId", product)
        .with("planId", plan)
        .with("userId", user)
        .with("state", args.status.or(end.is_some().then_some(LicenseState::Active)))
        .with("endsFrom", args.ends.map(|(from, _)| from))
        .with("endsBefore", end.or(args.ends.map(|(_, before)| before)))
        .with("seats", args.seats)
        .with("trial", args.no_trials.then_some(false))
        .with("search", args.search);
    if args.totals {
        return totals(ctx, filters).await;
    }
    let whole = filters.is_empty();
    let pages = ctx.client().await?.licenses().pages(filters, args.flags.limit());
    let pages = pages.map_ok(|page: Vec<ApiRecord<LicenseWithSeats>>| {
        page.into_iter().map(|license| with_its_state(ctx, license)).collect::<Vec<_>>()
    });
    if ctx.output.format != Format::Csv {
        let hint = if whole { NONE_YET } else { NO_MATCH };
        return noun::list(ctx, &args.flags, whole, pages, hint).await;
    }
    let names = &NameIndex::load(ctx).await?;
    let with_names = |license: ApiRecord<LicenseWithSeats>| WithNames {
        product_name: names.product(license.product_id),
        plan_name: names.plan(license.plan_id),
        license,
    };
    let pages = pages.map_ok(|page| page.into_iter().map(with_names).collect());
    let fields = format!("{FIELDS} productName planName {LICENSE_TERM_FIELDS}");
    noun::print_or_collect(ctx, &args.flags, &fields, whole, pages).await?;
    Ok(View::printed())
}

/// The ends of licenses whose last valid day is in a month.
fn month(text: &str) -> std::result::Result<(Timestamp, Timestamp), &'static str> {
    let (first, last) = month_of(text).ok_or("must be a month, such as 2027-01")?;
    Ok(Timestamp::ends_on(first, last))
}

async fn totals(ctx: &Context, filters: Query) -> Result<View> {
    let totals = ctx.client().await?.licenses().totals(filters).await?;
    let more = if totals.complete { "" } else { " or more" };
    let unlimited = match totals.unlimited {
        0 => String::new(),
        unlimited => format!(", and {unlimited} without limit"),
    };
    let card = vec![
        ("licenses", TextCell::text(format!("{}{more}", totals.licenses))),
        ("seats", TextCell::text(format!("{}{unlimited}", totals.seats))),
        ("held", TextCell::of(totals.held)),
    ];
    Ok(View::new(&totals, Vec::new())?.fields(&[TOTALS]).card(card))
}

/// `4/5`. A long word for no limit would take the room of names.
fn used_of(Seats { used, allowed }: &Seats) -> TextCell {
    let plain = format!("{used}/{}", seats(*allowed));
    match allowed {
        Some(_) => TextCell::text(plain),
        None => TextCell::word(format!("{used}/∞"), plain),
    }
}
