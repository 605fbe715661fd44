//! `licctl validate`: sends the validation that the customer's application sends; with `--explain`
//! it shows the same decision with its reasons, and changes nothing.

mod advice;
pub mod answer;
mod explain;
mod from_file;

use common::{ExternalId, Feature, Open, Product, ProductId, Verdict};

use super::nothing_to_do;
use crate::bulk::{NewUserFlags, for_each_item, read_items};
use crate::commands::prelude::*;
pub use answer::COLUMNS;
use answer::ValidationResult;

/// Validate users, as your application does
///
/// A successful validation takes a seat, and creates unknown users. On a terminal licctl asks
/// before it creates a user, unless --create-user is set. With --explain nothing changes, and each
/// license of the user is shown with its verdict.
#[derive(Args)]
pub struct ValidateArgs {
    /// External ids of the users; - reads a list from stdin
    #[arg(value_name = "USER")]
    users: Vec<String>,
    /// Consider only licenses of this product
    #[arg(long)]
    product: Option<String>,
    /// Explain each answer without changing anything; requires a read or admin key
    #[arg(long)]
    explain: bool,
    /// Require this feature (repeatable, or comma-separated); the answer for a license without it
    /// is missing_feature
    #[arg(long = "feature", value_name = "FEATURE", value_delimiter = ',')]
    features: Vec<Feature>,
    /// Exit with 0 if this is the answer, and with 10 otherwise
    #[arg(long, value_name = "ANSWER", value_parser = answer::expected())]
    expect: Option<String>,
    #[command(flatten)]
    new_users: NewUserFlags,
    #[command(flatten)]
    rows: from_file::FromFile,
}

pub async fn run(ctx: &Context, args: ValidateArgs) -> Result<View> {
    if let Some(file) = &args.rows.from {
        let product = optional_product_id(ctx, args.product.as_deref()).await?;
        let wanted = (args.features.as_slice(), args.expect.as_deref());
        let rows = (&args.rows, args.new_users);
        return from_file::run(ctx, rows, file, product, wanted).await;
    }
    args.rows.bulk.refuse_without_file()?;
    ctx.prompts.require(&[("USER", !args.users.is_empty())])?;
    let given = if args.users.is_empty() {
        vec![ctx.prompts.text::<ExternalId>("User (external id)", None)?.to_string()]
    } else {
        args.users.clone()
    };
    let users = read_items(ctx, &given).await?;
    if users.is_empty() {
        return nothing_to_do(ctx, answer::FIELDS);
    }
    let product = optional_product_id(ctx, args.product.as_deref()).await?;
    if args.explain {
        let (expected, features) = (args.expect.as_deref(), args.features.as_slice());
        let question = explain::Question { product, expected, features };
        return explain::run(ctx, &users, &question).await;
    }
    ctx.confirm_many(users.len(), &format!("Validate {} users?", users.len())).await?;
    let users = args.new_users.settle(ctx, users).await?;
    let client = ctx.client().await?;
    let asked = for_each_item(ctx, &users, |user| {
        let features = &args.features;
        async move {
            let user = noun::external_id(&user)?;
            let body = common::Validate { user_id: user.clone(), product_id: product };
            let written = client.validate(&body).await?;
            written.map(|it| ValidationResult::new(user, &it.data, features)).transpose()
        }
    })
    .await?;
    if asked.done.is_empty() {
        return Ok(View::planned());
    }
    answer::note_missing(ctx, &asked.done);
    let fits = asked.done.iter().all(|it| it.is_expected(args.expect.as_deref()));
    let view = answer::show(&asked.done)?;
    Ok(match (asked.exit, fits) {
        (Exit::Success, false) => view.exit(Exit::Negative),
        (exit, _) => view.exit(exit),
    })
}

/// The id of a given product. An id is not looked up, because a key of role validate could not.
pub async fn product_id(ctx: &Context, given: &str) -> Result<ProductId> {
    match given.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(noun::named::<Product>(ctx, given, Purpose::Write).await?.id),
    }
}

/// Returns the id of a product, or `None` if no product is given.
pub async fn optional_product_id(ctx: &Context, given: Option<&str>) -> Result<Option<ProductId>> {
    let Some(given) = given else { return Ok(None) };
    product_id(ctx, given).await.map(Some)
}

/// The colour of a verdict.
pub fn verdict_tone(verdict: &Open<Verdict>) -> Tone {
    match verdict {
        Open::Known(Verdict::Valid) => Tone::Good,
        Open::Known(Verdict::NotReached | Verdict::OtherProduct) => Tone::Warning,
        _ => Tone::Bad,
    }
}
