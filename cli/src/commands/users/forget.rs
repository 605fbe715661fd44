//! `licctl users forget`.

use common::{ExternalId, ForgetUser, ForgottenUser, LicenseId, RemainingData};

use crate::commands::prelude::*;

const COLUMNS: [Column; 4] = [
    Column::new("REMAINING", 0),
    Column::sparse("LICENSE"),
    Column::new("UNTIL", 1),
    Column::flexible("DESCRIPTION", 2),
];

/// Remove the personal data of a user, who keeps licenses and seats
///
/// Removes name, email and metadata from the user, from the user's assignments and from all events,
/// and lists the data that remains. The user may have been deleted. licctl users export shows the
/// data before.
#[derive(Args)]
pub struct ForgetArgs {
    /// External id of the user, or licd's own id (usr_…)
    user: Option<ExternalId>,
    /// Also replace the present and former external ids by forgotten-…; the application must then
    /// send the new one
    #[arg(long)]
    external_id: bool,
}

pub async fn run(ctx: &Context, args: ForgetArgs) -> Result<View> {
    let given = noun::given_user(ctx, args.user)?;
    let (id, user) = match noun::present_user(ctx, given.as_str()).await? {
        Some(user) => (user.id.to_string(), format!("user {}", user.external_id)),
        None => (given.to_string(), format!("deleted user {given}")),
    };
    let what = match args.external_id {
        true => "name, email, metadata and external ids",
        false => "name, email and metadata",
    };
    ctx.confirm_loss(&format!("Remove {what} of {user}, also from all events?")).await?;
    let body = ForgetUser { external_id: args.external_id.then_some(true) };
    let forgotten = match ctx.client().await?.users().forget(&id, &body).await {
        Err(error) if error.exit == Exit::NotFound => {
            return Err(noun::no_user(ctx, given.as_str()).await?);
        }
        forgotten => forgotten?,
    };
    let Some(forgotten) = forgotten else { return Ok(View::planned()) };
    let forgotten = forgotten.data;
    let view = View::new(&forgotten, vec![forgotten.external_id.to_string()])?;
    Ok(view.table(remaining(ctx, &forgotten)).changed(format!(
        "Removed {what} of {user}, also from {} events. The user is now {}.",
        forgotten.changed_events, forgotten.external_id
    )))
}

fn remaining(ctx: &Context, forgotten: &ForgottenUser) -> Table {
    let row = |it: &RemainingData| {
        vec![
            TextCell::of(&it.kind),
            TextCell::text(it.license_id.as_ref().map_or_else(String::new, LicenseId::to_string)),
            TextCell::time_or("removed by you", it.until, ctx.now),
            TextCell::text(&it.description),
        ]
    };
    Table::new(&COLUMNS).with(forgotten.remaining.iter().map(row))
}
