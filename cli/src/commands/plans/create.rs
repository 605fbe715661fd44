//! `licctl plans create`.

use clap::Args;
use common::{CreatePlan, Feature, Line, MaxSeats, Name, Plan};

use super::{joined, show};
use crate::client::ApiRecord;
use crate::commands::{planned, products};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::quote;
use crate::noun::{self, NameIndex, Purpose};
use crate::output::{Days, View};

/// Create a plan
#[derive(Args)]
pub struct CreateArgs {
    /// Product of the plan, by name or id
    #[arg(long)]
    product: Option<String>,
    /// Name of the plan
    #[arg(long)]
    name: Option<Name>,
    /// Description of the plan, one line
    #[arg(long, value_name = "TEXT")]
    description: Option<Line>,
    /// Number of seats of a license [default: no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_seats: Option<MaxSeats>,
    /// How long a license is valid, such as 90d or 1y [default: no expiry]
    #[arg(long, value_name = "SPAN", alias = "expires-in-days", allow_negative_numbers = true)]
    expires_in: Option<Days>,
    /// Feature of the plan (repeatable, or comma-separated)
    #[arg(long = "feature", value_name = "FEATURE", value_delimiter = ',')]
    features: Vec<Feature>,
    /// If the product has a plan with this name, show it instead
    #[arg(long)]
    if_not_exists: bool,
    /// Create the plan even if the name is taken
    #[arg(long, conflicts_with = "if_not_exists")]
    allow_duplicate: bool,
}

pub async fn run(ctx: &Context, args: CreateArgs) -> Result<View> {
    let wanted = [("--product", args.product.is_some()), ("--name", args.name.is_some())];
    ctx.prompts.require(&wanted)?;
    let features = noun::features(&args.features)?;
    let product = match &args.product {
        Some(given) => noun::product(ctx, given, Purpose::Write).await?,
        None => products::choose(ctx, Some("--product")).await?,
    };
    let name = ctx.prompts.given_or_text(args.name, "Name of the plan", "--name")?;
    let body = CreatePlan {
        product_id: product.id,
        name,
        description: args.description,
        max_seats: args.max_seats,
        expires_in_days: args.expires_in.map(Days::get),
        features,
    };
    let names = NameIndex::of(std::slice::from_ref(&product), &[]);
    if !args.allow_duplicate {
        let known = noun::plans(ctx, Some(product.id)).await?;
        match known.into_iter().find(|plan| plan.name == body.name) {
            Some(known) if args.if_not_exists => return existing(&known, &body, &names),
            Some(known) => return Err(noun::name_taken(&known)),
            None => {}
        }
    }
    let Some(made) = ctx.client().await?.plans().create(&body).await? else {
        return planned();
    };
    let plan = made.data;
    let next = format!("licctl licenses create --plan {}", quote(plan.name.as_str()));
    let changed = format!("Created plan {} of {}.", plan.name, product.name);
    Ok(show(&plan, &names)?.changed(changed).next(next))
}

/// The output for `--if-not-exists`: the existing record, or an error when its settings differ.
fn existing(known: &ApiRecord<Plan>, wanted: &CreatePlan, names: &NameIndex) -> Result<View> {
    let differences = differences(known, wanted);
    if differences.is_empty() {
        return Ok(show(known, names)?.changed(format!("Plan {} already exists.", known.name)));
    }
    let message = format!("Plan {} exists with different settings.", known.name);
    Err(Error::new(Exit::Rejected, "differs", message)
        .because(differences.join("; "))
        .fix(format!("run licctl plans update {} with the same flags", known.id)))
}

/// The differences between a plan and the given flags; absent flags match anything.
fn differences(have: &Plan, want: &CreatePlan) -> Vec<String> {
    fn differ<T: PartialEq + ToString>(
        field: &str,
        have: Option<&T>,
        want: Option<&T>,
    ) -> Option<String> {
        let want = want.filter(|&want| Some(want) != have)?;
        let have = have.map_or_else(|| "none".to_owned(), T::to_string);
        Some(format!("{field}: {have} → {}", want.to_string()))
    }
    let features = want.features.as_ref().map(joined);
    [
        differ("description", have.description.as_ref(), want.description.as_ref()),
        differ("maxSeats", have.max_seats.as_ref(), want.max_seats.as_ref()),
        differ("expiresInDays", have.expires_in_days.as_ref(), want.expires_in_days.as_ref()),
        differ("features", Some(&joined(&have.features)), features.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
