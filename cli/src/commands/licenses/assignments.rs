//! `licctl licenses assignments`: the users of a license, with and without a seat.

use clap::Args;
use common::LicenseAssignment;

use super::LicenseArg;
use crate::client::ApiRecord;
use crate::context::Context;
use crate::error::Result;
use crate::noun::{self, ListFlags, NameIndex, Named, Purpose, Shown};
use crate::output::{Column, TextCell, View};

impl Named for ApiRecord<LicenseAssignment> {
    const NOUN: &str = "assignment";
    fn id(&self) -> String {
        self.external_id.to_string()
    }
}

impl Shown for ApiRecord<LicenseAssignment> {
    const COLUMNS: &'static [Column] = &[
        Column::new("USER", 0),
        Column::flexible("EMAIL", 2),
        Column::flexible("NAME", 4),
        Column::new("SEAT CHECKED", 1),
        Column::new("ASSIGNED", 3),
    ];
    const FIELDS: &'static str = "id licenseId externalId userId email name assignedAt \
        activatedAt=/activation/activatedAt lastCheckedAt=/activation/lastCheckedAt metadata";

    fn row(&self, ctx: &Context, _: &NameIndex) -> Vec<TextCell> {
        let seat = match &self.activation {
            Some(seat) => TextCell::past(seat.last_checked_at, ctx.now),
            None => TextCell::text("no seat"),
        };
        vec![
            TextCell::text(self.external_id.as_str()),
            TextCell::maybe(self.email.as_ref()),
            TextCell::maybe(self.name.as_ref()),
            seat,
            TextCell::past(self.assignment.assigned_at, ctx.now),
        ]
    }
}

/// List the users assigned to a license
///
/// A user without a seat takes one at the first successful validation.
#[derive(Args)]
pub struct AssignmentsArgs {
    #[command(flatten)]
    license: LicenseArg,
    #[command(flatten)]
    flags: ListFlags,
}

pub async fn run(ctx: &Context, args: AssignmentsArgs) -> Result<View> {
    let license = args.license.find(ctx, Purpose::Read).await?.id;
    let pages = ctx.client().await?.licenses().assignments(license, args.flags.limit());
    let hint =
        format!("No users are assigned yet. Assign one: licctl licenses assign {license} USER");
    noun::list(ctx, &args.flags, false, pages, hint).await
}
