//! `licctl events tail`: prints events as they happen.

use common::{EventPattern, EventType, Open};

use super::feed::{Beginning, Feed};
use super::{EventFilters, FIELDS, actor, change};
use crate::commands::prelude::*;
use crate::noun::Printer;
use crate::output::Span;

const COLUMNS: [Column; 5] = [
    Column::fixed("TIME", 0, 24),
    Column::fixed("TYPE", 0, 22),
    Column::fixed("SUBJECT", 1, 30),
    Column::fixed("BY", 2, 16),
    Column::fixed("WHAT CHANGED", 0, 20),
];

/// Print events as they happen
///
/// Starts with the next event, or at --after or --since. Each event is printed once, in order, even
/// if the server restarts. With --until-type, the exit code is 0 after the first event of that
/// type, and 10 if --for ends first; after Ctrl-C it is 130.
#[derive(Args)]
pub struct TailArgs {
    #[command(flatten)]
    filters: EventFilters,
    #[command(flatten)]
    begin: Beginning,
    /// Stop after the first event of this type
    #[arg(long = "until-type", value_name = "TYPE", hide_possible_values = true)]
    until: Option<EventType>,
    /// Stop after this time, such as 5m
    #[arg(long = "for", value_name = "SPAN")]
    bound: Option<Span>,
}

pub async fn run(ctx: &Context, mut args: TailArgs) -> Result<View> {
    let matches = |until: EventType| {
        let matches = |kind: &EventPattern| EventPattern::matches(kind.as_str(), until.as_str());
        args.filters.kinds.is_empty() || args.filters.kinds.iter().any(matches)
    };
    if let Some(until) = args.until
        && !matches(until)
    {
        return Err(Error::usage(format!("--type excludes the events of --until-type {until}."))
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
    let printer = Printer::begin(ctx, &COLUMNS, &[FIELDS])?;
    let mut feed = Feed::new(ctx, &args.filters, &args.begin).await?;
    while let Some(event) = feed.next(&ctx.io).await? {
        let row = [TextCell::of(event.time), TextCell::of(&event.kind)];
        let rest = [&event.subject.id, &actor(&event), &change(&event)].map(TextCell::text);
        let row = row.into_iter().chain(rest).collect();
        printer.print(ctx, &event, event.id.to_string(), row)?;
        if args.until.is_some_and(|until| event.kind == Open::Known(until)) {
            break;
        }
    }
    Ok(())
}
