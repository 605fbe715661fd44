//! `licctl claim`: claims a license for a user, as the customer's application does with a key that
//! the user types.

use common::{Claim, ExternalId};

use super::licenses::keys;
use super::validate::answer::{self, ValidationResult};
use super::validate::optional_product_id;
use crate::bulk::NewUserFlags;
use crate::commands::prelude::*;

/// Claim a license with a license key, as your application does
///
/// The user is assigned the license and takes a seat. Unknown users are created.
#[derive(Args)]
pub struct ClaimArgs {
    /// External id of the user
    user: Option<ExternalId>,
    /// License key, in any spelling; - reads it from stdin. Without it, a prompt asks
    #[arg(value_name = "LICENSE_KEY")]
    license_key: Option<String>,
    /// Refuse a key for another product than this
    #[arg(long)]
    product: Option<String>,
    #[command(flatten)]
    new_users: NewUserFlags,
}

pub async fn run(ctx: &Context, args: ClaimArgs) -> Result<View> {
    let given = noun::given_user(ctx, args.user)?;
    let key = match args.license_key.as_deref() {
        None | Some("-") => keys::read(ctx, "License key").await?,
        Some(given) => keys::parse(given)?,
    };
    let product_id = optional_product_id(ctx, args.product.as_deref()).await?;
    let user = user(ctx, given, args.new_users).await?;
    let body = Claim { user_id: user.clone(), key, product_id };
    let Some(claimed) = ctx.client().await?.claim(&body).await? else {
        return Ok(View::planned());
    };
    let result = ValidationResult::new(user, &claimed.data, &[])?;
    let exit = if result.is_expected(None) { Exit::Success } else { Exit::Negative };
    Ok(answer::show(&[result])?.exit(exit))
}

/// Returns the user that a text means. Without a prompt, a new user is not mentioned, because a
/// refused claim does not create one.
async fn user(ctx: &Context, given: ExternalId, flags: NewUserFlags) -> Result<ExternalId> {
    if !ctx.prompts.can_ask() && !flags.existing_only {
        return Ok(given);
    }
    let settled = flags.settle(ctx, vec![given.to_string()]).await?;
    Ok(settled.first().and_then(|user| user.parse().ok()).unwrap_or(given))
}
