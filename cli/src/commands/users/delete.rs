//! `licctl users delete`.

use common::{Explain, ExternalId};

use crate::commands::prelude::*;
use crate::noun::LeaseFlags;

/// Delete a user and free their seats
///
/// The user loses all licenses. A later validation creates the user again, without licenses.
#[derive(Args)]
pub struct DeleteArgs {
    /// External id of the user, or licd's own id (usr_…)
    user: Option<ExternalId>,
    #[command(flatten)]
    leases: LeaseFlags,
}

pub async fn run(ctx: &Context, args: DeleteArgs) -> Result<View> {
    let user = noun::user(ctx, noun::given_user(ctx, args.user)?.as_str()).await?;
    let client = ctx.client().await?;
    let question = Explain { user_id: user.external_id.clone(), product_id: None };
    let held = client.explain(&question).await?;
    let seats = held.licenses.iter().filter(|it| it.activation.is_some()).count();
    let user_id = &user.external_id;
    let held = format!("({}, {})", count(held.licenses.len(), "license"), count(seats, "seat"));
    ctx.confirm_loss(&format!("Delete user {user_id}? {held}")).await?;
    let deleted = client.users().on_lease(args.leases.get()).delete(user.id).await?;
    let sentence = format!("Deleted user {user_id} {held}.");
    noun::written(ctx, deleted, |view, _| view.changed(sentence)).await
}

fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}
