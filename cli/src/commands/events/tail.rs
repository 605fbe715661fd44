//! `licctl events tail`: prints events as they happen. It polls the server, and waits during
//! outages.

use std::time::Duration;

use clap::value_parser;
use common::{Event, EventType, List, Open, Timestamp};

use super::printer::Printer;
use super::{EventFilters, EventsPart, Order};
use crate::client::Client;
use crate::commands::prelude::*;
use crate::output::{PastTime, Span};

/// The pause between two requests when there was nothing new.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Print events as they happen
///
/// Starts with the next event, or at --after or --since. Each event is printed once, in order, even
/// if the server restarts. With --until-type, the exit code is 0 after the first event of that
/// type, and 10 if --for ends first; after Ctrl-C it is 130.
#[derive(Args)]
pub struct TailArgs {
    #[command(flatten)]
    filters: EventFilters,
    /// Start at this time: a duration before now, a date (midnight UTC) or a time
    #[arg(long, value_name = "TIME")]
    since: Option<PastTime>,
    /// Start after this sequence number
    #[arg(long, value_name = "SEQUENCE", conflicts_with = "since")]
    #[arg(value_parser = value_parser!(i64).range(0..))]
    after: Option<i64>,
    /// Stop after the first event of this type
    #[arg(long = "until-type", alias = "until", value_name = "TYPE", hide_possible_values = true)]
    until: Option<EventType>,
    /// Stop after this time, such as 5m
    #[arg(long = "for", value_name = "SPAN")]
    bound: Option<Span>,
}

pub async fn run(ctx: &Context, mut args: TailArgs) -> Result<View> {
    if let (Some(kind), Some(until)) = (args.filters.kind, args.until)
        && kind != until
    {
        return Err(Error::usage(format!(
            "--type {kind} excludes the events of --until-type {until}."
        ))
        .fix("omit --type"));
    }
    args.filters = args.filters.settle(ctx).await?;
    // The record may be created later.
    match args.filters.refuse_unknown(ctx).await {
        Err(error) if error.exit == Exit::NotFound => {
            ctx.note(&format!("{} Waiting.", error.message()));
        }
        known => known?,
    }
    if args.until.is_none() && args.bound.is_none() {
        ctx.interruption.expect();
    }
    let follow = follow(ctx, &args);
    let ended = match args.bound {
        Some(bound) => tokio::time::timeout(bound.std(), follow).await,
        None => Ok(follow.await),
    };
    match ended {
        Ok(followed) => followed.map(|()| View::printed()),
        Err(_) if args.until.is_some() => Ok(View::printed().exit(Exit::Negative)),
        Err(_) => Ok(View::printed()),
    }
}

/// Prints events until the last requested one, or until the reader closes the pipe.
async fn follow(ctx: &Context, args: &TailArgs) -> Result<()> {
    let client = ctx.client().await?;
    let printer = Printer::begin(ctx)?;
    let from = args.since.map(|since| since.timestamp(ctx.now));
    let mut after = match args.after {
        Some(after) => after,
        None if from.is_some() => 0,
        None => end(client).await?,
    };
    loop {
        let page = next(args, client, from, after).await?;
        // It may restart, now that the address is known to be right.
        client.wait_endlessly();
        let caught_up = page.next_cursor.is_none();
        for event in page.data.iter().filter(|event| event.sequence > after) {
            printer.print(ctx, event)?;
            let is_last = args.until.is_some_and(|until| event.kind == Open::Known(until));
            if is_last || ctx.io.is_closed() {
                return Ok(());
            }
        }
        after = page.data.last().map_or(after, |event| event.sequence.max(after));
        if caught_up {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

async fn next(
    args: &TailArgs,
    client: &Client,
    from: Option<Timestamp>,
    after: i64,
) -> Result<List<ApiRecord<Event>>> {
    let part = EventsPart { from, to: None, order: Order::OldestFirst };
    client.events().page(args.filters.query(&part).after(Some(after))).await
}

/// The sequence number of the last event of all.
async fn end(client: &Client) -> Result<i64> {
    let last = EventFilters::default().last(client, 1).await?;
    Ok(last.first().map_or(0, |event| event.sequence))
}
