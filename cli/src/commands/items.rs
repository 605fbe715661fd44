//! Commands that take several items: every item is tried, failures are printed to stderr, and the
//! exit code shows whether all, some or none succeeded.

use std::future::Future;

use crate::context::Context;
use crate::error::{Error, Exit, Result};

/// The results of several items.
pub struct ItemResults<T> {
    pub done: Vec<T>,
    pub exit: Exit,
}

/// Calls `act` for every item in order. A refused item does not stop the rest; an error that would
/// refuse the rest too (a wrong key, no server) does. When no item succeeds, the first error is
/// returned.
pub async fn for_each_item<T, F: Future<Output = Result<Option<T>>>>(
    ctx: &Context,
    items: &[String],
    act: impl Fn(String) -> F,
) -> Result<ItemResults<T>> {
    let mut done = Vec::new();
    let mut failed: Vec<(&String, Error)> = Vec::new();
    let mut tried = 0;
    for item in items {
        tried += 1;
        match act(item.clone()).await {
            Ok(result) => done.extend(result),
            Err(error) => {
                let last = error.exit.ends_everything();
                failed.push((item, error));
                if last {
                    break;
                }
            }
        }
    }
    if failed.is_empty() {
        return Ok(ItemResults { done, exit: Exit::Success });
    }
    // A dry run has no successes to report, only the failure.
    if failed.len() == tried && done.is_empty() || ctx.globals.dry_run {
        let (_, first) = failed.swap_remove(0);
        let others = items.len() - 1;
        if others > 0 && !ctx.globals.dry_run {
            ctx.note(&format!("none of the {} succeeded; the first error follows", items.len()));
        }
        return Err(first);
    }
    let untried = items.len() - tried;
    let left = if untried > 0 { format!(", {untried} not tried") } else { String::new() };
    let summary = format!("{} succeeded, {} failed{left}", tried - failed.len(), failed.len());
    let mut all = Error::new(Exit::Partial, "partial", format!("{summary}.")).json();
    let errors = failed.iter().map(|(item, error)| {
        let mut error = error.json();
        error["item"] = item.as_str().into();
        error
    });
    all["errors"] = errors.collect();
    let line = |(item, error): &(&String, Error)| {
        format!("error: {item}: {} {}\n", error.message(), error.reason().unwrap_or_default())
    };
    let lines: String = failed.iter().map(line).collect();
    ctx.messages.fail(&format!("{lines}note: {summary}\n"), all);
    Ok(ItemResults { done, exit: Exit::Partial })
}

/// The items of the command line; a lone `-` reads them from stdin.
pub async fn read_items(ctx: &Context, given: &[String]) -> Result<Vec<String>> {
    match given {
        [dash] if dash == "-" => {
            let list = ctx.io.read_list().await?;
            if list.is_empty() { Err(Error::usage("Stdin is empty.")) } else { Ok(list) }
        }
        _ => Ok(given.to_vec()),
    }
}
