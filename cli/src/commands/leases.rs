//! `licctl leases`: lists running leases, gives a machine without a network its lease, and checks
//! one.

mod list;
mod verify;

use common::{DeviceName, ExternalId, Lease, LeaseReason, Open, Product, RequestLease};

use super::validate::product_id;
use crate::bulk::NewUserFlags;
use crate::client::LeaseAnswer;
use crate::commands::prelude::*;
use crate::output::Ttl;

#[derive(Subcommand)]
pub enum Verb {
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    Issue(IssueArgs),
    Verify(verify::VerifyArgs),
}

/// Validate a user, and print a lease for a machine without a network
///
/// Your application on that machine is licensed until the lease ends, and the seat stays taken until
/// then. A lease cannot be revoked, so do not make it longer than necessary.
#[derive(Args)]
pub struct IssueArgs {
    /// External id of the user
    user: Option<ExternalId>,
    /// Product that the lease is for
    #[arg(long)]
    product: Option<String>,
    /// Duration of the lease, such as 30d; an admin key may exceed the maximum of the license
    /// [default: the maximum of the license]
    #[arg(long, value_name = "SPAN")]
    ttl: Option<Ttl>,
    /// Device, by the text with which your application recognizes it
    #[arg(long, value_name = "TEXT")]
    device: Option<DeviceName>,
    #[command(flatten)]
    new_users: NewUserFlags,
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list::run(ctx, args).await,
        Verb::Issue(args) => issue(ctx, args).await,
        Verb::Verify(args) => verify::run(ctx, args).await,
    }
}

async fn issue(ctx: &Context, args: IssueArgs) -> Result<View> {
    let (has_user, has_product) = (args.user.is_some(), args.product.is_some());
    ctx.prompts.require(&[("USER", has_user), ("--product", has_product)])?;
    let given = noun::given_user(ctx, args.user)?;
    let product_id = match &args.product {
        Some(product) => product_id(ctx, product).await?,
        None => noun::chosen::<Product>(ctx, Some("--product")).await?.id,
    };
    let user = args.new_users.settle(ctx, vec![given.to_string()]).await?.remove(0);
    let user_id = noun::external_id(&user)?;
    let (ttl_seconds, device) = (args.ttl.map(Ttl::get), args.device);
    let body = RequestLease { user_id, product_id, ttl_seconds, device };
    let Some(answer) = ctx.client().await?.lease(&body).await? else { return Ok(View::planned()) };
    let lease = lease_of(&answer.data, &user)?;
    ctx.note(&format!("{user} is licensed without the network until {}", lease.expires_at));
    let view = View::new(&answer.data, vec![lease.id.to_string()])?;
    Ok(view.line(TextCell::text(&lease.token)))
}

/// The lease, or why there is none: a file must not get anything else.
fn lease_of<'a>(answer: &'a LeaseAnswer, user: &str) -> Result<&'a Lease> {
    if let Some(lease) = &answer.lease {
        return Ok(lease);
    }
    if !answer.valid {
        let reason = answer.reason.clone().unwrap_or_default();
        let error = Error::new(Exit::Negative, "", format!("{user} is not licensed: {reason}."));
        let fix = format!("licctl validate {} --explain", quote(user));
        return Err(error.coded(reason).fix(fix));
    }
    let word = answer.lease_reason.as_ref().map(ToString::to_string).unwrap_or_default();
    let (why, fix) = match answer.lease_reason.as_ref().and_then(Open::known) {
        Some(LeaseReason::NotOffered) => (
            "the license offers no leases, or only for a given time",
            "give --ttl; or set what it offers: licctl licenses update LICENSE --max-lease 30d",
        ),
        Some(LeaseReason::EndsSoon) => {
            ("the license ends within a minute", "licctl licenses renew LICENSE")
        }
        Some(LeaseReason::NoSigningKey) => (
            "there are no signing keys, or the server cannot open them",
            "licctl signing-keys list shows them; the server's log says what it lacks",
        ),
        Some(LeaseReason::TooLarge) => ("the features of the license are too long", "shorten them"),
        None => (word.as_str(), "use a later licctl, which knows this reason"),
    };
    let message = format!("{user} is licensed, but got no lease: {why}.");
    Err(Error::new(Exit::Rejected, "", message).coded(word).fix(fix))
}
