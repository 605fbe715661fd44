//! `licctl users export`.

use common::{Event, Explain, ExternalId, User, UserRefusal};
use serde_json::json;

use crate::commands::prelude::*;

/// Print all data about a user as JSON
///
/// Contains the user, the licenses with seats, the refusals of the last 30 days, and all events that
/// are kept. The user may have been deleted: then the events and refusals are printed.
#[derive(Args)]
pub struct ExportArgs {
    /// External id of the user, or licd's own id (usr_…)
    user: Option<ExternalId>,
}

pub async fn run(ctx: &Context, args: ExportArgs) -> Result<View> {
    let given = noun::given_user(ctx, args.user)?;
    let user = noun::present_user(ctx, given.as_str()).await?;
    let (id, external_id) = match &user {
        Some(user) => (user.id.to_string(), user.external_id.clone()),
        None => (given.to_string(), given.clone()),
    };
    let client = ctx.client().await?;
    let question = Explain { user_id: external_id.clone(), product_id: None };
    let (explained, events, refusals) = tokio::try_join!(
        client.explain(&question),
        client.of::<Event>().list(Query::of("userId", id)),
        client.of::<UserRefusal>().list(Query::of("userId", &external_id)),
    )?;
    if user.is_none() && events.is_empty() && refusals.is_empty() {
        return Err(noun::no_user(ctx, given.as_str()).await?);
    }
    let licenses = explained.member("licenses").cloned().unwrap_or_else(|| json!([]));
    let user: Option<&ApiRecord<User>> = user.as_ref();
    let all = json!({
        "user": user, "licenses": licenses, "refusals": refusals, "events": events,
    });
    Ok(View::new(all, vec![external_id.to_string()])?.json_only())
}
