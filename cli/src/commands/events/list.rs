//! `licctl events list`.

use clap::value_parser;

use super::{EventFilters, EventsPart, Order};
use crate::commands::prelude::*;
use crate::output::PastTime;

/// Number of events that are shown unless a flag gives a start.
const DEFAULT_LIMIT: usize = 50;

/// List recent events, newest last
///
/// Without --since and --after, the last 50 are shown.
#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    filters: EventFilters,
    /// Only events since this time: a duration before now, a date (midnight UTC) or a time
    #[arg(long, value_name = "TIME")]
    since: Option<PastTime>,
    /// Only events before this time
    #[arg(long, value_name = "TIME")]
    until: Option<PastTime>,
    /// Only events after this sequence number
    #[arg(long, value_name = "SEQUENCE", conflicts_with = "since")]
    #[arg(value_parser = value_parser!(i64).range(0..))]
    after: Option<i64>,
    /// Show at most the last N events; with --after, the first N
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

pub async fn run(ctx: &Context, args: ListArgs) -> Result<View> {
    let client = ctx.client().await?;
    let filters = &args.filters.settle(ctx).await?;
    let [from, to] = [args.since, args.until].map(|time| time.map(|it| it.timestamp(ctx.now)));
    if let (Some(from), Some(to)) = (from, to)
        && from >= to
    {
        return Err(Error::usage("--since must be before --until."));
    }
    let usual = if args.after.is_some() || from.is_some() { usize::MAX } else { DEFAULT_LIMIT };
    let limit = args.limit.map_or(usual, |limit| limit as usize);
    let order = if args.after.is_some() { Order::OldestFirst } else { Order::NewestFirst };
    let query = filters.query(&EventsPart { from, to, order }).after(args.after);
    let mut events = client.events().first(query, limit).await?;
    if order == Order::NewestFirst {
        events.reverse();
    }
    if events.is_empty() {
        filters.refuse_unknown(ctx).await?;
    }
    let view = noun::several(ctx, &events, &NameIndex::default())?
        .or_when_empty("No event matches. Follow new events: licctl events tail");
    Ok(match events.last() {
        Some(last) => {
            view.next(format!("licctl events tail --after {}{}", last.sequence, filters.flags()))
        }
        None => view,
    })
}
