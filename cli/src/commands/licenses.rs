//! `licctl licenses`: the verbs and the tables that they share. Each verb has a file of its own for
//! its flags and requests.

mod assign;
mod assign_from_file;
mod assignments;
mod create;
mod delete;
mod get;
mod list;
pub mod renew;
mod status;
mod update;
pub mod usage;

pub use list::COLUMNS as LIST_COLUMNS;

use clap::Subcommand;
use common::{Open, Status, Timestamp};
use serde::Serialize;

use crate::client::{ApiRecord, License, LicenseWithSeats, Query};
use crate::commands::plans::seats;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::noun::{self, NameIndex, Named, Purpose};
use crate::output::{Column, Table, TextCell, Tone, View, relative};

const COLUMNS: [Column; 5] = [
    Column::new("ID", 0),
    Column::flexible("PLAN", 1),
    Column::kept("STATUS"),
    Column::new("SEATS", 3),
    Column::new("EXPIRES", 2),
];
const FIELDS: &str = "id productId planId status maxSeats seatsUsed=/seats/used expiresAt \
    features createdAt updatedAt state name";

/// A license before and after a change; only the latter is output.
#[derive(Serialize)]
#[serde(transparent)]
struct BeforeAndAfter {
    #[serde(skip)]
    was: ApiRecord<LicenseWithSeats>,
    now: ApiRecord<License>,
}

#[derive(Subcommand)]
pub enum Verb {
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    #[command(visible_alias = "show")]
    Get(get::GetArgs),
    #[command(visible_alias = "new")]
    Create(create::CreateArgs),
    Update(update::UpdateArgs),
    Renew(renew::RenewArgs),
    Assign(assign::AssignArgs),
    Unassign(assign::UnassignArgs),
    Usage(usage::UsageArgs),
    Assignments(assignments::AssignmentsArgs),
    /// Suspend licenses until you reactivate them
    Suspend(status::LicenseArgs),
    /// Activate licenses
    Activate(status::LicenseArgs),
    /// Revoke licenses
    Revoke(status::LicenseArgs),
    /// Expire licenses now, regardless of their date
    Expire(status::LicenseArgs),
    Delete(delete::DeleteArgs),
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list::run(ctx, args).await,
        Verb::Get(args) => get::run(ctx, args).await,
        Verb::Create(args) => create::run(ctx, args).await,
        Verb::Update(args) => update::run(ctx, args).await,
        Verb::Renew(args) => renew::run(ctx, args).await,
        Verb::Assign(args) => assign::assign(ctx, args).await,
        Verb::Unassign(args) => assign::unassign(ctx, args).await,
        Verb::Usage(args) => usage::run(ctx, args).await,
        Verb::Assignments(args) => assignments::run(ctx, args).await,
        Verb::Suspend(args) => status::set(ctx, args, Status::Suspended).await,
        Verb::Activate(args) => status::set(ctx, args, Status::Active).await,
        Verb::Revoke(args) => status::set(ctx, args, Status::Revoked).await,
        Verb::Expire(args) => status::set(ctx, args, Status::Expired).await,
        Verb::Delete(args) => delete::run(ctx, args).await,
    }
}

/// A table of licenses that were just made or changed.
fn table(ctx: &Context, licenses: &[ApiRecord<License>], names: &NameIndex) -> Table {
    let row = |license: &ApiRecord<License>| {
        vec![
            TextCell::of(license.id),
            TextCell::text(names.plan(license.plan_id)),
            status_cell(license, ctx.now),
            TextCell::text(seats(license.max_seats)),
            TextCell::end(license.expires_at, ctx.now),
        ]
    };
    Table::new(&COLUMNS).with(licenses.iter().map(row))
}

/// The status as a validation treats it: an active license past its date counts as expired.
pub fn status_cell(license: &License, now: Timestamp) -> TextCell {
    let word = license.status.to_string();
    match (license.status.known(), past(license, now)) {
        (Some(Status::Active), Some(end)) => TextCell::word(
            format!("{word} (expired {})", relative(end, now)),
            format!("{word} (expired {end})"),
        )
        .toned(Tone::Warning),
        (Some(Status::Active), None) => TextCell::text(word).toned(Tone::Good),
        (Some(Status::Suspended | Status::Expired), _) => TextCell::text(word).toned(Tone::Warning),
        (Some(Status::Revoked), _) => TextCell::text(word).toned(Tone::Bad),
        (None, _) => TextCell::text(word),
    }
}

/// A license as data shows it: with its effective status, as `status` is what somebody set.
fn with_state<T>(license: ApiRecord<T>, state: &Open<Status>) -> ApiRecord<T> {
    license.with_member("status", "state", state.to_string())
}

/// The license's end, if it has passed.
fn past(license: &License, now: Timestamp) -> Option<Timestamp> {
    license.expires_at.filter(|_| license.has_ended(now))
}

/// The license that an argument names, or one from a prompt.
async fn given_or_chosen(
    ctx: &Context,
    given: Option<&str>,
    purpose: Purpose,
) -> Result<ApiRecord<LicenseWithSeats>> {
    ctx.prompts.require(&[("LICENSE", given.is_some())])?;
    match given {
        Some(given) => noun::license(ctx, given, purpose).await,
        None => choose(ctx).await,
    }
}

/// Prompts for a license.
async fn choose(ctx: &Context) -> Result<ApiRecord<LicenseWithSeats>> {
    let client = ctx.client().await?;
    let all = client.licenses();
    let (licenses, names) = tokio::try_join!(all.list(Query::default()), NameIndex::load(ctx))?;
    if licenses.is_empty() {
        return Err(Error::not_found("No licenses yet.").fix("licctl licenses create"));
    }
    let label = |license: &ApiRecord<LicenseWithSeats>| {
        let (product, plan) = (names.product(license.product_id), names.plan(license.plan_id));
        let status = status_cell(license, ctx.now).screen;
        let name = license.name.as_ref().map_or_else(String::new, |name| format!("  {name}"));
        let seats = format!("{}/{}", license.seats.used, seats(license.seats.allowed));
        let id = Named::id(license);
        format!("{id}{name}  {product} · {plan}  {status}  seats: {seats}")
    };
    let labels: Vec<_> = licenses.iter().map(label).collect();
    let chosen = &licenses[ctx.prompts.choose("License", &labels)?];
    ctx.prompts.record(None, &Named::id(chosen));
    Ok(chosen.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_matches_a_validation() {
        let now: Timestamp = "2027-01-31T12:00:00Z".parse().unwrap();
        let license = |status: &str, expires_at: Option<&str>| -> License {
            serde_json::from_value(serde_json::json!({
                "id": "lic_01h455vb4pex5vsknk084sn02q",
                "productId": "prd_01h455vb4pex5vsknk084sn02q",
                "planId": "pln_01h455vb4pex5vsknk084sn02q",
                "status": status,
                "maxSeats": null,
                "expiresAt": expires_at,
                "features": [],
                "createdAt": "2026-01-31T12:00:00Z",
                "updatedAt": "2026-01-31T12:00:00Z",
            }))
            .unwrap()
        };
        for (status, expires_at, screen, plain) in [
            ("active", None, "active", "active"),
            ("active", Some("2027-02-01T12:00:00Z"), "active", "active"),
            (
                "active",
                Some("2027-01-28T12:00:00Z"),
                "active (expired 3d ago)",
                "active (expired 2027-01-28T12:00:00.000Z)",
            ),
            // Valid while now < expiresAt, so not at that very moment.
            (
                "active",
                Some("2027-01-31T12:00:00Z"),
                "active (expired just now)",
                "active (expired 2027-01-31T12:00:00.000Z)",
            ),
            ("revoked", Some("2027-01-28T12:00:00Z"), "revoked", "revoked"),
        ] {
            let cell = status_cell(&license(status, expires_at), now);
            assert_eq!((cell.screen.as_str(), cell.plain.as_str()), (screen, plain));
        }
    }
}
