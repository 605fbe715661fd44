//! `licctl events tail`: prints events as they happen. It asks the service again and again, and waits
//! while the service cannot answer.

use std::time::Duration;

use clap::{Args, value_parser};
use common::{Event, EventType, List, Open};

use super::printer::Printer;
use super::{EventFilters, position};
use crate::client::{ApiRecord, Client};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::output::{Format, View};
use crate::time::{PastTime, Span};

/// The pause between two requests when there was nothing new.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The longest pause while the service cannot answer.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Print events as they happen
///
/// Begins with the next event, or where --after or --since says. Asks the service every second, and
/// waits while it restarts or limits the rate: each event is printed once, in order. Times are
/// absolute, so that they stay true. With --until-type the exit code is 0 after the first event of
/// that type, and 10 when --for ends before; Ctrl-C ends with 130.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl events tail
  licctl events tail --since 1h --user alice
  licctl events tail --jq .type
  licctl events tail --subject lic_01k2v4p8qsf8brz6c7y0sjvkd3 \\
      --until-type seat.taken --for 5m")]
pub struct TailArgs {
    #[command(flatten)]
    filters: EventFilters,
    /// Begin with the events of this time: a span before now, a date (its beginning in UTC) or a time
    #[arg(long, value_name = "TIME")]
    since: Option<PastTime>,
    /// Begin after this sequence number
    #[arg(long, value_name = "SEQUENCE", conflicts_with = "since")]
    #[arg(value_parser = value_parser!(i64).range(0..))]
    after: Option<i64>,
    /// End after the first event of this type
    #[arg(long = "until-type", alias = "until", value_name = "TYPE", hide_possible_values = true)]
    until: Option<EventType>,
    /// End after this time
    #[arg(long = "for", value_name = "SPAN")]
    bound: Option<Span>,
}

pub async fn run(ctx: &Context, mut args: TailArgs) -> Result<View> {
    if ctx.output.format == Format::Yaml {
        return Err(Error::usage("events tail prints tables, csv, json, jsonl and ids.")
            .fix("licctl events tail -o jsonl"));
    }
    if let (Some(kind), Some(until)) = (args.filters.kind, args.until)
        && kind != until
    {
        return Err(Error::usage(format!(
            "--type {kind} leaves out all events of --until-type {until}."
        ))
        .fix("omit --type"));
    }
    args.filters = args.filters.settle(ctx).await?;
    // What is not known yet may be what one waits for.
    match args.filters.refuse_unknown(ctx).await {
        Err(error) if error.exit == Exit::NotFound => {
            ctx.note(&format!("{} Waiting for it.", error.message()));
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

/// Prints events until the last one that is wanted, or until nobody reads them.
async fn follow(ctx: &Context, args: &TailArgs) -> Result<()> {
    let client = ctx.client().await?;
    let printer = Printer::begin(ctx)?;
    let since = args.since.map(|since| since.timestamp(ctx.now));
    let mut after = match (args.after, since) {
        (Some(after), _) => after,
        (None, Some(since)) => position::since(&args.filters, client, since).await?,
        (None, None) => end(client).await?,
    };
    let mut outage = Outage { answered: args.after.is_none(), pause: None };
    loop {
        let Some(page) = outage.watch(ctx, next(args, client, after).await).await? else {
            continue;
        };
        let caught_up = page.next_cursor.is_none();
        for event in page.data.iter().filter(|event| event.sequence > after) {
            if since.is_none_or(|since| event.time >= since) {
                printer.print(ctx, event)?;
            }
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

async fn next(args: &TailArgs, client: &Client, after: i64) -> Result<List<ApiRecord<Event>>> {
    args.filters.page(client, after, position::MAX_PAGE_LEN).await
}

/// The sequence number of the last event of all.
async fn end(client: &Client) -> Result<i64> {
    let all = EventFilters { kind: None, subject: None, user: None };
    let after = position::of_last(&all, client, 1).await?;
    let page = all.page(client, after, position::MAX_PAGE_LEN).await?;
    Ok(page.data.last().map_or(after, |event| event.sequence))
}

/// Whether the service answers, and how long to wait when it does not.
struct Outage {
    answered: bool,
    pause: Option<Duration>,
}

impl Outage {
    /// The answer; none after a pause. An error is passed on when it would not go away, and when the
    /// service never answered, as the address may be wrong.
    async fn watch<T>(&mut self, ctx: &Context, answer: Result<T>) -> Result<Option<T>> {
        let error = match answer {
            Ok(answer) => {
                if self.pause.take().is_some() {
                    ctx.note("the server answers again");
                }
                self.answered = true;
                return Ok(Some(answer));
            }
            Err(error) => error,
        };
        if !self.answered || !matches!(error.exit, Exit::Unreachable | Exit::RateLimited) {
            return Err(error);
        }
        if self.pause.is_none() {
            ctx.note(&format!("{} Waiting for it.", error.message()));
        }
        let pause = self.pause.map_or(POLL_INTERVAL, |pause| (pause * 2).min(MAX_PAUSE));
        self.pause = Some(pause);
        let pause = error.retry_after.map_or(pause, Duration::from_secs);
        tokio::time::sleep(pause).await;
        Ok(None)
    }
}
