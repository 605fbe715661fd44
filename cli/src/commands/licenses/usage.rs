//! `licctl licenses usage`: the seats of a license and their holders.

use std::str::FromStr;

use super::LicenseArg;
use crate::client::Usage;
use crate::commands::prelude::*;
use common::{MaxSeats, UsageActivation};

pub const COLUMNS: [Column; 5] = [
    Column::new("USER", 0),
    Column::flexible("EMAIL", 2),
    Column::new("ACTIVATED", 3),
    Column::new("LAST CHECKED", 1),
    Column::sparse("OFFLINE UNTIL"),
];
/// CSV has a line for each holder.
const FIELDS: &str = "licenseId externalId userId activatedAt lastCheckedAt email leasedUntil";

/// Show the seats of a license and their holders
#[derive(Args)]
pub struct UsageArgs {
    #[command(flatten)]
    license: LicenseArg,
    /// Exit with 10 when at least this share of the seats is in use
    #[arg(long, value_name = "SHARE")]
    fail_at: Option<Share>,
}

/// A share, as in `90%` or `0.9`, in hundredths of a percent. A bare number could mean seats.
#[derive(Clone, Copy, Debug)]
struct Share(u32);

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().map(|percent: f64| percent * 100.0),
            None if text.contains('.') => text.parse().ok().map(|share: f64| share * 10_000.0),
            None => None,
        };
        let share = share.filter(|share| (100.0..=10_000.0).contains(share));
        let share = share.map(|share| Self(share.round() as u32));
        share.ok_or("must be a share from 1% to 100%, such as 90% or 0.9")
    }
}

pub async fn run(ctx: &Context, args: UsageArgs) -> Result<View> {
    let license = args.license.find(ctx, Purpose::Read).await?;
    let usage = ctx.client().await?.licenses().usage(license.id, None).await?;
    let table = table(ctx, &usage.activations);
    let over = args.fail_at.is_some_and(|limit| reaches(&usage, limit));
    let ids = usage.activations.iter().map(|seat| seat.external_id.to_string()).collect();
    let view = View::new(&usage, ids)?
        .rows(usage.activations.iter().map(to_json).collect(), &[FIELDS])
        .line(TextCell::text(seats_in_use(usage.active_seats, usage.license.max_seats)))
        .table(table);
    Ok(view.exit(if over { Exit::Negative } else { Exit::Success }))
}

fn to_json(seat: &UsageActivation) -> serde_json::Value {
    serde_json::to_value(seat).unwrap_or_default()
}

/// `3 of 5 seats in use`.
pub fn seats_in_use(used: i64, max: Option<MaxSeats>) -> String {
    match (used, max) {
        (_, Some(max)) => format!("{used} of {max} seats in use"),
        (1, None) => "1 seat in use, no limit".to_owned(),
        (_, None) => format!("{used} seats in use, no limit"),
    }
}

/// Whether this share of the seats is in use; never for a license without a limit.
fn reaches(usage: &Usage, Share(limit): Share) -> bool {
    usage
        .license
        .max_seats
        .is_some_and(|max| usage.active_seats * 10_000 >= i64::from(max.get()) * i64::from(limit))
}

/// The seats, one a line.
pub fn table(ctx: &Context, seats: &[UsageActivation]) -> Table {
    let row = |UsageActivation { activation: seat, external_id, email }: &UsageActivation| {
        vec![
            TextCell::text(external_id.as_str()),
            TextCell::maybe(email.as_ref()),
            TextCell::past(seat.activated_at, ctx.now),
            TextCell::past(seat.last_checked_at, ctx.now),
            TextCell::time_or("", seat.lease_until(ctx.now), ctx.now),
        ]
    };
    Table::new(&COLUMNS).with(seats.iter().map(row))
}
