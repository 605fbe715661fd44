//! `licctl products`: list, show, create and update products.

use clap::{Args, Subcommand};
use common::{CreateProduct, Line, Name, Product, ProductField, UpdateProduct};

use super::planned;
use crate::client::{ApiRecord, Query};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::quote;
use crate::noun::{self, Edit, ListFlags, ListSpec, Purpose, cleared};
use crate::output::{Column, Table, TextCell, View};

pub const COLUMNS: [Column; 5] = [
    Column::new("ID", 0),
    Column::flexible("NAME", 1),
    Column::flexible("DESCRIPTION", 3),
    Column::new("CREATED", 2),
    Column::extra("UPDATED"),
];
const FIELDS: &str = "id name description createdAt updatedAt";
const SPEC: ListSpec<ApiRecord<Product>> =
    ListSpec { fields: &[FIELDS], id: |product| product.id.to_string(), remember: noun::remember };

#[derive(Subcommand)]
pub enum Verb {
    /// List all products, oldest first
    #[command(visible_alias = "ls")]
    List(ListFlags),
    /// Show a product
    #[command(visible_alias = "show")]
    Get {
        /// Product id or name, or at least 6 characters from either end of the id
        product: Option<String>,
    },
    /// Create a product
    #[command(visible_alias = "new")]
    Create(CreateArgs),
    /// Change a product's name or description
    Update(UpdateArgs),
    /// Delete a product without plans
    Delete {
        /// Product id or name
        product: Option<String>,
    },
}

#[derive(Args)]
pub struct CreateArgs {
    /// Name of the product
    #[arg(long)]
    name: Option<Name>,
    /// Description of the product, one line
    #[arg(long, value_name = "TEXT")]
    description: Option<Line>,
    /// If a product with this name exists, show it instead
    #[arg(long)]
    if_not_exists: bool,
    /// Create the product even if the name is taken
    #[arg(long, conflicts_with = "if_not_exists")]
    allow_duplicate: bool,
}

#[derive(Args)]
pub struct UpdateArgs {
    /// Product id or name
    product: Option<String>,
    /// New name
    #[arg(long)]
    name: Option<Name>,
    /// New description, or none
    #[arg(long, value_name = "TEXT or none")]
    description: Option<Edit<Line>>,
    /// Change the name even if it is taken
    #[arg(long, requires = "name")]
    allow_duplicate: bool,
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(flags) => list(ctx, &flags).await,
        Verb::Get { product } => {
            let product = given_or_chosen(ctx, product.as_deref(), Purpose::Read).await?;
            View::new(&product, vec![product.id.to_string()])
                .map(|view| view.fields(&[FIELDS]).card(card(ctx, &product)))
        }
        Verb::Create(args) => create(ctx, args).await,
        Verb::Update(args) => update(ctx, args).await,
        Verb::Delete { product } => delete(ctx, product.as_deref()).await,
    }
}

/// The product that an argument names, or one from a prompt.
async fn given_or_chosen(
    ctx: &Context,
    given: Option<&str>,
    purpose: Purpose,
) -> Result<ApiRecord<Product>> {
    ctx.prompts.require(&[("PRODUCT", given.is_some())])?;
    match given {
        Some(given) => noun::product(ctx, given, purpose).await,
        None => choose(ctx, None).await,
    }
}

/// Prompts for a product.
pub async fn choose(ctx: &Context, flag: Option<&str>) -> Result<ApiRecord<Product>> {
    let products = noun::products(ctx).await?;
    if products.is_empty() {
        return Err(Error::not_found("No products yet.").fix("licctl products create --name NAME"));
    }
    let labels: Vec<_> = products.iter().map(|product| product.name.to_string()).collect();
    let chosen = &products[ctx.prompts.choose("Product", &labels)?];
    let same_name = products.iter().filter(|product| product.name == chosen.name).count();
    let word = if same_name == 1 { chosen.name.to_string() } else { chosen.id.to_string() };
    ctx.prompts.record(flag, &word);
    Ok(chosen.clone())
}

async fn list(ctx: &Context, flags: &ListFlags) -> Result<View> {
    let pages = ctx.client().await?.products().pages(Query::default(), flags.limit());
    let Some(products) = noun::print_or_collect(ctx, &SPEC, flags, true, pages).await? else {
        return Ok(View::printed());
    };
    let ids = products.iter().map(|product| product.id.to_string()).collect();
    let hint = "No products yet. Create one: licctl products create --name NAME";
    Ok(View::new(&products, ids)?.table(table(ctx, &products)).or_when_empty(hint))
}

async fn create(ctx: &Context, args: CreateArgs) -> Result<View> {
    ctx.prompts.require(&[("--name", args.name.is_some())])?;
    let name = ctx.prompts.given_or_text(args.name, "Name of the product", "--name")?;
    let body = CreateProduct { name, description: args.description };
    if !args.allow_duplicate {
        let known = noun::products(ctx).await?;
        match known.into_iter().find(|product| product.name == body.name) {
            Some(known) if args.if_not_exists => return existing(ctx, &known, &body),
            Some(known) => return Err(noun::name_taken(&known)),
            None => {}
        }
    }
    let Some(made) = ctx.client().await?.products().create(&body).await? else {
        return planned();
    };
    let next = format!("licctl plans create --product {}", quote(made.data.name.as_str()));
    let view = show(ctx, &made.data)?.changed(format!("Created product {}.", made.data.name));
    Ok(view.next(next))
}

/// The output for `--if-not-exists`: the existing record, or an error when its settings differ.
fn existing(ctx: &Context, known: &ApiRecord<Product>, wanted: &CreateProduct) -> Result<View> {
    if wanted.description.is_some() && wanted.description != known.description {
        let have = known.description.as_ref().map_or("none", Line::as_str);
        let want = wanted.description.as_ref().map_or("none", Line::as_str);
        let message = format!("Product {} exists with different settings.", known.name);
        return Err(Error::new(Exit::Rejected, "differs", message)
            .because(format!("description: {have} → {want}"))
            .fix(format!("licctl products update {} --description {}", known.id, quote(want))));
    }
    Ok(show(ctx, known)?.changed(format!("Product {} already exists.", known.name)))
}

async fn update(ctx: &Context, args: UpdateArgs) -> Result<View> {
    let body = UpdateProduct {
        name: args.name,
        description: Edit::value(&args.description),
        clear: cleared([Edit::clears(&args.description, ProductField::Description)]),
    };
    if body.name.is_none() && args.description.is_none() {
        return Err(Error::usage("Nothing to change.").fix("use --name or --description"));
    }
    let product = given_or_chosen(ctx, args.product.as_deref(), Purpose::Write).await?;
    if let Some(name) = body.name.as_ref().filter(|_| !args.allow_duplicate) {
        let all = noun::products(ctx).await?;
        noun::refuse_taken_name(&all, &product.id.to_string(), name)?;
    }
    let products = ctx.client().await?.products();
    match products.update(product.id, &body, ctx.seen(product.updated_at)).await? {
        Some(now) => {
            Ok(show(ctx, &now.data)?.changed(format!("Updated product {}.", now.data.name)))
        }
        None => planned(),
    }
}

async fn delete(ctx: &Context, given: Option<&str>) -> Result<View> {
    let product = given_or_chosen(ctx, given, Purpose::Write).await?;
    ctx.confirm_loss(&format!("Delete product {}?", product.name)).await?;
    match ctx.client().await?.products().delete(product.id).await? {
        Some(gone) => {
            Ok(show(ctx, &gone.data)?.changed(format!("Deleted product {}.", product.name)))
        }
        None => planned(),
    }
}

fn show(ctx: &Context, product: &ApiRecord<Product>) -> Result<View> {
    let view = View::new(product, vec![product.id.to_string()])?.fields(&[FIELDS]);
    Ok(view.table(table(ctx, std::slice::from_ref(product))))
}

fn table(ctx: &Context, products: &[ApiRecord<Product>]) -> Table {
    let row = |product: &ApiRecord<Product>| {
        vec![
            TextCell::of(product.id),
            TextCell::text(product.name.as_str()),
            TextCell::maybe(product.description.as_ref()),
            TextCell::past(product.created_at, ctx.now),
            TextCell::past(product.updated_at, ctx.now),
        ]
    };
    Table::new(&COLUMNS).with(products.iter().map(row))
}

fn card(ctx: &Context, product: &Product) -> Vec<(&'static str, TextCell)> {
    vec![
        ("product", TextCell::text(product.name.as_str())),
        ("id", TextCell::of(product.id)),
        ("description", TextCell::maybe(product.description.as_ref())),
        ("created", TextCell::past(product.created_at, ctx.now)),
        ("updated", TextCell::past(product.updated_at, ctx.now)),
    ]
}
