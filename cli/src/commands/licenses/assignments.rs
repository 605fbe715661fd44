//! `licctl licenses assignments`: the users of a license, with and without a seat.

use clap::Args;
use common::LicenseAssignment;

use super::given_or_chosen;
use crate::client::ApiRecord;
use crate::context::Context;
use crate::error::Result;
use crate::noun::{self, ListFlags, ListSpec, Purpose};
use crate::output::{Column, Table, TextCell, View};

pub const COLUMNS: [Column; 5] = [
    Column::new("USER", 0),
    Column::flexible("EMAIL", 2),
    Column::flexible("NAME", 4),
    Column::new("SEAT CHECKED", 1),
    Column::new("ASSIGNED", 3),
];
const FIELDS: &str = "id licenseId externalId userId email name assignedAt \
    activatedAt=/activation/activatedAt lastCheckedAt=/activation/lastCheckedAt metadata";
const SPEC: ListSpec<ApiRecord<LicenseAssignment>> =
    ListSpec { fields: &[FIELDS], id: |it| it.external_id.to_string(), remember: |_, _, _| () };

/// List the users assigned to a license
///
/// A user without a seat takes one at the first successful validation.
#[derive(Args)]
pub struct AssignmentsArgs {
    /// License id or name, or at least 6 characters from either end of the id
    license: Option<String>,
    #[command(flatten)]
    flags: ListFlags,
}

pub async fn run(ctx: &Context, args: AssignmentsArgs) -> Result<View> {
    let license = given_or_chosen(ctx, args.license.as_deref(), Purpose::Read).await?;
    let client = ctx.client().await?;
    let pages = client.licenses().assignments(license.id, args.flags.limit());
    let Some(assigned) = noun::print_or_collect(ctx, &SPEC, &args.flags, true, pages).await? else {
        return Ok(View::printed());
    };
    let ids = assigned.iter().map(SPEC.id).collect();
    let hint = format!(
        "No users are assigned yet. Assign one: licctl licenses assign {} USER",
        license.id
    );
    Ok(View::new(&assigned, ids)?.table(table(ctx, &assigned)).or_when_empty(hint))
}

/// The assignments, one a line.
pub fn table(ctx: &Context, assigned: &[ApiRecord<LicenseAssignment>]) -> Table {
    let row = |it: &ApiRecord<LicenseAssignment>| {
        let seat = match &it.activation {
            Some(seat) => TextCell::past(seat.last_checked_at, ctx.now),
            None => TextCell::text("no seat"),
        };
        vec![
            TextCell::text(it.external_id.as_str()),
            TextCell::maybe(it.email.as_ref()),
            TextCell::maybe(it.name.as_ref()),
            seat,
            TextCell::past(it.assignment.assigned_at, ctx.now),
        ]
    };
    Table::new(&COLUMNS).with(assigned.iter().map(row))
}
