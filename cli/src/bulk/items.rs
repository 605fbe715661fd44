//! Commands that send several requests in order. The results are shown even if later ones fail, and
//! the exit code shows whether all, some or none succeeded.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::future::Future;

use super::engine::{self, Finished, Shortfall, of_item, rest};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::{clean, quote};

/// The results of several items.
pub struct ItemResults<T> {
    pub done: Vec<T>,
    pub exit: Exit,
}

/// Calls `act` for every item in order. A refused item does not stop the rest; an error that would
/// refuse the rest too (a wrong key, no server) does. When no item succeeds, the first error is
/// returned.
pub async fn for_each_item<I: Display + Clone, T, F: Future<Output = Result<Option<T>>>>(
    ctx: &Context,
    items: &[I],
    act: impl Fn(I) -> F,
) -> Result<ItemResults<T>> {
    let act = async |item: &I| act(item.clone()).await;
    let advice = |untried: &[I]| {
        let words: Vec<_> =
            untried.iter().map(|item| quote(&item.to_string()).into_owned()).collect();
        format!("not tried: {}", words.join(" "))
    };
    each(ctx, items, act, Error::stops_the_rest, advice).await
}

/// Like [`for_each_item`], but stops at the first failure. `advice` says how to continue with the
/// steps that were not tried.
pub async fn in_order<I: Display, T>(
    ctx: &Context,
    steps: &[I],
    act: impl AsyncFn(&I) -> Result<Option<T>>,
    advice: impl Fn(&[I]) -> String,
) -> Result<ItemResults<T>> {
    each(ctx, steps, act, |_| true, advice).await
}

async fn each<I: Display, T>(
    ctx: &Context,
    items: &[I],
    act: impl AsyncFn(&I) -> Result<Option<T>>,
    stops: impl Fn(&Error) -> bool,
    advice: impl Fn(&[I]) -> String,
) -> Result<ItemResults<T>> {
    let (failed, stopped) = (RefCell::new(Vec::new()), Cell::new(None));
    let one = async |item| match act(item).await {
        Ok(result) => (Some(result), false),
        Err(error) if error.stops_the_rest() && error.had_no_effect() => {
            stopped.set(Some(error));
            (None, true)
        }
        Err(error) => {
            let is_last = stops(&error);
            failed.borrow_mut().push((item.to_string(), error));
            (Some(None), is_last)
        }
    };
    let Finished { results, untried, is_interrupted } = engine::run(ctx, items, 1, one).await;
    let done: Vec<T> = results.into_iter().flatten().collect();
    let failed = failed.into_inner();
    if failed.is_empty() && untried.is_empty() {
        return Ok(ItemResults { done, exit: Exit::Success });
    }
    let stopped = stopped.take().or_else(|| is_interrupted.then(Error::interrupted));
    // A dry run has no successes to report, only the failure.
    if done.is_empty() || ctx.globals.dry_run {
        let number = failed.len() + untried.len();
        if number > 1 && !ctx.globals.dry_run {
            ctx.note(&format!("all {number} failed; the first error follows"));
        }
        let first = failed.into_iter().map(|(_, error)| error).next().or(stopped);
        return Err(first.unwrap_or_else(Error::interrupted));
    }
    let untried = &items[items.len() - untried.len()..];
    let advice = (!untried.is_empty()).then(|| advice(untried));
    let exit = conclude(ctx, done.len(), &failed, (untried, advice), stopped);
    Ok(ItemResults { done, exit })
}

/// Reports the items that failed, and those that were not tried with how to continue.
fn conclude<I: Display>(
    ctx: &Context,
    done: usize,
    failed: &[(String, Error)],
    (untried, advice): (&[I], Option<String>),
    stopped: Option<Error>,
) -> Exit {
    let is_interrupted = stopped.as_ref().is_some_and(|error| error.exit == Exit::Cancelled);
    // The error of a prompt would claim that nothing was changed.
    let stopped = if is_interrupted { Some(Error::interrupted()) } else { stopped };
    let summary = format!("{done} succeeded, {} failed{}", failed.len(), rest(untried.len()));
    let failures = failed.iter().map(|(item, error)| format!("error: {}\n", sentence(item, error)));
    let mut lines: String = failures.collect();
    lines.extend(stopped.iter().map(|error| error.text(ctx.destination().as_ref())));
    lines += &format!("note: {summary}\n");
    lines.extend(advice.iter().map(|advice| format!("note: {}\n", clean(advice))));
    let errors = failed.iter().map(|(item, error)| of_item(item, error.json()));
    let shortfall = Shortfall {
        is_interrupted,
        summary: format!("{summary}."),
        hint: advice,
        errors: errors.chain(stopped.iter().map(Error::json)).collect(),
        untried: untried.iter().map(I::to_string).collect(),
    };
    shortfall.report(ctx, &lines)
}

/// The error of an item, which is named once.
fn sentence(item: &str, error: &Error) -> String {
    let (message, why) = (error.message(), error.reason().unwrap_or_default());
    let item = if message.contains(item) { String::new() } else { format!("{item}: ") };
    clean(format!("{item}{message} {why}").trim_end()).into_owned()
}

/// The items of the command line; `-` stands for those that stdin lists.
pub async fn read_items(ctx: &Context, given: &[String]) -> Result<Vec<String>> {
    let mut items = Vec::new();
    for item in given {
        match item.as_str() {
            "-" => items.extend(ctx.io.read_list().await?),
            item => items.push(item.to_owned()),
        }
    }
    Ok(items)
}
