//! `licctl licenses delete`.

use super::{FIELDS, LicensesArg, with_state};
use crate::bulk::for_each_item;
use crate::commands::nothing_to_do;
use crate::commands::prelude::*;

/// Delete licenses that were never assigned
///
/// For licenses created by mistake. Any other license stays, with its history: revoke it.
#[derive(Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    licenses: LicensesArg,
}

pub async fn run(ctx: &Context, args: DeleteArgs) -> Result<View> {
    let items = args.licenses.items(ctx).await?;
    let what = match &*items {
        [] => return nothing_to_do(ctx, FIELDS),
        [one] => format!("license {one}"),
        many => format!("{} licenses", many.len()),
    };
    ctx.confirm_loss(&format!("Delete {what}?")).await?;
    let client = ctx.client().await?;
    let deleted = for_each_item(ctx, &items, |item| async move {
        let license = noun::license(ctx, &item, Purpose::Write).await?;
        let gone = client.licenses().delete(license.id).await?;
        Ok(gone.map(|gone| with_state(ctx, gone.data)))
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
