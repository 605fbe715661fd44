//! `licctl licenses transfer`.

use common::{ExternalId, TransferLicense};

use super::LicenseArg;
use super::assign::not_on_it;
use crate::bulk::NewUserFlags;
use crate::commands::prelude::*;
use crate::noun::LeaseFlags;

/// Transfer a license to another user, with the seat
///
/// The seat moves in the same step, so no other user can take it in between. Metadata of the
/// assignment moves too.
#[derive(Args)]
pub struct TransferArgs {
    #[command(flatten)]
    license: LicenseArg,
    /// External id of the user who has the license
    #[arg(long, value_name = "USER")]
    from: Option<ExternalId>,
    /// External id of the user who gets the license; an unknown user is created
    #[arg(long, value_name = "USER")]
    to: Option<String>,
    #[command(flatten)]
    new_users: NewUserFlags,
    #[command(flatten)]
    leases: LeaseFlags,
}

pub async fn run(ctx: &Context, args: TransferArgs) -> Result<View> {
    let given = (args.license.is_given(), args.from.is_some(), args.to.is_some());
    ctx.prompts.require(&[("LICENSE", given.0), ("--from", given.1), ("--to", given.2)])?;
    let license = args.license.find(ctx, Purpose::Write).await?.id;
    let ask = |what, flag| ctx.prompts.text::<ExternalId>(what, Some(flag));
    let from = args.from.map_or_else(|| ask("From user (external id)", "--from"), Ok)?;
    let ask_to = || ask("To user (external id)", "--to").map(|user| user.to_string());
    let to = args.to.map_or_else(ask_to, Ok)?;
    let to = args.new_users.settle(ctx, vec![to]).await?.remove(0);
    let body = TransferLicense { from_user_id: from.clone(), to_user_id: noun::external_id(&to)? };
    if ctx.confirms_in_live_mode().await? {
        ctx.confirm_loss(&format!("Hand license {license} from {from} to {to}?")).await?;
    }
    let licenses = ctx.client().await?.licenses().on_lease(args.leases.get());
    let written = licenses.transfer(license, &body).await;
    let written = written.map_err(|error| not_on_it(error, &from))?;
    noun::written(ctx, written, |view, it| {
        let what = match it.activation {
            Some(_) => "license and seat",
            None => "the license",
        };
        view.changed(format!("Handed {what} from {from} to {to}."))
            .next(format!("licctl validate {}", quote(&to)))
    })
    .await
}
