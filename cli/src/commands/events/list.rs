//! `licctl events list`.

use std::collections::VecDeque;

use clap::{Args, value_parser};
use common::Event;

use super::{EventFilters, FIELDS, position, table};
use crate::client::{ApiRecord, Client};
use crate::context::Context;
use crate::error::Result;
use crate::output::View;
use crate::time::Span;

/// How many events are shown unless a flag says where to begin.
const DEFAULT_LIMIT: usize = 50;

/// List the last events, the newest at the end
///
/// Without --since and --after these are the last 50. To find them, licctl sends some 25 requests
/// for a million events; filters are applied by the service.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl events list --user alice
  licctl events list --type license.status_changed --since 7d
  licctl events list --subject lic_01k2v4p8qsf8brz6c7y0sjvkd3 -o json
  licctl events list --after 1041 --limit 1000 -o json")]
pub struct ListArgs {
    #[command(flatten)]
    filters: EventFilters,
    /// Only events of this last time
    #[arg(long, value_name = "SPAN")]
    since: Option<Span>,
    /// Only events after this sequence number
    #[arg(long, value_name = "SEQUENCE", conflicts_with = "since")]
    #[arg(value_parser = value_parser!(i64).range(0..))]
    after: Option<i64>,
    /// Show the last N events at most; with --after the first N
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1000))]
    limit: Option<u16>,
}

/// Which events are kept of more.
#[derive(Clone, Copy)]
pub enum Kept {
    All,
    First(usize),
    Last(usize),
}

pub async fn run(ctx: &Context, args: ListArgs) -> Result<View> {
    let client = ctx.client().await?;
    let filters = &args.filters.settle(ctx).await?;
    let limit = args.limit.map(usize::from);
    let since = args.since.map(|span| ctx.now.plus(-span.delta()));
    let (after, kept) = match (args.after, since) {
        (Some(after), _) => (after, limit.map_or(Kept::All, Kept::First)),
        (None, Some(since)) => {
            let after = position::since(filters, client, since).await?;
            (after, limit.map_or(Kept::All, Kept::Last))
        }
        (None, None) => {
            let limit = limit.unwrap_or(DEFAULT_LIMIT);
            (position::of_last(filters, client, limit).await?, Kept::Last(limit))
        }
    };
    let mut events = read(filters, client, after, kept).await?;
    events.retain(|event| since.is_none_or(|since| event.time >= since));
    if events.is_empty() {
        filters.refuse_unknown(ctx).await?;
    }
    let ids = events.iter().map(|event| event.id.to_string()).collect();
    let view = View::new(&events, ids)?.fields(&FIELDS).table(table(ctx, &events)).or_when_empty(
        "No event matches. Changes are recorded as they happen; follow them: licctl events tail",
    );
    Ok(match events.last() {
        Some(last) => {
            view.next(format!("licctl events tail --after {}{}", last.sequence, filters.flags()))
        }
        None => view,
    })
}

/// Reads the events after a sequence number, page after page.
pub async fn read(
    filters: &EventFilters,
    client: &Client,
    mut after: i64,
    kept: Kept,
) -> Result<Vec<ApiRecord<Event>>> {
    let mut events = VecDeque::new();
    let page_len = match kept {
        Kept::First(limit) => limit.min(position::MAX_PAGE_LEN),
        Kept::Last(_) | Kept::All => position::MAX_PAGE_LEN,
    };
    loop {
        let page = filters.page(client, after, page_len).await?;
        let last = page.data.last().map(|event| event.sequence);
        events.extend(page.data);
        match kept {
            Kept::First(limit) => events.truncate(limit),
            Kept::Last(limit) => drop(events.drain(..events.len().saturating_sub(limit))),
            Kept::All => {}
        }
        let enough = matches!(kept, Kept::First(limit) if events.len() == limit);
        match last.filter(|&last| last > after) {
            Some(last) if page.next_cursor.is_some() && !enough => after = last,
            _ => return Ok(events.into()),
        }
    }
}
