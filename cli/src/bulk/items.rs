//! Commands that send several requests in order. The results are shown even if later ones fail, and
//! the exit code shows whether all, some or none succeeded.

use std::fmt::Display;
use std::future::Future;

use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::{clean, quote};

/// The results of several items.
pub struct ItemResults<T> {
    pub done: Vec<T>,
    pub exit: Exit,
}

/// The items without a result.
struct Unfinished<'a, I> {
    failed: Vec<(&'a I, Error)>,
    untried: &'a [I],
    /// The error that ended the run before the first of `untried`.
    stopped: Option<Error>,
}

/// Calls `act` for every item in order. A refused item does not stop the rest; an error that would
/// refuse the rest too (a wrong key, no server) does. When no item succeeds, the first error is
/// returned.
pub async fn for_each_item<T, F: Future<Output = Result<Option<T>>>>(
    ctx: &Context,
    items: &[String],
    act: impl Fn(String) -> F,
) -> Result<ItemResults<T>> {
    let act = async |item: &String| act(item.clone()).await;
    let (done, rest) = run_each(ctx, items, act, Error::stops_the_rest).await;
    let advice = |untried: &[String]| {
        let words: Vec<_> = untried.iter().map(|item| quote(item)).collect();
        format!("not tried: {}", words.join(" "))
    };
    conclude(ctx, done, rest, advice)
}

/// Like [`for_each_item`], but stops at the first failure. `advice` says how to continue with the
/// steps that were not tried.
pub async fn in_order<I: Display, T>(
    ctx: &Context,
    steps: &[I],
    act: impl AsyncFn(&I) -> Result<Option<T>>,
    advice: impl Fn(&[I]) -> String,
) -> Result<ItemResults<T>> {
    let (done, rest) = run_each(ctx, steps, act, |_| true).await;
    conclude(ctx, done, rest, advice)
}

async fn run_each<'a, I, T>(
    ctx: &Context,
    items: &'a [I],
    act: impl AsyncFn(&I) -> Result<Option<T>>,
    stops: impl Fn(&Error) -> bool,
) -> (Vec<T>, Unfinished<'a, I>) {
    let mut done = Vec::new();
    let mut rest = Unfinished { failed: Vec::new(), untried: &[], stopped: None };
    if items.len() > 1 {
        ctx.interruption.hold();
    }
    for (at, item) in items.iter().enumerate() {
        if ctx.interruption.wanted() {
            rest.untried = &items[at..];
            rest.stopped = Some(Error::interrupted());
            break;
        }
        match act(item).await {
            Ok(result) => done.extend(result),
            Err(error) if error.stops_the_rest() && error.had_no_effect() => {
                rest.untried = &items[at..];
                rest.stopped = Some(error);
                break;
            }
            Err(error) => {
                let is_last = stops(&error);
                rest.failed.push((item, error));
                if is_last {
                    rest.untried = &items[at + 1..];
                    break;
                }
            }
        }
    }
    ctx.interruption.release();
    (done, rest)
}

fn conclude<I: Display, T>(
    ctx: &Context,
    done: Vec<T>,
    rest: Unfinished<'_, I>,
    advice: impl Fn(&[I]) -> String,
) -> Result<ItemResults<T>> {
    if rest.failed.is_empty() && rest.untried.is_empty() {
        return Ok(ItemResults { done, exit: Exit::Success });
    }
    // A dry run has no successes to report, only the failure.
    if done.is_empty() || ctx.globals.dry_run {
        let number = rest.failed.len() + rest.untried.len();
        let first = rest.failed.into_iter().map(|(_, error)| error).next().or(rest.stopped);
        if number > 1 && !ctx.globals.dry_run {
            ctx.note(&format!("all {number} failed; the first error follows"));
        }
        return Err(first.unwrap_or_else(Error::interrupted));
    }
    let untried = match rest.untried.len() {
        0 => String::new(),
        untried => format!(", {untried} not tried"),
    };
    let summary = format!("{} succeeded, {} failed{untried}", done.len(), rest.failed.len());
    let is_cancelled = rest.stopped.as_ref().is_some_and(|error| error.exit == Exit::Cancelled);
    let (exit, code, stopped) = if is_cancelled {
        // The error of a prompt would claim that nothing was changed.
        (Exit::Cancelled, "cancelled", Some(Error::interrupted()))
    } else {
        (Exit::Partial, "partial", rest.stopped)
    };
    let mut json = Error::new(exit, code, format!("{summary}.")).json();
    let mut lines = String::new();
    let mut errors = Vec::new();
    for (item, error) in &rest.failed {
        let mut object = error.json();
        object["item"] = item.to_string().into();
        errors.push(object);
        lines += &format!("error: {}\n", clean(&sentence(&item.to_string(), error)));
    }
    if let Some(error) = &stopped {
        errors.push(error.json());
        lines += &error.text(ctx.destination().as_ref());
    }
    lines += &format!("note: {summary}\n");
    if !rest.untried.is_empty() {
        let advice = advice(rest.untried);
        lines += &format!("note: {}\n", clean(&advice));
        json["hint"] = advice.into();
    }
    json["errors"] = errors.into();
    json["notTried"] = rest.untried.iter().map(|item| Value::from(item.to_string())).collect();
    ctx.messages.fail(&lines, json);
    Ok(ItemResults { done, exit })
}

/// The error of an item, which is named once.
fn sentence(item: &str, error: &Error) -> String {
    let (message, why) = (error.message(), error.reason().unwrap_or_default());
    let item = if message.contains(item) { String::new() } else { format!("{item}: ") };
    format!("{item}{message} {why}").trim_end().to_owned()
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
