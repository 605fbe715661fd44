//! `licctl licenses delete`.

use clap::Args;

use super::{FIELDS, choose, table, with_state};
use crate::bulk::{for_each_item, read_items};
use crate::commands::{nothing_to_do, planned};
use crate::context::Context;
use crate::error::Result;
use crate::noun::{self, NameIndex, Purpose};
use crate::output::View;

/// Delete licenses that were never assigned
///
/// For licenses created by mistake. Any other license stays, with its history: revoke it.
#[derive(Args)]
pub struct DeleteArgs {
    /// License ids or names, or at least 6 characters from the end of an id; - reads stdin
    #[arg(value_name = "LICENSE")]
    licenses: Vec<String>,
}

pub async fn run(ctx: &Context, args: DeleteArgs) -> Result<View> {
    ctx.prompts.require(&[("LICENSE", !args.licenses.is_empty())])?;
    let given = match args.licenses.is_empty() {
        true => vec![choose(ctx).await?.id.to_string()],
        false => args.licenses,
    };
    let items = read_items(ctx, &given).await?;
    let what = match &*items {
        [] => return nothing_to_do(ctx, &[FIELDS]),
        [one] => format!("license {one}"),
        many => format!("{} licenses", many.len()),
    };
    ctx.confirm_loss(&format!("Delete {what}?")).await?;
    let client = ctx.client().await?;
    let deleted = for_each_item(ctx, &items, |item| async move {
        let license = noun::license(ctx, &item, Purpose::Write).await?;
        let gone = client.licenses().delete(license.id).await?;
        Ok(gone.map(|gone| {
            let state = gone.data.effective_status(ctx.now);
            with_state(gone.data, &state)
        }))
    })
    .await?;
    if deleted.done.is_empty() {
        return planned();
    }
    let ids = deleted.done.iter().map(|license| license.id.to_string()).collect();
    let names = NameIndex::for_display(ctx).await;
    let view = View::new(&deleted.done, ids)?.fields(&[FIELDS]);
    let view = view.table(table(ctx, &deleted.done, &names)).exit(deleted.exit);
    Ok(view.changed(match &*deleted.done {
        [one] => format!("Deleted license {}.", one.id),
        many => format!("Deleted {} licenses.", many.len()),
    }))
}
