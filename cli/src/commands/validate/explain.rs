//! `licctl validate --explain`: the ladder from the key to the answer, who sits on the seats when
//! they are the reason, and what to do about it.

use common::{
    CurrentKey, Explain, ExplainedLicense, Explanation, ExternalId, ProductId, Reason, Status,
    Usage, Verdict,
};

use super::{Expected, reason_word};
use crate::client::Answer;
use crate::commands::keys::{mode_word, role_word};
use crate::commands::licenses::{PATH, status_cell, usage};
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::View;
use crate::output::cell::{Cell, Tone};
use crate::output::escape::quote;
use crate::output::table::{Column, Table};
use crate::output::time::relative;

const COLUMNS: [Column; 7] = [
    Column::new("LICENSE", 0),
    Column::flexible("PRODUCT · PLAN", 3),
    Column::new("STATUS", 2),
    Column::new("EXPIRES", 5),
    Column::new("SEATS", 2),
    Column::new("HOLDS ONE", 4),
    Column::new("VERDICT", 1),
];

pub async fn run(
    ctx: &Context,
    user: ExternalId,
    product: Option<ProductId>,
    expected: Option<Expected>,
) -> Result<View> {
    let client = ctx.client().await?;
    let body = Explain { user_id: user.clone(), product_id: product };
    let (key, explained) = tokio::try_join!(
        client.get::<CurrentKey>("/api/v1/key"),
        client.ask::<Answer<Explanation>>("/api/v1/admin/explain", &body),
    )?;
    let holders = match crowded(&explained) {
        Some(license) => Some(seats_of(ctx, license).await?),
        None => None,
    };
    let mut view = View::new(&explained, vec![user.to_string()])?;
    for line in [key_line(&key), user_line(ctx, &user, &explained), licenses_line(&explained)] {
        view = view.line(line);
    }
    if !explained.licenses.is_empty() {
        view = view.table(table(ctx, &explained));
    }
    view = view.line(answer_line(&explained));
    if let Some((summary, holders)) = &holders {
        view = view.line(Cell::text("")).line(Cell::text(summary)).table(holders.1.clone());
    }
    let most_idle = holders.as_ref().and_then(|(_, (idle, _))| idle.as_deref());
    let todo = todo(&user, &explained, most_idle);
    if !todo.is_empty() {
        view = view.line(Cell::text("")).line(Cell::text("What to do:"));
    }
    for line in todo {
        view = view.line(Cell::text(format!("  {line}")));
    }
    let answer = explained.reason.map_or(Expected::Valid, Expected::from);
    let fits = answer == expected.unwrap_or(Expected::Valid);
    Ok(view.exit(if fits { Exit::Done } else { Exit::Negative }))
}

/// The license whose seats are the reason.
fn crowded(explained: &Explanation) -> Option<&ExplainedLicense> {
    let mut licenses = explained.licenses.iter();
    licenses.find(|license| license.verdict == Verdict::ExceededSeats)
}

/// Who sits on the seats of a license, least recently seen first, and the first of them.
async fn seats_of(
    ctx: &Context,
    license: &ExplainedLicense,
) -> Result<(String, (Option<String>, Table))> {
    let path = format!("{PATH}/{}/usage", license.license.id);
    let mut usage: Usage = ctx.client().await?.get(&path).await?;
    usage.activations.sort_by_key(|seat| seat.last_checked_at);
    let users = usage::holders(ctx, &usage.activations).await?;
    let idle = usage.activations.first().map(|seat| usage::caller_id(seat, &users));
    let summary = format!("{}, least recently seen first:", usage::summary(&usage));
    Ok((summary, (idle, usage::table(ctx, &usage.activations, &users))))
}

fn step(good: bool, label: &str, text: &str) -> Cell {
    let mark = if good { "ok" } else { "no" };
    let line = format!("{mark}  {label:<9} {text}");
    Cell::text(line).toned(if good { Tone::Good } else { Tone::Bad })
}

fn key_line(key: &CurrentKey) -> Cell {
    let (role, mode) = (role_word(key.role), mode_word(key.mode));
    let tenant = &key.tenant.name;
    step(true, "key", &format!("{}… works: {role}, {mode}, of {tenant}", key.prefix))
}

fn user_line(ctx: &Context, user: &ExternalId, explained: &Explanation) -> Cell {
    let Some(known) = &explained.user else {
        return step(false, "user", &format!("{user} is not known"));
    };
    let words = [known.name.as_ref(), known.email.as_ref()];
    let about: Vec<&str> = words.into_iter().flatten().map(common::Text::as_str).collect();
    let since = if ctx.io.terminals.stdout {
        relative(known.created_at, ctx.now)
    } else {
        known.created_at.to_string()
    };
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    step(true, "user", &format!("{user} is known{about}, first seen {since}"))
}

fn licenses_line(explained: &Explanation) -> Cell {
    match explained.licenses.len() {
        0 => step(false, "licenses", "none is assigned"),
        1 => step(true, "licenses", "1 is assigned"),
        many => step(true, "licenses", &format!("{many} are assigned, looked at in this order")),
    }
}

fn answer_line(explained: &Explanation) -> Cell {
    let word = explained.reason.map_or("VALID", reason_word);
    step(explained.valid, "answer", &format!("{word}: {}", explained.summary))
}

fn table(ctx: &Context, explained: &Explanation) -> Table {
    let row = |it: &ExplainedLicense| {
        let allowed = it.license.max_seats.map_or_else(|| "no limit".to_owned(), |n| n.to_string());
        let tone = match it.verdict {
            Verdict::Valid => Tone::Good,
            Verdict::NotReached | Verdict::OtherProduct => Tone::Warning,
            _ => Tone::Bad,
        };
        vec![
            Cell::of(it.license.id),
            Cell::text(format!("{} · {}", it.product_name, it.plan_name)),
            status_cell(&it.license, ctx.now),
            Cell::time_or("never", it.license.expires_at, ctx.now),
            Cell::text(format!("{}/{allowed}", it.seats_used)),
            Cell::text(if it.activation.is_some() { "yes" } else { "no" }),
            Cell::text(&it.sentence).toned(tone),
        ]
    };
    Table::new(&COLUMNS).with(explained.licenses.iter().map(row))
}

/// Ready commands that would make the answer a yes.
fn todo(user: &ExternalId, explained: &Explanation, most_idle: Option<&str>) -> Vec<String> {
    let user = quote(user.as_str());
    let with = |verdict| explained.licenses.iter().find(|license| license.verdict == verdict);
    match explained.reason {
        None => Vec::new(),
        Some(Reason::UserNotFound) => vec![
            "licctl users list --search TEXT              look for another spelling".to_owned(),
            format!("licctl licenses assign LICENSE {user}"),
        ],
        Some(Reason::NoLicense) => vec![
            format!("licctl licenses assign LICENSE {user}"),
            format!("licctl licenses create --plan PLAN --assign {user}"),
        ],
        Some(Reason::ExceededSeats) => with(Verdict::ExceededSeats).map_or_else(Vec::new, |it| {
            let id = it.license.id;
            let idle =
                most_idle.map(|idle| format!("licctl licenses unassign {id} {}", quote(idle)));
            let more = format!("licctl licenses update {id} --max-seats {}", it.seats_used + 1);
            idle.into_iter().chain([more]).collect()
        }),
        Some(Reason::Expired) => with(Verdict::Expired).map_or_else(Vec::new, renew),
        Some(Reason::Suspended) => activate(with(Verdict::Suspended)),
        Some(Reason::Revoked) => activate(with(Verdict::Revoked)),
    }
}

/// An expired license may have that status, a date in the past, or both.
fn renew(expired: &ExplainedLicense) -> Vec<String> {
    let id = expired.license.id;
    let status = (expired.license.status != Status::Active)
        .then(|| format!("licctl licenses activate {id}"));
    let date = expired
        .license
        .expires_at
        .map(|_| format!("licctl licenses update {id} --expires-at TIME   (a new date, or never)"));
    status.into_iter().chain(date).collect()
}

fn activate(license: Option<&ExplainedLicense>) -> Vec<String> {
    license.iter().map(|it| format!("licctl licenses activate {}", it.license.id)).collect()
}
