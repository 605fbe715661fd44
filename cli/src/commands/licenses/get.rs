//! `licctl licenses get`.

use clap::Args;
use common::{License, Usage};

use super::usage::{MAX_EMAILS, summary, table};
use super::{FIELDS, effective, given_or_chosen, status_cell, with_state};
use crate::commands::plans::joined;
use crate::completion;
use crate::context::Context;
use crate::error::Result;
use crate::output::View;
use crate::output::cell::TextCell;
use crate::resolve::{NameIndex, Purpose};

/// Show a license and its seats
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl licenses get
  licctl licenses get lic_01k2v4p8qsf8brz6c7y0sjvkd3
  licctl licenses get lic_01k2v4p8qsf8brz6c7y0sjvkd3 --jq .expiresAt")]
pub struct GetArgs {
    /// License id, or at least 6 characters from either end of it
    #[arg(add = completion::licenses())]
    license: Option<String>,
}

pub async fn run(ctx: &Context, args: GetArgs) -> Result<View> {
    let license = given_or_chosen(ctx, args.license.as_deref(), Purpose::Read).await?;
    let state = effective(&license, ctx.now);
    let license = with_state(license, state);
    let client = ctx.client().await?;
    let usage = client.licenses().usage(license.id, Some(MAX_EMAILS));
    let (usage, names) = tokio::try_join!(usage, NameIndex::load(ctx))?;
    let holders = table(ctx, &usage.activations).await?;
    let mut view = View::new(&license, vec![license.id.to_string()])?
        .fields(&FIELDS)
        .card(card(ctx, &license, &usage, &names));
    if !usage.activations.is_empty() {
        view = view.line(TextCell::text("")).table(holders);
    }
    let more = usage.total_activations - usage.activations.len() as i64;
    if more > 0 {
        let more = format!("and {more} more: licctl licenses usage {}", license.id);
        view = view.line(TextCell::text(more));
    }
    Ok(view.next(format!("licctl events list --subject {}", license.id)))
}

fn card(
    ctx: &Context,
    license: &License,
    usage: &Usage,
    names: &NameIndex,
) -> Vec<(&'static str, TextCell)> {
    let product = format!("{} ({})", names.product(license.product_id), license.product_id);
    let plan = format!("{} ({})", names.plan(license.plan_id), license.plan_id);
    vec![
        ("license", TextCell::of(license.id)),
        ("product", TextCell::text(product)),
        ("plan", TextCell::text(plan)),
        ("status", status_cell(license, ctx.now)),
        ("seats", TextCell::text(summary(usage))),
        ("expires", TextCell::time_or("never", license.expires_at, ctx.now)),
        ("features", TextCell::text(joined(&license.features))),
        ("created", TextCell::past(license.created_at, ctx.now)),
        ("updated", TextCell::past(license.updated_at, ctx.now)),
    ]
}
