//! `licctl licenses get`.

use common::{LicenseAssignment, LicenseId, LicenseKey};
use futures_util::TryStreamExt;

use super::usage::{seats_in_use, table};
use super::{FIELDS, LicenseArg, expires_cell, status_cell, with_its_state};
use crate::client::{LicenseDetails, Usage};
use crate::commands::plans::joined;
use crate::commands::prelude::*;
use crate::commands::{dashboard, events};
use crate::noun::{LICENSE_TERM_FIELDS, metadata_cell, term_rows};
use crate::output::relative;

/// Maximum number of seats that are shown.
const SHOWN_SEATS: usize = 25;
/// Maximum number of assignments that are read to find those without a seat.
const READ_ASSIGNMENTS: usize = 1000;
/// Maximum number of license keys in the card.
const SHOWN_KEYS: usize = 3;
/// Maximum number of users without a seat that are shown.
const SHOWN_WAITING: usize = 10;

/// Show a license, its seats, and assigned users without a seat
#[derive(Args)]
pub struct GetArgs {
    #[command(flatten)]
    license: LicenseArg,
    /// Open the license in the dashboard instead
    #[arg(long)]
    web: bool,
}

pub async fn run(ctx: &Context, args: GetArgs) -> Result<View> {
    let license = with_its_state(ctx, args.license.find(ctx, Purpose::Read).await?);
    if args.web {
        return dashboard::open_record(ctx, &format!("licenses/{}", license.id)).await;
    }
    let client = ctx.client().await?;
    let usage = client.licenses().usage(license.id, Some(SHOWN_SEATS));
    let waiting = WaitingUsers::read(ctx, license.id);
    let keys = keys(ctx, license.id);
    let change = status_change(ctx, license.id);
    let (usage, waiting, keys, change, names) =
        tokio::try_join!(usage, waiting, keys, change, NameIndex::load(ctx))?;
    let holders = table(ctx, &usage.activations);
    let mut card = card(ctx, &license, &usage, &names);
    card.extend(keys.map(|keys| ("license keys", TextCell::text(keys))));
    card.extend(change.map(|change| ("status set", change)));
    card.push(("metadata", metadata_cell(license.metadata.as_ref())));
    let mut view = View::new(&license, vec![license.id.to_string()])?
        .fields(&[FIELDS, LICENSE_TERM_FIELDS])
        .card(card);
    if !usage.activations.is_empty() {
        view = view.line(TextCell::text("")).table(holders);
    }
    let more = usage.total_activations - usage.activations.len() as i64;
    if more > 0 {
        let more = format!("{more} more: licctl licenses usage {}", license.id);
        view = view.line(TextCell::text(more));
    }
    view = waiting.show(ctx, view);
    Ok(view.next(format!("licctl events list --subject {}", license.id)))
}

/// The first keys of the license with their states, if it has any.
async fn keys(ctx: &Context, license: LicenseId) -> Result<Option<String>> {
    if ctx.output.format != Format::Table {
        return Ok(None);
    }
    let pages = ctx.client().await?.licenses().keys(license, Some(SHOWN_KEYS + 1));
    let keys: Vec<ApiRecord<LicenseKey>> = pages.try_concat().await?;
    let shown = keys.iter().take(SHOWN_KEYS);
    let shown = shown.map(|key| format!("{} {}", key.display_name(), key.state_name(ctx.now)));
    let more = (keys.len() > SHOWN_KEYS).then(|| "and more".to_owned());
    Ok(Some(shown.chain(more).collect::<Vec<_>>().join(", ")).filter(|keys| !keys.is_empty()))
}

/// Time and actor of the last change of the status, if there was one.
async fn status_change(ctx: &Context, license: LicenseId) -> Result<Option<TextCell>> {
    if ctx.output.format != Format::Table {
        return Ok(None);
    }
    let change = events::last_status_change(ctx.client().await?, license).await?;
    Ok(change.map(|it| {
        let by = events::actor(&it);
        TextCell::word(
            format!("{} by {by}", relative(it.time, ctx.now)),
            format!("{} by {by}", it.time),
        )
    }))
}

/// The users without a seat, as far as the first page of the assignments has them.
struct WaitingUsers {
    license: LicenseId,
    users: Vec<ApiRecord<LicenseAssignment>>,
    is_all: bool,
}

impl WaitingUsers {
    async fn read(ctx: &Context, license: LicenseId) -> Result<Self> {
        // Programs use licenses assignments, and --columns chooses those of the holders.
        if ctx.output.format != Format::Table || ctx.output.columns.is_some() {
            return Ok(Self { license, users: Vec::new(), is_all: true });
        }
        let client = ctx.client().await?;
        let page = client.licenses().assignments_page(license, READ_ASSIGNMENTS).await?;
        let is_all = page.next_cursor.is_none();
        let users = page.data.into_iter().filter(|it| it.activation.is_none()).collect();
        Ok(Self { license, users, is_all })
    }

    fn show(&self, ctx: &Context, view: View) -> View {
        let count = self.users.len();
        if count == 0 && self.is_all {
            return view;
        }
        let more = if self.is_all { "" } else { " or more" };
        let title = format!("Assigned without a seat: {count}{more}");
        let shown = &self.users[..count.min(SHOWN_WAITING)];
        let view = view.line(TextCell::text("")).line(TextCell::text(title));
        let view = if shown.is_empty() {
            view
        } else {
            view.table(noun::table(ctx, shown, &NameIndex::default()))
        };
        if count == shown.len() && self.is_all {
            return view;
        }
        let all = format!("See all: licctl licenses assignments {}", self.license);
        view.line(TextCell::text(all))
    }
}

fn card(
    ctx: &Context,
    license: &LicenseDetails,
    usage: &Usage,
    names: &NameIndex,
) -> Vec<(&'static str, TextCell)> {
    let product = format!("{} ({})", names.product(license.product_id), license.product_id);
    let plan = format!("{} ({})", names.plan(license.plan_id), license.plan_id);
    let mut card = vec![
        ("license", TextCell::of(license.id)),
        ("name", TextCell::maybe(license.name.as_ref())),
        ("product", TextCell::text(product)),
        ("plan", TextCell::text(plan)),
        ("status", status_cell(license, &license.terms, ctx.now)),
        ("seats", TextCell::text(seats_in_use(usage.active_seats, usage.license.max_seats))),
        ("expires", expires_cell(license, ctx.now)),
        ("features", TextCell::text(joined(&license.features))),
        ("created", TextCell::past(license.created_at, ctx.now)),
        ("updated", TextCell::past(license.updated_at, ctx.now)),
    ];
    card.splice(7..7, term_rows(&license.terms));
    card
}
