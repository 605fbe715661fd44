//! The engine for many items, be they rows of a file or arguments: it works on some at a time until
//! one says that the rest would fail too, or a signal ends the run; and one report of a run of which
//! not all succeeded.

use std::cell::Cell;
use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt};
use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, Exit};

/// Results of the items of a run, in order.
pub struct Finished<'a, I, T> {
    pub results: Vec<T>,
    pub untried: Vec<&'a I>,
    pub is_interrupted: bool,
}

/// Calls `act` for the items. Its result is none for an item that was not tried after all; the flag
/// says whether no further item is to be begun.
pub async fn run<'a, I, T>(
    ctx: &Context,
    items: &'a [I],
    at_once: usize,
    act: impl AsyncFn(&'a I) -> (Option<T>, bool),
) -> Finished<'a, I, T> {
    let stopped = Cell::new(false);
    let one = async |(at, item)| {
        if ctx.interruption.wanted() || stopped.get() {
            return None;
        }
        let (result, is_last) = act(item).await;
        stopped.set(stopped.get() || is_last);
        result.map(|result| (at, result))
    };
    // A signal ends a single request immediately.
    if items.len().max(at_once) > 1 {
        ctx.interruption.hold();
    }
    let tried = stream::iter(items.iter().enumerate()).map(one).buffer_unordered(at_once);
    let tried: BTreeMap<usize, T> = tried.filter_map(async |it| it).collect().await;
    let untried = items.iter().enumerate().filter(|(at, _)| !tried.contains_key(at));
    let untried = untried.map(|(_, item)| item).collect();
    let results = tried.into_values().collect();
    Finished { results, untried, is_interrupted: ctx.interruption.release() }
}

/// Reason why a run is not a success.
pub struct Shortfall {
    pub is_interrupted: bool,
    /// Numbers of items that succeeded, failed and were not tried.
    pub summary: String,
    /// Command with which to continue.
    pub hint: Option<String>,
    /// The errors of the items that failed, and the one that ended the run.
    pub errors: Vec<Value>,
    pub untried: Vec<String>,
}

impl Shortfall {
    /// Prints the lines for a person, or the JSON for a program; returns the exit code of the run.
    pub fn report(self, ctx: &Context, lines: &str) -> Exit {
        let (exit, code) = if self.is_interrupted {
            (Exit::Cancelled, "cancelled")
        } else {
            (Exit::Partial, "partial")
        };
        let error = Error::new(exit, code, self.summary);
        let mut json = self.hint.into_iter().fold(error, Error::fix).json();
        json["errors"] = self.errors.into();
        json["notTried"] = self.untried.into();
        ctx.messages.fail(lines, json);
        exit
    }
}

/// The error of an item, as a program gets it.
pub fn of_item(item: &str, mut error: Value) -> Value {
    error["item"] = item.into();
    error
}

/// `, 3 not tried`; nothing if all were.
pub fn rest(untried: usize) -> String {
    if untried == 0 { String::new() } else { format!(", {untried} not tried") }
}
