//! `licctl products`: list, show, create, update and delete products.

use common::{CreateProduct, Line, Name, Product, ProductField, UpdateProduct};

use crate::commands::prelude::*;
use crate::noun::{Card, Edit, ListFlags, SameNameFlags, cleared, is_empty};

impl Shown for ApiRecord<Product> {
    const CELLS: Cells<Self> = &[
        (Column::new("ID", 0), |it, _, _| TextCell::of(it.id)),
        (Column::flexible("NAME", 1), |it, _, _| TextCell::text(it.name.as_str())),
        (Column::flexible("DESCRIPTION", 3), |it, _, _| TextCell::maybe(it.description.as_ref())),
        (Column::new("CREATED", 2), |it, ctx, _| TextCell::past(it.created_at, ctx.now)),
        (Column::extra("UPDATED"), |it, ctx, _| TextCell::past(it.updated_at, ctx.now)),
    ];
    const FIELDS: &'static str = "id name description createdAt updatedAt";
    const CREATE: &'static str = "licctl products create --name NAME";

    fn card(&self, ctx: &Context, _: &NameIndex) -> Card {
        vec![
            ("product", TextCell::text(self.name.as_str())),
            ("id", TextCell::of(self.id)),
            ("description", TextCell::maybe(self.description.as_ref())),
            ("created", TextCell::past(self.created_at, ctx.now)),
            ("updated", TextCell::past(self.updated_at, ctx.now)),
        ]
    }
}

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
    #[command(flatten)]
    same_name: SameNameFlags,
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
        Verb::List(flags) => noun::list_all::<Product>(ctx, &flags).await,
        Verb::Get { product } => noun::get::<Product>(ctx, product.as_deref()).await,
        Verb::Create(args) => create(ctx, args).await,
        Verb::Update(args) => update(ctx, args).await,
        Verb::Delete { product } => noun::delete::<Product>(ctx, product.as_deref()).await,
    }
}

async fn create(ctx: &Context, args: CreateArgs) -> Result<View> {
    ctx.prompts.require(&[("--name", args.name.is_some())])?;
    let name = ctx.prompts.given_or_text(args.name, "Name of the product", "--name")?;
    let body = CreateProduct { name, description: args.description };
    if args.same_name.looks() {
        let known = noun::all::<Product>(ctx).await?;
        if let Some(view) = args.same_name.settle(ctx, &known, &body.name, &body).await? {
            return Ok(view);
        }
    }
    let made = ctx.client().await?.products().create(&body).await?;
    let say = |view: View, product: &ApiRecord<Product>| {
        let next = format!("licctl plans create --product {}", quote(product.name.as_str()));
        view.changed(format!("Created product {}.", product.name)).next(next)
    };
    noun::written(ctx, made, say).await
}

async fn update(ctx: &Context, args: UpdateArgs) -> Result<View> {
    let body = UpdateProduct {
        name: args.name,
        description: Edit::value(&args.description),
        clear: cleared([Edit::clears(&args.description, ProductField::Description)]),
    };
    if is_empty(&body) {
        return Err(Error::usage("Nothing to change.").fix("use --name or --description"));
    }
    let product = args.product.as_deref();
    let product = noun::given_or_chosen::<Product>(ctx, product, Purpose::Write).await?;
    if let Some(name) = body.name.as_ref().filter(|_| !args.allow_duplicate) {
        noun::refuse_taken_name(&noun::all::<Product>(ctx).await?, &Named::id(&product), name)?;
    }
    let products = ctx.client().await?.products();
    let updated = products.update(product.id, &body, ctx.seen(product.updated_at)).await?;
    noun::written(ctx, updated, |view, now| view.changed(format!("Updated product {}.", now.name)))
        .await
}
