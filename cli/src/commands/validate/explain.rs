//! `licctl validate --explain`: the steps from the key to the answer, the holders of the seats when
//! seats are the reason, and suggested commands.

use common::{
    CurrentKey, Explain, ExplainedLicense, Explanation, ExternalId, License, Line, Name, ProductId,
    Reason, Status, Verdict,
};

use super::ExpectedAnswer;
use super::advice::advice;
use crate::commands::licenses::{status_cell, usage};
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::View;
use crate::output::cell::{TextCell, Tone};
use crate::output::table::Table;
use crate::output::time::relative;

/// The width of a step's label, in columns.
const LABEL_WIDTH: usize = 9;

pub async fn run(
    ctx: &Context,
    user: ExternalId,
    product: Option<ProductId>,
    expected: Option<ExpectedAnswer>,
) -> Result<View> {
    let client = ctx.client().await?;
    let body = Explain { user_id: user.clone(), product_id: product };
    let (key, explained) = tokio::try_join!(client.current_key(), client.explain(&body),)?;
    let holders = match full_license(&explained) {
        Some(license) => Some(seats_of(ctx, license).await?),
        None => None,
    };
    let mut view = View::new(&explained, vec![user.to_string()])?;
    for line in [key_line(&key), user_line(ctx, &user, &explained), licenses_line(&explained)] {
        view = view.line(line);
    }
    for (at, license) in explained.licenses.iter().enumerate() {
        for line in license_lines(ctx, at + 1, license) {
            view = view.line(line);
        }
    }
    view = view.line(answer_line(&explained));
    if let Some((summary, holders)) = &holders {
        view = view.line(TextCell::text("")).line(TextCell::text(summary)).table(holders.1.clone());
    }
    let idle = holders.as_ref().map(|(_, (idle, _))| idle.as_slice());
    let todo = advice(&user, &explained, idle.unwrap_or_default());
    if !todo.is_empty() {
        view = view.line(TextCell::text("")).line(TextCell::text("Suggested commands:"));
    }
    for line in todo {
        view = view.line(TextCell::text(format!("  {line}")));
    }
    let answer = explained.reason.map_or(ExpectedAnswer::Valid, ExpectedAnswer::Invalid);
    let fits = answer == expected.unwrap_or(ExpectedAnswer::Valid);
    Ok(view.exit(if fits { Exit::Success } else { Exit::Negative }))
}

/// The license whose seats are the reason.
fn full_license(explained: &Explanation) -> Option<&ExplainedLicense> {
    let mut licenses = explained.licenses.iter();
    licenses.find(|license| license.verdict == Verdict::ExceededSeats)
}

/// The holders of a license's seats, least recently checked first: as external ids and as a table.
async fn seats_of(
    ctx: &Context,
    license: &ExplainedLicense,
) -> Result<(String, (Vec<String>, Table))> {
    let usage = ctx.client().await?.licenses().usage(license.license.id).await?;
    let mut seats = usage.activations.clone();
    seats.sort_by_key(|seat| seat.activation.last_checked_at);
    let users = usage::holders(ctx, &seats).await?;
    let idle = seats.iter().map(|seat| seat.external_id.to_string()).collect();
    let summary = format!("{}, least recently checked first:", usage::summary(&usage));
    Ok((summary, (idle, usage::table(ctx, &seats, &users))))
}

fn step(good: bool, label: &str, text: &str) -> TextCell {
    let mark = if good { "ok" } else { "no" };
    let line = format!("{mark}  {label:<LABEL_WIDTH$} {text}");
    TextCell::text(line).toned(if good { Tone::Good } else { Tone::Bad })
}

fn key_line(key: &CurrentKey) -> TextCell {
    let (role, mode) = (key.role, key.mode);
    let tenant = &key.tenant.name;
    step(true, "key", &format!("{}… is active: {role}, {mode}, tenant {tenant}", key.prefix))
}

fn user_line(ctx: &Context, user: &ExternalId, explained: &Explanation) -> TextCell {
    let Some(known) = &explained.user else {
        return step(false, "user", &format!("{user} does not exist"));
    };
    let name = known.name.as_ref().map(Name::as_str);
    let words = [name, known.email.as_ref().map(Line::as_str)];
    let about: Vec<&str> = words.into_iter().flatten().collect();
    let since = if ctx.io.terminals.stdout {
        relative(known.created_at, ctx.now)
    } else {
        known.created_at.to_string()
    };
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    step(true, "user", &format!("{user} exists{about}, created {since}"))
}

fn licenses_line(explained: &Explanation) -> TextCell {
    match explained.licenses.len() {
        0 => step(false, "licenses", "the user has none"),
        1 => step(true, "licenses", "the user has 1:"),
        many => step(true, "licenses", &format!("the user has {many}, checked in this order:")),
    }
}

fn answer_line(explained: &Explanation) -> TextCell {
    let word = explained.reason.map_or("VALID", Reason::as_str);
    step(explained.valid, "answer", &format!("{word}: {}", explained.summary))
}

/// The expiry, unless the status shows it already.
fn expiry(ctx: &Context, license: &License) -> String {
    let past = license.expires_at.is_some_and(|end| end <= ctx.now);
    let time = TextCell::time_or("never", license.expires_at, ctx.now);
    let time = time.shown(ctx.io.terminals.stdout);
    match (past, license.status) {
        (true, Status::Active) => String::new(),
        (true, _) => format!(", expired {time}"),
        (false, _) => format!(", expires {time}"),
    }
}

/// One license in three lines: its product and plan, its state, and the verdict.
fn license_lines(ctx: &Context, number: usize, it: &ExplainedLicense) -> [TextCell; 3] {
    let tone = match it.verdict {
        Verdict::Valid => Tone::Good,
        Verdict::NotReached | Verdict::OtherProduct => Tone::Warning,
        _ => Tone::Bad,
    };
    let what = format!("{} · {}  {}", it.product_name, it.plan_name, it.license.id);
    let screen = ctx.io.terminals.stdout;
    let status = status_cell(&it.license, ctx.now).shown(screen).to_owned();
    let expires = expiry(ctx, &it.license);
    let allowed = it.license.max_seats.map_or_else(|| "no limit".to_owned(), |n| n.to_string());
    let own = if it.activation.is_some() { "holds one" } else { "holds none" };
    let seats = format!("seats {}/{allowed}, the user {own}", it.seats_used);
    let indent = " ".repeat(LABEL_WIDTH + 7);
    [
        TextCell::text(format!("{}{number}  {what}", " ".repeat(LABEL_WIDTH + 4))),
        TextCell::text(format!("{indent}{status}{expires}, {seats}")),
        TextCell::text(format!("{indent}{}", it.sentence)).toned(tone),
    ]
}
