//! New events one by one, in order, each once: the server is polled, and waited for in outages.

use std::collections::VecDeque;
use std::time::Duration;

use clap::value_parser;
use common::Event;

use super::{EventFilters, EventsPart, Order};
use crate::client::Client;
use crate::commands::prelude::*;
use crate::output::PastTime;
use crate::terminal::Io;

/// The pause between two requests when there was nothing new.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Start of the feed, by default the next event.
#[derive(Args)]
pub struct Beginning {
    /// Start at this time: a duration before now, a date (midnight UTC) or a time
    #[arg(long, value_name = "TIME")]
    since: Option<PastTime>,
    /// Start after this sequence number
    #[arg(long, value_name = "SEQUENCE", conflicts_with = "since")]
    #[arg(value_parser = value_parser!(i64).range(0..))]
    after: Option<i64>,
}

pub struct Feed<'a> {
    client: &'a Client,
    query: Query,
    after: i64,
    page: VecDeque<ApiRecord<Event>>,
    is_at_end: bool,
}

impl<'a> Feed<'a> {
    pub async fn new(ctx: &'a Context, filters: &EventFilters, begin: &Beginning) -> Result<Self> {
        let (client, from) = (ctx.client().await?, begin.since.map(|it| it.timestamp(ctx.now)));
        let after = match begin {
            Beginning { after: Some(after), .. } => *after,
            Beginning { since: Some(_), .. } => 0,
            _ => end(client).await?,
        };
        let part = EventsPart { from, to: None, order: Order::OldestFirst };
        let (query, page) = (filters.query(&part), VecDeque::new());
        Ok(Self { client, query, after, page, is_at_end: false })
    }

    /// The next event, however long it takes; none once the reader of stdout has left.
    pub async fn next(&mut self, io: &Io) -> Result<Option<ApiRecord<Event>>> {
        while io.has_reader() {
            if let Some(event) = self.page.pop_front() {
                self.after = event.sequence;
                return Ok(Some(event));
            }
            if self.is_at_end {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            let query = self.query.clone().after(Some(self.after));
            let page = self.client.events().page(query).await?;
            // It may restart, now that the address is known to be right.
            self.client.wait_endlessly();
            self.is_at_end = page.next_cursor.is_none();
            let new = page.data.into_iter().filter(|event| event.sequence > self.after);
            self.page = new.collect();
        }
        Ok(None)
    }
}

/// The sequence number of the last event of all.
async fn end(client: &Client) -> Result<i64> {
    let last = EventFilters::default().last(client, 1).await?;
    Ok(last.first().map_or(0, |event| event.sequence))
}
