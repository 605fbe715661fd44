//! `licctl licenses delete`.

use common::{KeyState, LicenseId};
use futures_util::TryStreamExt;

use super::{FIELDS, LicensesArg, with_state};
use crate::bulk::for_each_item;
use crate::commands::nothing_to_do;
use crate::commands::prelude::*;

/// Delete licenses that were never assigned
///
/// For licenses created by mistake. Any other license stays, with its history: revoke it. A license
/// stays as well while a user could claim it with one of its keys, which may be sold.
#[derive(Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    licenses: LicensesArg,
    /// Revoke the keys with which a user could still claim the license
    #[arg(long)]
    revoke_keys: bool,
}

pub async fn run(ctx: &Context, args: DeleteArgs) -> Result<View> {
    let items = args.licenses.items(ctx).await?;
    let what = match &*items {
        [] => return nothing_to_do(ctx, FIELDS),
        [one] if args.revoke_keys => {
            let license = noun::license(ctx, one, Purpose::Write).await?.id;
            match claimable(ctx, license).await?.join(", ") {
                keys if keys.is_empty() => format!("license {one}"),
                keys => format!("license {one}, and revoke its keys that end with {keys}"),
            }
        }
        [one] => format!("license {one}"),
        many if args.revoke_keys => format!("{} licenses, and revoke their keys", many.len()),
        many => format!("{} licenses", many.len()),
    };
    ctx.confirm_loss(&format!("Delete {what}?")).await?;
    let client = ctx.client().await?;
    let deleted = for_each_item(ctx, &items, |item| async move {
        let license = noun::license(ctx, &item, Purpose::Write).await?;
        let gone = match args.revoke_keys {
            true => client.licenses().delete_with_keys(license.id).await,
            false => client.licenses().delete(license.id).await,
        };
        match gone {
            Err(error) if error.exit == Exit::Rejected && !args.revoke_keys => {
                let keys = claimable(ctx, license.id).await?;
                let fix = format!("licctl licenses delete {} --revoke-keys", license.id);
                Err(if keys.is_empty() { error } else { error.fix(fix) })
            }
            gone => Ok(gone?.map(|gone| with_state(ctx, gone.data, &license.terms))),
        }
    })
    .await?;
    let sentence = match &*deleted.done {
        [] => return Ok(View::planned()),
        [one] => format!("Deleted license {}.", one.id),
        many => format!("Deleted {} licenses.", many.len()),
    };
    let names = NameIndex::for_display(ctx).await;
    Ok(noun::several(ctx, &deleted.done, &names)?.changed(sentence).exit(deleted.exit))
}

/// The last characters of the keys with which a user could still claim a license.
async fn claimable(ctx: &Context, license: LicenseId) -> Result<Vec<String>> {
    let pages = ctx.client().await?.licenses().keys(license, None);
    let keys: Vec<Vec<_>> = pages.try_collect().await?;
    let valid = keys.into_iter().flatten().filter(|key| key.state(ctx.now) == KeyState::Valid);
    Ok(valid.map(|key| key.display_name()).collect())
}
