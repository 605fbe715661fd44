//! Commands that list records of the service, all or the first of them.

use std::future::pending;
use std::time::Duration;

use clap::Args;
use futures_util::stream::{self, Stream, StreamExt, TryStreamExt};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::completion_cache::remember;
use super::named::Named;
use crate::context::Context;
use crate::error::Result;
use crate::output::{ColumnNames, Listing, SortOrder};

/// Flags of every command that lists.
#[derive(Args)]
pub struct ListFlags {
    /// List at most the first N records
    #[arg(long, value_name = "N", value_parser = limit)]
    limit: Option<usize>,
    /// Sort by this column, such as expires; -expires puts the largest first
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    sort: Option<ColumnNames>,
}

fn limit(text: &str) -> std::result::Result<usize, &'static str> {
    let limit = text.parse().ok().filter(|&limit| limit > 0);
    limit.ok_or("must be a whole number of at least 1")
}

impl ListFlags {
    /// The number of records to read; all if they are sorted first.
    pub fn limit(&self) -> Option<usize> {
        self.limit.filter(|_| self.sort.is_none())
    }
}

/// Reads all pages and returns the records in the order of the column.
async fn sorted<T: Serialize>(
    pages: impl Stream<Item = Result<Vec<T>>>,
    column: &ColumnNames,
    fields: &str,
) -> Result<Vec<T>> {
    let order = SortOrder::new(column, fields)?;
    let records: Vec<T> = pages.try_concat().await?;
    let keyed = records.into_iter().map(|record| Ok((order.key(&record)?, record)));
    let mut keyed: Vec<_> = keyed.collect::<Result<_>>()?;
    keyed.sort_by(|(a, _), (b, _)| order.compare(a, b));
    Ok(keyed.into_iter().map(|(_, record)| record).collect())
}

/// Time after which a list shows progress on a terminal.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// Returns the same pages, and shows the number of records of a slow list on a terminal.
fn watched<T>(
    ctx: &Context,
    pages: impl Stream<Item = Result<Vec<T>>>,
) -> impl Stream<Item = Result<Vec<T>>> {
    let begin = Instant::now() + QUIET_TIME;
    // Records that are printed as they arrive need no progress.
    let is_shown = !(ctx.output.format.is_by_line() && ctx.io.terminals.stdout);
    stream::try_unfold((Box::pin(pages), 0), move |(mut pages, count)| async move {
        let line = async {
            sleep_until(begin).await;
            if is_shown {
                ctx.wait_display.show(format!("{count} records read (Ctrl-C to stop)"));
            }
            pending::<()>().await;
        };
        let page = tokio::select! {
            page = pages.try_next() => page?,
            () = line => None,
        };
        Ok(page.map(|page| {
            let count = count + page.len();
            (page, (pages, count))
        }))
    })
}

/// Prints the records as they arrive and returns none, or collects them, depending on the format.
/// The first page of a `whole` list is remembered for completion.
pub async fn print_or_collect<T: Named + Serialize>(
    ctx: &Context,
    flags: &ListFlags,
    fields: &str,
    whole: bool,
    pages: impl Stream<Item = Result<Vec<T>>>,
) -> Result<Option<Vec<T>>> {
    let client = ctx.client().await?;
    let mut remembered = !whole || flags.limit.is_some();
    let pages = pages.inspect_ok(|page| {
        if !std::mem::replace(&mut remembered, true) {
            remember(client, &ctx.env, page);
        }
    });
    let pages = watched(ctx, pages);
    let pages = match &flags.sort {
        Some(column) => stream::once(sorted(pages, column, fields)).left_stream(),
        None => pages.right_stream(),
    };
    let listing =
        Listing { io: &ctx.io, options: &ctx.output, fields, id: T::id, limit: flags.limit };
    let read = listing.read(pages).await;
    ctx.wait_display.clear();
    read
}
