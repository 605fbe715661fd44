//! `licctl events list`.

use clap::{Args, value_parser};
use common::{Event, Timestamp};

use super::{EventFilters, FIELDS, Kept, position, read, table};
use crate::client::{ApiRecord, Client};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::View;
use crate::time::PastTime;

/// How many events are shown unless a flag says where to begin.
const DEFAULT_LIMIT: usize = 50;

/// List recent events, newest last
///
/// Without --since and --after, the last 50 are shown.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl events list --user alice
  licctl events list --type license.status_changed --since 7d
  licctl events list --since 2026-11-22 --until 2026-11-23T08:30:00Z
  licctl events list --subject lic_01k2v4p8qsf8brz6c7y0sjvkd3 -o json
  licctl events list --after 1041 --limit 1000 -o json")]
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
    let limit = args.limit.map(|limit| limit as usize);
    let [since, until] = [args.since, args.until].map(|time| time.map(|it| it.timestamp(ctx.now)));
    if let (Some(since), Some(until)) = (since, until)
        && since >= until
    {
        return Err(Error::usage("--since must be before --until."));
    }
    let mut events = match (args.after, since) {
        (Some(after), _) => {
            read(filters, client, after, limit.map_or(Kept::All, Kept::First), until).await?
        }
        (None, Some(since)) => {
            let after = position::since(filters, client, since).await?;
            read(filters, client, after, limit.map_or(Kept::All, Kept::Last), until).await?
        }
        (None, None) => last(filters, client, limit.unwrap_or(DEFAULT_LIMIT), until).await?,
    };
    events.retain(|event| since.is_none_or(|since| event.time >= since));
    if events.is_empty() {
        filters.refuse_unknown(ctx).await?;
    }
    let ids = events.iter().map(|event| event.id.to_string()).collect();
    let view = View::new(&events, ids)?
        .fields(&[FIELDS])
        .table(table(ctx, &events))
        .or_when_empty("No event matches. Follow new events: licctl events tail");
    Ok(match events.last() {
        Some(last) => {
            view.next(format!("licctl events tail --after {}{}", last.sequence, filters.flags()))
        }
        None => view,
    })
}

/// The last events, of those before `until`.
async fn last(
    filters: &EventFilters,
    client: &Client,
    wanted: usize,
    until: Option<Timestamp>,
) -> Result<Vec<ApiRecord<Event>>> {
    let mut after = match until {
        Some(until) => position::since(filters, client, until).await?,
        None => position::of_last(filters, client, wanted.min(position::MAX_PAGE_LEN)).await?,
    };
    loop {
        let events = read(filters, client, after, Kept::Last(wanted), until).await?;
        if events.len() >= wanted || after == 0 {
            return Ok(events);
        }
        // Each step back is at least as long as all before it, by how many events were found there.
        let end = events.last().map_or(after, |event| event.sequence);
        let found = i64::try_from(events.len()).unwrap_or(i64::MAX);
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        let span = (end - after).max(1).saturating_mul(wanted / found.max(1) + 1);
        after = end.saturating_sub(span).max(0);
    }
}
