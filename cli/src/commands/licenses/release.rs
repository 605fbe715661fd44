//! `licctl licenses release`.

use common::{ExternalId, ReleaseSeat, Released};
use serde::Serialize;

use super::LicenseArg;
use super::assign::{license_and_users, not_on_it};
use crate::bulk::{for_each_item, read_items};
use crate::commands::nothing_to_do;
use crate::commands::prelude::*;
use crate::context::MAX_UNCONFIRMED;
use crate::noun::LeaseFlags;

const COLUMNS: [Column; 2] = [Column::new("USER", 0), Column::new("SEAT", 0)];
const FIELDS: &str = "externalId released";

/// Free the seats of users, who stay assigned to the license
///
/// The next user who validates gets the seat, which may be the same user again. To remove the license
/// from the user permanently, unassign it.
#[derive(Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    license: LicenseArg,
    /// External ids of the users; - reads a list from stdin
    #[arg(value_name = "USER")]
    users: Vec<String>,
    #[command(flatten)]
    leases: LeaseFlags,
}

/// Result for a user.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfUser {
    external_id: ExternalId,
    #[serde(flatten)]
    answer: ApiRecord<Released>,
}

impl OfUser {
    fn is_freed(&self) -> bool {
        !self.answer.released.is_empty()
    }
}

pub async fn run(ctx: &Context, args: ReleaseArgs) -> Result<View> {
    let (found, given) = license_and_users(ctx, &args.license, args.users).await?;
    let license = found.id;
    let users = read_items(ctx, &given).await?;
    if users.is_empty() {
        return nothing_to_do(ctx, FIELDS);
    }
    if users.len() > MAX_UNCONFIRMED || ctx.confirms_in_live_mode().await? {
        let count = users.len();
        let whose = if count == 1 { users[0].clone() } else { format!("{count} users") };
        ctx.confirm_loss(&format!("Free the seats of {whose} on license {license}?")).await?;
    }
    let (client, leases) = (ctx.client().await?, args.leases.get());
    let released = for_each_item(ctx, &users, |user| async move {
        let user_id = noun::external_id(&user)?;
        let body = ReleaseSeat { user_id: user_id.clone() };
        let written = client.licenses().on_lease(leases).release(license, &body).await;
        let written = written.map_err(|error| not_on_it(error, &user_id))?;
        Ok(written.map(|it| OfUser { external_id: user_id, answer: it.data }))
    })
    .await?;
    let freed = released.done.iter().filter(|it| it.is_freed()).count();
    let sentence = match released.done.as_slice() {
        [] => return Ok(View::planned()),
        [one] if one.is_freed() => format!("Freed the seat of {}.", one.external_id),
        [one] => format!("{} holds no seat on this license.", one.external_id),
        all => format!("Freed {freed} seats; {} users held none.", all.len() - freed),
    };
    let row = |it: &OfUser| {
        let seat = if it.is_freed() { "freed" } else { "held none" };
        vec![TextCell::text(it.external_id.as_str()), TextCell::text(seat)]
    };
    let table = Table::new(&COLUMNS).with(released.done.iter().map(row));
    let ids = released.done.iter().map(|it| it.external_id.to_string()).collect();
    let view = View::new(&released.done, ids)?.fields(&[FIELDS]).table(table);
    let view = view.changed(sentence);
    Ok(view.exit(released.exit))
}
