//! `licctl licenses assignments`: who has a license, with and without a seat.

use clap::Args;
use common::LicenseAssignment;

use super::given_or_chosen;
use crate::client::ApiRecord;
use crate::commands::lists::{self, Kind, ListFlags};
use crate::completion;
use crate::context::Context;
use crate::error::Result;
use crate::output::cell::TextCell;
use crate::output::table::{Column, Table};
use crate::output::{Field, View};
use crate::resolve::Purpose;

pub const COLUMNS: [Column; 5] = [
    Column::new("USER", 0),
    Column::flexible("EMAIL", 2),
    Column::flexible("NAME", 4),
    Column::new("SEAT CHECKED", 1),
    Column::new("ASSIGNED", 3),
];
const FIELDS: [Field; 10] = [
    Field::at("id", "/id"),
    Field::at("licenseId", "/licenseId"),
    Field::at("externalId", "/externalId"),
    Field::at("userId", "/userId"),
    Field::at("email", "/email"),
    Field::at("name", "/name"),
    Field::at("assignedAt", "/assignedAt"),
    Field::at("activatedAt", "/activation/activatedAt"),
    Field::at("lastCheckedAt", "/activation/lastCheckedAt"),
    Field::at("metadata", "/metadata"),
];
const KIND: Kind<ApiRecord<LicenseAssignment>> =
    Kind { fields: &FIELDS, id: |it| it.external_id.to_string(), remember: |_, _, _| () };

/// List the users to whom a license is assigned
///
/// A user without a seat takes one with the first successful validation.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl licenses assignments lic_01k2v4p8qsf8brz6c7y0sjvkd3
  licctl licenses assignments lic_01k2v4p8qsf8brz6c7y0sjvkd3 -o csv > users.csv
  licctl licenses assignments lic_01k2v4p8qsf8brz6c7y0sjvkd3 \\
      --jq '.[] | select(.activation == null) | .externalId'")]
pub struct AssignmentsArgs {
    /// License id or name, or at least 6 characters from either end of the id
    #[arg(add = completion::licenses())]
    license: Option<String>,
    #[command(flatten)]
    flags: ListFlags,
}

pub async fn run(ctx: &Context, args: AssignmentsArgs) -> Result<View> {
    let license = given_or_chosen(ctx, args.license.as_deref(), Purpose::Read).await?;
    let client = ctx.client().await?;
    let pages = client.licenses().assignments(license.id, args.flags.limit());
    let Some(assigned) = lists::read(ctx, &KIND, &args.flags, true, pages).await? else {
        return Ok(View::printed());
    };
    let ids = assigned.iter().map(KIND.id).collect();
    let hint = format!(
        "Nobody has this license yet. Assign it: licctl licenses assign {} USER",
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
