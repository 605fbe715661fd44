//! `licctl plans`: list, show, create, update and delete plans, and apply one to what was sold.

mod apply;

use common::{
    CreatePlan, ExpiresFrom, Feature, Features, Line, MaxSeats, Name, Plan, PlanField, Product,
    UpdatePlan,
};

use crate::commands::prelude::*;
use crate::noun::{
    Card, Edit, ListFlags, PlanOfProduct, SameNameFlags, TermFlags, days_in_words, grace_in_words,
    idle_in_words, is_empty, lease_in_words, plan_term_fields, term_rows,
};
use crate::output::Days;

impl Shown for ApiRecord<Plan> {
    const CELLS: Cells<Self> = &[
        (Column::new("ID", 0), |it, _, _| TextCell::of(it.id)),
        (Column::flexible("NAME", 1), |it, _, _| TextCell::text(it.name.as_str())),
        (Column::flexible("PRODUCT", 3), |it, _, names| {
            TextCell::text(names.product(it.product_id))
        }),
        (Column::new("SEATS", 2), |it, _, _| TextCell::text(seats(it.max_seats))),
        (Column::new("VALID FOR", 4), |it, _, _| valid_for(it)),
        (Column::flexible("FEATURES", 5), |it, _, _| TextCell::text(joined(&it.features))),
        (Column::sparse("SEAT IDLE"), |it, _, _| {
            TextCell::text(it.terms.seat_idle_minutes.map_or_else(String::new, idle_in_words))
        }),
        (Column::sparse("GRACE"), |it, _, _| {
            TextCell::text(it.terms.grace_days.map_or_else(String::new, grace_in_words))
        }),
        (Column::sparse("OFFLINE"), |it, _, _| {
            TextCell::text(it.terms.max_lease_seconds.map_or_else(String::new, lease_in_words))
        }),
        (Column::sparse("TRIAL"), |it, _, _| TextCell::text(if it.trial { "yes" } else { "" })),
        (Column::extra("DESCRIPTION"), |it, _, _| TextCell::maybe(it.description.as_ref())),
    ];
    const FIELDS: &'static str = concat!(
        "id productId name description maxSeats expiresInDays features createdAt updatedAt trial ",
        plan_term_fields!()
    );
    const HAS_NAMES: bool = true;

    fn card(&self, ctx: &Context, names: &NameIndex) -> Card {
        let product = format!("{} ({})", names.product(self.product_id), self.product_id);
        let mut card = vec![
            ("plan", TextCell::text(self.name.as_str())),
            ("id", TextCell::of(self.id)),
            ("product", TextCell::text(product)),
            ("description", TextCell::maybe(self.description.as_ref())),
            ("seats", TextCell::text(seats(self.max_seats))),
            ("valid for", valid_for(self)),
            ("features", TextCell::text(joined(&self.features))),
            ("created", TextCell::past(self.created_at, ctx.now)),
            ("updated", TextCell::past(self.updated_at, ctx.now)),
        ];
        card.splice(6..6, term_rows(&self.terms));
        card
    }
}

#[derive(Subcommand)]
pub enum Verb {
    /// List plans, oldest first
    #[command(visible_alias = "ls")]
    List {
        /// Only plans of this product
        #[arg(long)]
        product: Option<String>,
        #[command(flatten)]
        flags: ListFlags,
    },
    /// Show a plan
    #[command(visible_alias = "show")]
    Get {
        /// Plan id or name, or at least 6 characters from either end of the id; Product/Plan if
        /// several products share the name
        plan: Option<String>,
        /// Product of the plan, by name or id
        #[arg(long)]
        product: Option<String>,
    },
    #[command(visible_alias = "new")]
    Create(CreateArgs),
    Update(UpdateArgs),
    Apply(apply::ApplyArgs),
    /// Delete a plan without licenses
    Delete(PlanArgs),
}

/// The plan that a command changes.
#[derive(Args)]
pub struct PlanArgs {
    /// Plan id or name; Product/Plan if several products share the name
    plan: Option<String>,
    /// Product of the plan, by name or id
    #[arg(long)]
    product: Option<String>,
}

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
    /// Validity of a license, such as 90d or 1y [default: no expiry]
    #[arg(long, value_name = "SPAN", alias = "expires-in-days", allow_negative_numbers = true)]
    expires_in: Option<Days>,
    /// Feature of the plan (repeatable, or comma-separated)
    #[arg(long = "feature", value_name = "FEATURE", value_delimiter = ',')]
    features: Vec<Feature>,
    #[command(flatten)]
    terms: TermFlags,
    /// Whether the days count from the creation or the first validation [default: creation]
    #[arg(long, value_name = "creation or firstValidation")]
    expires_from: Option<ExpiresFrom>,
    /// The licenses are trials, which numbers of sales leave out
    #[arg(long)]
    trial: bool,
    #[command(flatten)]
    same_name: SameNameFlags,
}

/// Change a plan; existing licenses keep their terms
#[derive(Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// New name
    #[arg(long)]
    name: Option<Name>,
    /// New description, or none
    #[arg(long, value_name = "TEXT or none")]
    description: Option<Edit<Line>>,
    /// New number of seats, or none for no limit
    #[arg(long, value_name = "N or none", allow_negative_numbers = true)]
    max_seats: Option<Edit<MaxSeats>>,
    /// Validity of new licenses, such as 90d or 1y, or never for no expiry
    #[arg(long, value_name = "SPAN or never", alias = "expires-in-days")]
    #[arg(allow_negative_numbers = true)]
    expires_in: Option<Edit<Days>>,
    /// New features (repeatable, or comma-separated), or none
    #[arg(long = "feature", value_name = "FEATURE", value_delimiter = ',')]
    features: Vec<Feature>,
    #[command(flatten)]
    terms: TermFlags,
    /// Whether the days of new licenses count from the creation or the first validation
    #[arg(long, value_name = "creation or firstValidation")]
    expires_from: Option<ExpiresFrom>,
    /// Whether the licenses are trials, which numbers of sales leave out
    #[arg(long, value_name = "true or false", num_args = 0..=1, default_missing_value = "true")]
    trial: Option<bool>,
    /// Change the name even if it is taken
    #[arg(long, requires = "name")]
    allow_duplicate: bool,
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List { product, flags } => list(ctx, product, &flags).await,
        Verb::Get { plan, product } => {
            let plan = given_or_chosen(ctx, &PlanArgs { plan, product }, Purpose::Read).await?;
            noun::card(ctx, &plan).await
        }
        Verb::Create(args) => create(ctx, args).await,
        Verb::Update(args) => update(ctx, args).await,
        Verb::Apply(args) => apply::run(ctx, args).await,
        Verb::Delete(plan) => delete(ctx, &plan).await,
    }
}

/// The plan that arguments name, or one from a prompt.
async fn given_or_chosen(
    ctx: &Context,
    PlanArgs { plan, product }: &PlanArgs,
    purpose: Purpose,
) -> Result<ApiRecord<Plan>> {
    ctx.prompts.require(&[("PLAN", plan.is_some())])?;
    match plan {
        Some(given) => noun::plan(ctx, given, product.as_deref(), purpose).await,
        None => choose(ctx, product.as_deref(), None).await,
    }
}

/// Prompts for a plan, of the product if one is given.
pub async fn choose(
    ctx: &Context,
    product: Option<&str>,
    flag: Option<&str>,
) -> Result<ApiRecord<Plan>> {
    let plans = noun::plans_by_product(ctx, product, Purpose::Write).await?;
    let chosen = noun::choose(ctx, &plans, "licctl plans create", PlanOfProduct::title)?;
    noun::record_choice(ctx, flag, chosen, &plans);
    Ok(chosen.plan.clone())
}

async fn list(ctx: &Context, product: Option<String>, flags: &ListFlags) -> Result<View> {
    let of = match &product {
        Some(given) => Some(noun::named::<Product>(ctx, given, Purpose::Read).await?.id),
        None => None,
    };
    let filter = Query::default().with("productId", of);
    let pages = ctx.client().await?.plans().pages(filter, flags.limit());
    let hint = match product {
        Some(product) => format!(
            "This product has no plans yet. Create one: \
             licctl plans create --product {} --name NAME",
            quote(&product)
        ),
        None => "No plans yet. Create one: licctl plans create".to_owned(),
    };
    noun::list(ctx, flags, of.is_none(), pages, hint).await
}

async fn create(ctx: &Context, args: CreateArgs) -> Result<View> {
    let wanted = [("--product", args.product.is_some()), ("--name", args.name.is_some())];
    ctx.prompts.require(&wanted)?;
    let features = noun::features(&args.features)?;
    let product = match &args.product {
        Some(given) => noun::named::<Product>(ctx, given, Purpose::Write).await?,
        None => noun::chosen::<Product>(ctx, Some("--product")).await?,
    };
    let name = ctx.prompts.given_or_text(args.name, "Name of the plan", "--name")?;
    let body = CreatePlan {
        description: args.description,
        max_seats: args.max_seats,
        expires_in_days: args.expires_in.map(Days::get),
        features,
        expires_from: args.expires_from,
        trial: args.trial.then_some(true),
        ..CreatePlan::new(product.id, name).with_terms(args.terms.terms())
    };
    if args.same_name.looks() {
        let known = noun::plans(ctx, Some(product.id)).await?;
        if let Some(view) = args.same_name.settle(ctx, &known, &body.name, &body).await? {
            return Ok(view);
        }
    }
    let made = ctx.client().await?.plans().create(&body).await?;
    let say = |view: View, plan: &ApiRecord<Plan>| {
        let next = format!("licctl licenses create --plan {}", quote(plan.name.as_str()));
        view.changed(format!("Created plan {} of {}.", plan.name, product.name)).next(next)
    };
    noun::written(ctx, made, say).await
}

async fn update(ctx: &Context, args: UpdateArgs) -> Result<View> {
    let body = UpdatePlan {
        name: args.name,
        description: Edit::value(&args.description),
        max_seats: Edit::value(&args.max_seats),
        expires_in_days: Edit::value(&args.expires_in).map(Days::get),
        features: noun::changed_features(&args.features)?,
        expires_from: args.expires_from,
        trial: args.trial,
        clear: args.terms.cleared([
            Edit::clears(&args.description, PlanField::Description),
            Edit::clears(&args.max_seats, PlanField::MaxSeats),
            Edit::clears(&args.expires_in, PlanField::ExpiresInDays),
        ]),
        ..UpdatePlan::default().with_terms(args.terms.terms())
    };
    if is_empty(&body) {
        return Err(Error::usage("Nothing to change.").fix("see licctl plans update --help"));
    }
    let plan = given_or_chosen(ctx, &args.plan, Purpose::Write).await?;
    if let Some(name) = body.name.as_ref().filter(|_| !args.allow_duplicate) {
        let all = noun::plans(ctx, Some(plan.product_id)).await?;
        noun::refuse_taken_name(&all, &Named::id(&plan), name)?;
    }
    let plans = ctx.client().await?.plans();
    let updated = plans.update(plan.id, &body, ctx.seen(plan.updated_at)).await?;
    let say = |view: View, now: &ApiRecord<Plan>| {
        view.changed(format!("Updated plan {}. Existing licenses keep their terms.", now.name))
            .next(format!("licctl plans apply {} --dry-run", quote(now.name.as_str())))
    };
    noun::written(ctx, updated, say).await
}

async fn delete(ctx: &Context, given: &PlanArgs) -> Result<View> {
    let plan = given_or_chosen(ctx, given, Purpose::Write).await?;
    ctx.confirm_loss(&format!("Delete plan {}?", plan.name)).await?;
    let gone = ctx.client().await?.plans().delete(plan.id).await?;
    noun::written(ctx, gone, |view, it| view.changed(format!("Deleted plan {}.", it.name))).await
}

/// Returns the number of seats of a license in words.
pub fn seats(max: Option<MaxSeats>) -> String {
    max.map_or_else(|| "no limit".to_owned(), |max| max.to_string())
}

fn valid_for(plan: &Plan) -> TextCell {
    let starts_later = plan.expires_from == Some(ExpiresFrom::FirstValidation);
    let from = if starts_later { " from the first use" } else { "" };
    match plan.expires_in_days {
        Some(days) => TextCell::text(format!("{}{from}", days_in_words(days.get()))),
        None => TextCell::text("no expiry"),
    }
}

/// Features as flags take them.
pub fn joined(features: &Features) -> String {
    features.iter().map(Feature::as_str).collect::<Vec<_>>().join(",")
}
