//! `licctl licenses suspend`, `activate`, `revoke` and `expire`.

use clap::Args;
use common::{License, LicenseId, LicenseWithSeats, SetStatus, Status};
use serde::Serialize;

use super::{choose, past, status_cell};
use crate::client::ApiRecord;
use crate::commands::items::{for_each_item, one_or_many, read_items};
use crate::commands::planned;
use crate::context::Context;
use crate::error::Result;
use crate::output::View;
use crate::output::cell::TextCell;
use crate::output::table::{Column, Table};
use crate::prompt;
use crate::resolve::{self, Purpose};

pub const EXAMPLES: &str = "\
Examples:
  licctl licenses suspend lic_01k2v4p8qsf8brz6c7y0sjvkd3
  licctl licenses list --plan \"Pro annual\" -q | licctl licenses suspend - --yes";

const COLUMNS: [Column; 3] = [Column::new("ID", 0), Column::new("WAS", 0), Column::new("NOW", 0)];

#[derive(Args)]
pub struct LicenseArgs {
    /// License ids, or at least 6 characters from the end of each; - reads a list from stdin
    #[arg(value_name = "LICENSE")]
    licenses: Vec<String>,
}

/// A license before and after; only the latter is the service's answer.
struct StatusChange {
    was: ApiRecord<LicenseWithSeats>,
    now: ApiRecord<License>,
}

impl Serialize for StatusChange {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        self.now.serialize(serializer)
    }
}

pub async fn set(ctx: &Context, args: LicenseArgs, status: Status) -> Result<View> {
    prompt::require(ctx, &[("LICENSE", !args.licenses.is_empty())])?;
    let given = if args.licenses.is_empty() {
        vec![choose(ctx).await?.id.to_string()]
    } else {
        args.licenses
    };
    let items = read_items(ctx, &given).await?;
    ask_first(ctx, &items, status).await?;
    let client = ctx.client().await?;
    let body = SetStatus { status };
    let changed = for_each_item(ctx, &items, |item| {
        let body = &body;
        async move {
            let was = resolve::license(ctx, &item, Purpose::Write).await?;
            let now = client.licenses().set_status(was.id, body).await?;
            Ok(now.map(|now| StatusChange { was, now: now.data }))
        }
    })
    .await?;
    if changed.done.is_empty() {
        return planned();
    }
    show(ctx, &given, &changed.done, status).map(|view| view.exit(changed.exit))
}

async fn ask_first(ctx: &Context, items: &[String], status: Status) -> Result<()> {
    let verb = match status {
        Status::Active => "Activate",
        Status::Suspended => "Suspend",
        Status::Revoked => "Revoke",
        Status::Expired => "Expire",
    };
    let question = format!("{verb} {} licenses?", items.len());
    match items {
        [one] if status == Status::Revoked && !ctx.globals.yes => {
            let id = match one.parse::<LicenseId>() {
                Ok(id) => id,
                Err(_) => resolve::license(ctx, one, Purpose::Write).await?.id,
            };
            prompt::confirm(ctx, &format!("{verb} {id}? Its users lose access."))
        }
        _ if status == Status::Revoked => prompt::confirm(ctx, &question),
        _ => prompt::confirm_many(ctx, items.len(), &question),
    }
}

fn show(ctx: &Context, given: &[String], changed: &[StatusChange], status: Status) -> Result<View> {
    let row = |changed: &StatusChange| {
        vec![
            TextCell::of(changed.now.id),
            status_cell(&changed.was, ctx.now),
            status_cell(&changed.now, ctx.now),
        ]
    };
    let ids = changed.iter().map(|changed| changed.now.id.to_string()).collect();
    let view = View::new(one_or_many(given, changed), ids)?
        .table(Table::new(&COLUMNS).with(changed.iter().map(row)));
    let Some(StatusChange { now: first, .. }) = changed.first() else { return Ok(view) };
    let view = match changed {
        [_] => view.changed(format!("License {} is {status}.", first.id)),
        _ => view.changed(format!("{} licenses are {status}.", changed.len())),
    };
    // Activating does not change the date, so an expired license stays unusable.
    if status == Status::Active && past(first, ctx.now).is_some() {
        return Ok(view.next(format!("licctl licenses update {} --expires-at TIME", first.id)));
    }
    Ok(view)
}
