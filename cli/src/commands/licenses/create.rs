//! `licctl licenses create`.

use clap::Args;
use common::{AssignLicense, CreateLicense, ExpiresInDays, ExternalId, License, Plan};

use super::table;
use crate::client::ApiRecord;
use crate::commands::{planned, plans};
use crate::completion;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::View;
use crate::output::escape::quote;
use crate::prompt;
use crate::resolve::{self, NameIndex, Purpose};

/// Create licenses from a plan
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl licenses create --plan \"Pro annual\"
  licctl licenses create --plan \"Pro annual\" --assign alice --assign bob
  licctl licenses create --plan \"Pro annual\" --count 20 -q")]
pub struct CreateArgs {
    /// Plan of the license, by name or id
    #[arg(long, add = completion::plans())]
    plan: Option<String>,
    /// Days of validity, instead of the plan's
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    expires_in_days: Option<ExpiresInDays>,
    /// Assign the license to this user, by external id (repeatable)
    #[arg(long, value_name = "USER", conflicts_with = "count", add = completion::users())]
    assign: Vec<ExternalId>,
    /// Number of licenses to create
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: Option<u32>,
}

pub async fn run(ctx: &Context, args: CreateArgs) -> Result<View> {
    prompt::require(ctx, &[("--plan", args.plan.is_some())])?;
    let plan = match &args.plan {
        Some(given) => resolve::plan(ctx, given, Purpose::Write).await?,
        None => plans::choose(ctx, Some("--plan")).await?,
    };
    let count = args.count.unwrap_or(1);
    let question = format!("Create {count} licenses of plan {}?", plan.name);
    prompt::confirm_many(ctx, usize::try_from(count).unwrap_or(usize::MAX), &question).await?;
    let body = CreateLicense { plan_id: plan.id, expires_in_days: args.expires_in_days };
    let client = ctx.client().await?;
    let mut made: Vec<ApiRecord<License>> = Vec::new();
    for _ in 0..count {
        match client.licenses().create(&body).await {
            Ok(license) => made.extend(license.map(|written| written.data)),
            Err(error) => return Err(note_created(ctx, &made, error)),
        }
    }
    for user in &args.assign {
        // On a dry run there is no id yet to put into the path.
        let id = made.first().map_or_else(|| "NEW-LICENSE".to_owned(), |it| it.id.to_string());
        let body = AssignLicense { user_id: user.clone(), metadata: None };
        let assigned = client.licenses().assign(id, &body).await;
        assigned.map_err(|error| note_created(ctx, &made, error))?;
    }
    if made.is_empty() {
        return planned();
    }
    show(ctx, &args, &plan, &made).await
}

/// Prints the licenses that exist although a later step failed.
fn note_created(ctx: &Context, made: &[ApiRecord<License>], error: Error) -> Error {
    for license in made {
        ctx.note(&format!("license {} was created before this failed", license.id));
    }
    error
}

async fn show(
    ctx: &Context,
    args: &CreateArgs,
    plan: &Plan,
    made: &[ApiRecord<License>],
) -> Result<View> {
    let names = NameIndex::load(ctx).await?;
    let ids = made.iter().map(|license| license.id.to_string()).collect();
    let view = match (args.count, made) {
        (None, [one]) => View::new(one, ids)?,
        _ => View::new(made, ids)?,
    };
    let view = view.table(table(ctx, made, &names));
    let what = match made {
        [one] => format!("license {}", one.id),
        _ => format!("{} licenses", made.len()),
    };
    let users: Vec<&str> = args.assign.iter().map(ExternalId::as_str).collect();
    match (users.first(), made.first()) {
        (Some(first), _) => Ok(view
            .changed(format!("Created {what} of plan {} for {}.", plan.name, users.join(", ")))
            .next(format!("licctl validate {}", quote(first)))),
        (None, Some(license)) => Ok(view
            .changed(format!("Created {what} of plan {}.", plan.name))
            .next(format!("licctl licenses assign {} USER", license.id))),
        (None, None) => Ok(view),
    }
}
