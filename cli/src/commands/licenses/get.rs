//! `licctl licenses get`.

use clap::Args;
use common::{License, Usage};

use super::usage::{holders, summary, table};
use super::{PATH, choose, status_cell};
use crate::client::Answer;
use crate::commands::plans::joined;
use crate::context::Context;
use crate::error::Result;
use crate::output::View;
use crate::output::cell::Cell;
use crate::prompt;
use crate::resolve::{self, Names, Purpose};

/// Show a license and who sits on its seats
#[derive(Args)]
pub struct Get {
    /// Its id, or 6 or more characters from either end of it
    license: Option<String>,
}

pub async fn run(ctx: &Context, args: Get) -> Result<View> {
    prompt::require(ctx, &[("LICENSE", args.license.is_some())])?;
    let license = match &args.license {
        Some(given) => resolve::license(ctx, given, Purpose::Read).await?,
        None => choose(ctx).await?,
    };
    let client = ctx.client().await?;
    let path = format!("{PATH}/{}/usage", license.id);
    let (usage, names) = tokio::try_join!(client.get::<Answer<Usage>>(&path), Names::load(ctx))?;
    let users = holders(ctx, &usage.activations).await?;
    let mut view = View::new(&license, vec![license.id.to_string()])?
        .card(card(ctx, &license, &usage, &names));
    if !usage.activations.is_empty() {
        view = view.line(Cell::text("")).table(table(ctx, &usage.activations, &users));
    }
    Ok(view.next(format!("licctl licenses assign {} USER", license.id)))
}

fn card(
    ctx: &Context,
    license: &License,
    usage: &Usage,
    names: &Names,
) -> Vec<(&'static str, Cell)> {
    let product = format!("{} ({})", names.product(license.product_id), license.product_id);
    let plan = format!("{} ({})", names.plan(license.plan_id), license.plan_id);
    vec![
        ("license", Cell::of(license.id)),
        ("product", Cell::text(product)),
        ("plan", Cell::text(plan)),
        ("status", status_cell(license, ctx.now)),
        ("seats", Cell::text(summary(usage))),
        ("expires", Cell::time_or("never", license.expires_at, ctx.now)),
        ("features", Cell::text(joined(&license.features))),
        ("created", Cell::past(license.created_at, ctx.now)),
        ("updated", Cell::past(license.updated_at, ctx.now)),
    ]
}
