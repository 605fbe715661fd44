//! `licctl licenses assignments`: the users of a license, with and without a seat.

use common::LicenseAssignment;

use super::LicenseArg;
use crate::commands::prelude::*;
use crate::noun::ListFlags;

impl Named for ApiRecord<LicenseAssignment> {
    const NOUN: &str = "assignment";
    fn id(&self) -> String {
        self.external_id.to_string()
    }
}

impl Shown for ApiRecord<LicenseAssignment> {
    const CELLS: Cells<Self> = &[
        (Column::new("USER", 0), |it, _, _| TextCell::text(it.external_id.as_str())),
        (Column::flexible("EMAIL", 2), |it, _, _| TextCell::maybe(it.email.as_ref())),
        (Column::flexible("NAME", 4), |it, _, _| TextCell::maybe(it.name.as_ref())),
        (Column::new("SEAT CHECKED", 1), |it, ctx, _| checked(it, ctx)),
        (Column::new("ASSIGNED", 3), |it, ctx, _| {
            TextCell::past(it.assignment.assigned_at, ctx.now)
        }),
        (Column::sparse("OFFLINE UNTIL"), |it, ctx, _| {
            let until = it.activation.as_ref().and_then(|seat| seat.lease_until(ctx.now));
            TextCell::time_or("", until, ctx.now)
        }),
    ];
    const FIELDS: &'static str = "id licenseId externalId userId email name assignedAt \
        activatedAt=/activation/activatedAt lastCheckedAt=/activation/lastCheckedAt metadata \
        leasedUntil=/activation/leasedUntil";
}

/// Returns the time of the last check of the user's seat.
fn checked(it: &LicenseAssignment, ctx: &Context) -> TextCell {
    match &it.activation {
        Some(seat) => TextCell::past(seat.last_checked_at, ctx.now),
        None => TextCell::text("no seat"),
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
