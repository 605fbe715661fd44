//! `licctl plans`: the verbs and the tables that they share. Creating and updating have files of
//! their own.

mod create;
mod update;

use clap::Subcommand;
use common::{ExpiresInDays, Feature, Features, MaxSeats, Plan, ProductId};

use crate::client::{ApiRecord, Query};
use crate::commands::planned;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::escape::quote;
use crate::noun::{self, ListFlags, ListSpec, NameIndex, PlanOfProduct, Purpose};
use crate::output::{Column, Table, TextCell, View};

pub const COLUMNS: [Column; 7] = [
    Column::new("ID", 0),
    Column::flexible("NAME", 1),
    Column::flexible("PRODUCT", 3),
    Column::new("SEATS", 2),
    Column::new("VALID FOR", 4),
    Column::flexible("FEATURES", 5),
    Column::extra("DESCRIPTION"),
];
const FIELDS: &str = "id productId name description maxSeats expiresInDays features createdAt \
    updatedAt";
const SPEC: ListSpec<ApiRecord<Plan>> =
    ListSpec { fields: &[FIELDS], id: |plan| plan.id.to_string(), remember: noun::remember };

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
    Create(create::CreateArgs),
    Update(update::UpdateArgs),
    /// Delete a plan without licenses
    Delete {
        /// Plan id or name; Product/Plan if several products share the name
        plan: Option<String>,
        /// Product of the plan, by name or id
        #[arg(long)]
        product: Option<String>,
    },
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List { product, flags } => list(ctx, product, &flags).await,
        Verb::Get { plan, product } => {
            let (plan, product) = (plan.as_deref(), product.as_deref());
            let plan = given_or_chosen(ctx, plan, product, Purpose::Read).await?;
            let names = NameIndex::for_display(ctx).await;
            let view = View::new(&plan, vec![plan.id.to_string()])?.fields(&[FIELDS]);
            Ok(view.card(card(ctx, &plan, &names)))
        }
        Verb::Create(args) => create::run(ctx, args).await,
        Verb::Update(args) => update::run(ctx, args).await,
        Verb::Delete { plan, product } => delete(ctx, plan.as_deref(), product.as_deref()).await,
    }
}

/// The plan that an argument names, or one from a prompt.
async fn given_or_chosen(
    ctx: &Context,
    given: Option<&str>,
    product: Option<&str>,
    purpose: Purpose,
) -> Result<ApiRecord<Plan>> {
    ctx.prompts.require(&[("PLAN", given.is_some())])?;
    match given {
        Some(given) => noun::plan(ctx, given, product, purpose).await,
        None => choose(ctx, product, None).await,
    }
}

/// Prompts for a plan, of the product if one is given.
pub async fn choose(
    ctx: &Context,
    product: Option<&str>,
    flag: Option<&str>,
) -> Result<ApiRecord<Plan>> {
    let plans = noun::plans_by_product(ctx, product, Purpose::Write).await?;
    if plans.is_empty() {
        return Err(Error::not_found("No plans yet.").fix("licctl plans create"));
    }
    let labels: Vec<_> = plans.iter().map(PlanOfProduct::title).collect();
    let chosen = &plans[ctx.prompts.choose("Plan", &labels)?].plan;
    let same_name = plans.iter().filter(|it| it.plan.name == chosen.name).count();
    let word = if same_name == 1 { chosen.name.to_string() } else { chosen.id.to_string() };
    ctx.prompts.record(flag, &word);
    Ok(chosen.clone())
}

async fn list(ctx: &Context, product: Option<String>, flags: &ListFlags) -> Result<View> {
    let of = match &product {
        Some(given) => Some(noun::product(ctx, given, Purpose::Read).await?.id),
        None => None,
    };
    let filter = Query::default().with("productId", of);
    let pages = ctx.client().await?.plans().pages(filter, flags.limit());
    let plans = noun::print_or_collect(ctx, &SPEC, flags, of.is_none(), pages).await?;
    let Some(plans) = plans else { return Ok(View::printed()) };
    let products = noun::products(ctx).await?;
    let ids = plans.iter().map(|plan| plan.id.to_string()).collect();
    let view = View::new(&plans, ids)?.table(table(&plans, &NameIndex::of(&products, &[])));
    let hint = match product {
        Some(product) => format!(
            "This product has no plans yet. Create one: \
             licctl plans create --product {} --name NAME",
            quote(&product)
        ),
        None => "No plans yet. Create one: licctl plans create".to_owned(),
    };
    Ok(view.or_when_empty(hint))
}

async fn delete(ctx: &Context, given: Option<&str>, product: Option<&str>) -> Result<View> {
    let plan = given_or_chosen(ctx, given, product, Purpose::Write).await?;
    ctx.confirm_loss(&format!("Delete plan {}?", plan.name)).await?;
    match ctx.client().await?.plans().delete(plan.id).await? {
        Some(gone) => {
            let names = NameIndex::for_display(ctx).await;
            Ok(show(&gone.data, &names)?.changed(format!("Deleted plan {}.", plan.name)))
        }
        None => planned(),
    }
}

fn show(plan: &ApiRecord<Plan>, names: &NameIndex) -> Result<View> {
    let view = View::new(plan, vec![plan.id.to_string()])?.fields(&[FIELDS]);
    Ok(view.table(table(std::slice::from_ref(plan), names)))
}

fn table(plans: &[ApiRecord<Plan>], names: &NameIndex) -> Table {
    let row = |plan: &ApiRecord<Plan>| {
        vec![
            TextCell::of(plan.id),
            TextCell::text(plan.name.as_str()),
            TextCell::text(names.product(plan.product_id)),
            TextCell::text(seats(plan.max_seats)),
            valid_for(plan.expires_in_days),
            TextCell::text(joined(&plan.features)),
            TextCell::maybe(plan.description.as_ref()),
        ]
    };
    Table::new(&COLUMNS).with(plans.iter().map(row))
}

fn card(ctx: &Context, plan: &Plan, names: &NameIndex) -> Vec<(&'static str, TextCell)> {
    vec![
        ("plan", TextCell::text(plan.name.as_str())),
        ("id", TextCell::of(plan.id)),
        ("product", TextCell::text(product(plan.product_id, names))),
        ("description", TextCell::maybe(plan.description.as_ref())),
        ("seats", TextCell::text(seats(plan.max_seats))),
        ("valid for", valid_for(plan.expires_in_days)),
        ("features", TextCell::text(joined(&plan.features))),
        ("created", TextCell::past(plan.created_at, ctx.now)),
        ("updated", TextCell::past(plan.updated_at, ctx.now)),
    ]
}

fn product(id: ProductId, names: &NameIndex) -> String {
    format!("{} ({id})", names.product(id))
}

/// How many seats a license has, in words.
pub fn seats(max: Option<MaxSeats>) -> String {
    max.map_or_else(|| "no limit".to_owned(), |max| max.to_string())
}

fn valid_for(days: Option<ExpiresInDays>) -> TextCell {
    match days {
        Some(days) if days.get() == 1 => TextCell::text("1 day"),
        Some(days) => TextCell::text(format!("{days} days")),
        None => TextCell::text("no expiry"),
    }
}

/// Features as flags take them.
pub fn joined(features: &Features) -> String {
    features.iter().map(Feature::as_str).collect::<Vec<_>>().join(",")
}
