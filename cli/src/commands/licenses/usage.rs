//! `licctl licenses usage`: the seats of a license and their holders.

use std::collections::HashMap;
use std::str::FromStr;

use clap::Args;
use common::{Usage, UsageActivation, User, UserId};

use super::choose;
use crate::client::ApiRecord;
use crate::completion;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::View;
use crate::output::cell::TextCell;
use crate::output::table::{Column, Table};
use crate::prompt;
use crate::resolve::{self, Purpose};

const COLUMNS: [Column; 4] = [
    Column::new("USER", 0),
    Column::flexible("EMAIL", 2),
    Column::new("ACTIVATED", 3),
    Column::new("LAST CHECKED", 1),
];

/// Show the seats of a license and their holders
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl licenses usage lic_01k2v4p8qsf8brz6c7y0sjvkd3
  licctl licenses usage lic_01k2v4p8qsf8brz6c7y0sjvkd3 --fail-at 90%

With --fail-at the exit code is 10 from that share on, and 0 below it.")]
pub struct UsageArgs {
    /// License id, or at least 6 characters from either end of it
    #[arg(add = completion::licenses())]
    license: Option<String>,
    /// Exit with 10 when at least this share of the seats is in use
    #[arg(long, value_name = "SHARE")]
    fail_at: Option<Percent>,
}

/// A share, as in `90%`.
#[derive(Clone, Copy, Debug)]
struct Percent(u32);

impl FromStr for Percent {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let number = text.strip_suffix('%').unwrap_or(text).parse();
        number
            .ok()
            .filter(|number| (1..=100).contains(number))
            .map(Self)
            .ok_or("must be 1% to 100%")
    }
}

pub async fn run(ctx: &Context, args: UsageArgs) -> Result<View> {
    prompt::require(ctx, &[("LICENSE", args.license.is_some())])?;
    let license = match &args.license {
        Some(given) => resolve::license(ctx, given, Purpose::Read).await?.id,
        None => choose(ctx).await?.id,
    };
    let usage = ctx.client().await?.licenses().usage(license).await?;
    let users = holders(ctx, &usage.activations).await?;
    let over = args.fail_at.is_some_and(|limit| reaches(&usage, limit));
    let ids = usage.activations.iter().map(|seat| seat.external_id.to_string()).collect();
    let view = View::new(&usage, ids)?.line(TextCell::text(summary(&usage))).table(table(
        ctx,
        &usage.activations,
        &users,
    ));
    Ok(view.exit(if over { Exit::Negative } else { Exit::Success }))
}

/// `3 of 5 seats in use`.
pub fn summary(usage: &Usage) -> String {
    match usage.license.max_seats {
        Some(max) => format!("{} of {max} seats in use", usage.active_seats),
        None => format!("{} seats in use, without limit", usage.active_seats),
    }
}

/// Whether this share of the seats is in use; never for a license without a limit.
fn reaches(usage: &Usage, Percent(limit): Percent) -> bool {
    usage
        .license
        .max_seats
        .is_some_and(|max| usage.active_seats * 100 >= i64::from(max.get()) * i64::from(limit))
}

/// The users who hold these seats.
pub async fn holders(
    ctx: &Context,
    seats: &[UsageActivation],
) -> Result<HashMap<UserId, ApiRecord<User>>> {
    let ids: Vec<UserId> = seats.iter().map(|seat| seat.activation.user_id).collect();
    resolve::users_by_id(ctx, &ids).await
}

/// The seats, one a line.
pub fn table(
    ctx: &Context,
    seats: &[UsageActivation],
    users: &HashMap<UserId, ApiRecord<User>>,
) -> Table {
    let row = |UsageActivation { activation: seat, external_id }: &UsageActivation| {
        let email = users.get(&seat.user_id).and_then(|user| user.email.clone());
        vec![
            TextCell::text(external_id.as_str()),
            TextCell::maybe(email),
            TextCell::past(seat.activated_at, ctx.now),
            TextCell::past(seat.last_checked_at, ctx.now),
        ]
    };
    Table::new(&COLUMNS).with(seats.iter().map(row))
}
