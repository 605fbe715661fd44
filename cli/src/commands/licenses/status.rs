//! `licctl licenses suspend`, `activate`, `revoke` and `expire`.

use std::collections::HashSet;

use clap::Args;
use common::{SetStatus, Status};

use super::{BeforeAndAfter, FIELDS, choose, past, status_cell, with_state};
use crate::bulk::{for_each_item, read_items};
use crate::client::Query;
use crate::commands::{nothing_to_do, planned};
use crate::context::{Context, MAX_UNCONFIRMED};
use crate::error::Result;
use crate::noun::{self, Purpose};
use crate::output::{Column, Table, TextCell, View};

const COLUMNS: [Column; 3] = [Column::new("ID", 0), Column::new("WAS", 0), Column::new("NOW", 0)];

#[derive(Args)]
pub struct LicenseArgs {
    /// License ids or names, or at least 6 characters from the end of an id; - reads stdin
    #[arg(value_name = "LICENSE")]
    licenses: Vec<String>,
}

pub async fn set(ctx: &Context, args: LicenseArgs, status: Status) -> Result<View> {
    ctx.prompts.require(&[("LICENSE", !args.licenses.is_empty())])?;
    let given = if args.licenses.is_empty() {
        vec![choose(ctx).await?.id.to_string()]
    } else {
        args.licenses
    };
    let items = read_items(ctx, &given).await?;
    if items.is_empty() {
        return nothing_to_do(ctx, &[FIELDS]);
    }
    ask_first(ctx, &items, status).await?;
    let client = ctx.client().await?;
    let body = SetStatus { status };
    let changed = for_each_item(ctx, &items, |item| {
        let body = &body;
        async move {
            let was = noun::license(ctx, &item, Purpose::Write).await?;
            let now = client.licenses().set_status(was.id, body, None).await?;
            Ok(now.map(|now| {
                let state = now.data.effective_status(ctx.now);
                BeforeAndAfter { was, now: with_state(now.data, &state) }
            }))
        }
    })
    .await?;
    if changed.done.is_empty() {
        return planned();
    }
    show(ctx, &changed.done, status).map(|view| view.exit(changed.exit))
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
        return ctx.confirm_many(items.len(), &question).await;
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
            (license.id.to_string(), i64::from(license.seats.used))
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

/// The seats in use on these licenses, read as one list.
async fn seats_in_use(ctx: &Context, items: &[String]) -> Result<i64> {
    let items: HashSet<&str> = items.iter().map(String::as_str).collect();
    let all = ctx.client().await?.licenses().list(Query::default()).await?;
    let these = all.iter().filter(|license| items.contains(license.id.to_string().as_str()));
    Ok(these.map(|license| i64::from(license.seats.used)).sum())
}

fn show(ctx: &Context, changed: &[BeforeAndAfter], status: Status) -> Result<View> {
    let row = |changed: &BeforeAndAfter| {
        vec![
            TextCell::of(changed.now.id),
            status_cell(&changed.was, ctx.now),
            status_cell(&changed.now, ctx.now),
        ]
    };
    let ids = changed.iter().map(|changed| changed.now.id.to_string()).collect();
    let view = View::new(changed, ids)?
        .fields(&[FIELDS])
        .table(Table::new(&COLUMNS).with(changed.iter().map(row)));
    let Some(BeforeAndAfter { now: first, .. }) = changed.first() else { return Ok(view) };
    let view = match changed {
        [_] => view.changed(format!("License {} is now {status}.", first.id)),
        _ => view.changed(format!("{} licenses are now {status}.", changed.len())),
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
