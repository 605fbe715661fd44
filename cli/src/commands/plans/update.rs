//! `licctl plans update`.

use clap::Args;
use common::{Feature, Line, MaxSeats, Name, PlanField, UpdatePlan};

use super::{given_or_chosen, show};
use crate::commands::planned;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::noun::{self, Edit, NameIndex, Purpose, cleared, is_empty};
use crate::output::{Days, View};

/// Change a plan; existing licenses keep their terms
#[derive(Args)]
pub struct UpdateArgs {
    /// Plan id or name; Product/Plan if several products share the name
    plan: Option<String>,
    /// Product of the plan, by name or id
    #[arg(long)]
    product: Option<String>,
    /// New name
    #[arg(long)]
    name: Option<Name>,
    /// New description, or none
    #[arg(long, value_name = "TEXT or none")]
    description: Option<Edit<Line>>,
    /// New number of seats, or none for no limit
    #[arg(long, value_name = "N or none", allow_negative_numbers = true)]
    max_seats: Option<Edit<MaxSeats>>,
    /// How long new licenses are valid, such as 90d or 1y, or never for no expiry
    #[arg(long, value_name = "SPAN or never", alias = "expires-in-days")]
    #[arg(allow_negative_numbers = true)]
    expires_in: Option<Edit<Days>>,
    /// New features (repeatable, or comma-separated), or none
    #[arg(long = "feature", value_name = "FEATURE", value_delimiter = ',')]
    features: Vec<Feature>,
    /// Change the name even if it is taken
    #[arg(long, requires = "name")]
    allow_duplicate: bool,
}

pub async fn run(ctx: &Context, args: UpdateArgs) -> Result<View> {
    let clear = cleared([
        Edit::clears(&args.description, PlanField::Description),
        Edit::clears(&args.max_seats, PlanField::MaxSeats),
        Edit::clears(&args.expires_in, PlanField::ExpiresInDays),
    ]);
    let body = UpdatePlan {
        name: args.name,
        description: Edit::value(&args.description),
        max_seats: Edit::value(&args.max_seats),
        expires_in_days: Edit::value(&args.expires_in).map(Days::get),
        features: noun::changed_features(&args.features)?,
        clear,
    };
    if is_empty(&body) {
        return Err(Error::usage("Nothing to change.").fix("see licctl plans update --help"));
    }
    let (plan, product) = (args.plan.as_deref(), args.product.as_deref());
    let plan = given_or_chosen(ctx, plan, product, Purpose::Write).await?;
    if let Some(name) = body.name.as_ref().filter(|_| !args.allow_duplicate) {
        let all = noun::plans(ctx, Some(plan.product_id)).await?;
        noun::refuse_taken_name(&all, &plan.id.to_string(), name)?;
    }
    let plans = ctx.client().await?.plans();
    let updated = plans.update(plan.id, &body, ctx.seen(plan.updated_at)).await?;
    let Some(now) = updated else { return planned() };
    let names = NameIndex::for_display(ctx).await;
    let changed = format!("Updated plan {}. Existing licenses keep their terms.", now.data.name);
    Ok(show(&now.data, &names)?.changed(changed))
}
