//! `licctl licenses suspend`, `activate`, `revoke` and `expire`.

use std::collections::HashSet;

use common::{SetStatus, Status};

use super::{BeforeAndAfter, FIELDS, LicensesArg, changes, past, status_cell};
use crate::bulk::{ItemResults, for_each_item};
use crate::client::LicenseWithSeats;
use crate::commands::nothing_to_do;
use crate::commands::prelude::*;
use crate::context::MAX_UNCONFIRMED;

pub async fn set(ctx: &Context, args: LicensesArg, status: Status) -> Result<View> {
    let items = args.items(ctx).await?;
    if items.is_empty() {
        return nothing_to_do(ctx, FIELDS);
    }
    ask_first(ctx, &items, status).await?;
    let client = ctx.client().await?;
    let body = SetStatus { status };
    let changed = for_each_item(ctx, &items, |item| {
        let body = &body;
        async move {
            let was = noun::license(ctx, &item, Purpose::Write).await?;
            let now = client.licenses().set_status(was.id, body, None).await?;
            Ok(now.map(|now| BeforeAndAfter::new(ctx, was, now.data)))
        }
    })
    .await?;
    if let (true, [one]) = (status != Status::Active, changed.done.as_slice()) {
        note_leases(ctx, &one.was).await?;
    }
    show(ctx, &changed, status)
}

/// Notes how long users stay licensed by leases, which a new status cannot end.
async fn note_leases(ctx: &Context, license: &LicenseWithSeats) -> Result<()> {
    if license.seats.used == 0 {
        return Ok(());
    }
    let usage = ctx.client().await?.licenses().usage(license.id, None).await?;
    let leases = usage.activations.iter().filter_map(|it| it.activation.lease_until(ctx.now));
    let (count, last) = leases.fold((0, None), |(n, last), until| (n + 1, last.max(Some(until))));
    if let Some(last) = last {
        let users =
            if count == 1 { "1 user stays".to_owned() } else { format!("{count} users stay") };
        ctx.note(&format!("{users} licensed offline, the last until {last}"));
    }
    Ok(())
}

/// Asks before licenses stop working: a person in live mode always, a script for revocations and
/// for many licenses.
async fn ask_first(ctx: &Context, items: &[String], status: Status) -> Result<()> {
    let verb = match status {
        Status::Active => "Activate",
        Status::Suspended => "Suspend",
        Status::Revoked => "Revoke",
        Status::Expired => "Expire",
    };
    let question = match items {
        [one] => format!("{verb} {one}?"),
        _ => format!("{verb} {} licenses?", items.len()),
    };
    if status == Status::Active {
        return match items {
            [one] => ask_about_return(ctx, one).await,
            _ => ctx.confirm_many(items.len(), &question).await,
        };
    }
    let is_many = items.len() > MAX_UNCONFIRMED;
    let asks = status == Status::Revoked || is_many || ctx.confirms_in_live_mode().await?;
    if !ctx.needs_confirmation() || !asks {
        return Ok(());
    }
    let (what, seats) = match items {
        // The error requires no request.
        _ if !ctx.prompts.can_ask() => return ctx.confirm(&question),
        [one] => {
            let license = noun::license(ctx, one, Purpose::Write).await?;
            let name = license.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
            (format!("{}{name}", license.id), i64::from(license.seats.used))
        }
        _ => (format!("{} licenses", items.len()), seats_in_use(ctx, items).await?),
    };
    let loss = match seats {
        0 => "No seats are in use.".to_owned(),
        1 => "1 user in a seat will lose access.".to_owned(),
        many => format!("{many} users in seats will lose access."),
    };
    ctx.confirm_loss(&format!("{verb} {what}? {loss}")).await
}

/// Asks a person before a revoked license is activated, because it was refunded or abused.
async fn ask_about_return(ctx: &Context, item: &str) -> Result<()> {
    if !(ctx.needs_confirmation() && ctx.prompts.can_ask()) {
        return Ok(());
    }
    let license = noun::license(ctx, item, Purpose::Write).await?;
    if license.status != Status::Revoked {
        return Ok(());
    }
    let (id, seats) = (license.id, license.seats.used);
    ctx.confirm_loss(&format!("License {id} was revoked, with {seats} seats in use. Activate it?"))
        .await
}

/// The seats in use on these licenses, read as one list.
async fn seats_in_use(ctx: &Context, items: &[String]) -> Result<i64> {
    let items: HashSet<&str> = items.iter().map(String::as_str).collect();
    let all = ctx.client().await?.licenses().list(Query::default()).await?;
    let these = all.iter().filter(|license| items.contains(license.id.to_string().as_str()));
    Ok(these.map(|license| i64::from(license.seats.used)).sum())
}

fn show(ctx: &Context, changed: &ItemResults<BeforeAndAfter>, status: Status) -> Result<View> {
    let Some(BeforeAndAfter { now: first, .. }) = changed.done.first() else {
        return Ok(View::planned());
    };
    let view = changes(ctx, changed, status_cell)?;
    let view = match changed.done.as_slice() {
        [_] => view.changed(format!("License {} is now {status}.", first.id)),
        many => view.changed(format!("{} licenses are now {status}.", many.len())),
    };
    // Activation does not change the date, so a license past its date stays unusable.
    if status == Status::Active && past(first, ctx.now).is_some() {
        return Ok(view.next(format!("licctl licenses renew {}", first.id)));
    }
    Ok(match status {
        Status::Suspended => view.next(format!("licctl licenses activate {}", first.id)),
        _ => view,
    })
}
