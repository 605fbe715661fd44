//! `licctl signing-keys`: the keys that sign leases. Applications embed the public keys, so each
//! change says which applications it leaves behind.

mod export;

use common::{ErrorCode, Open, RotateSigningKeys, SigningKeyId, SigningKeyState};

use crate::client::{SigningKey, SigningKeys};
use crate::commands::prelude::*;
use crate::noun::ListFlags;

impl Named for ApiRecord<SigningKey> {
    const NOUN: &str = "signing key";
    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl Shown for ApiRecord<SigningKey> {
    const CELLS: Cells<Self> = &[
        (Column::new("ID", 0), |it, _, _| TextCell::of(it.id)),
        (Column::new("STATE", 0), |it, _, _| TextCell::of(&it.state)),
        (Column::new("CREATED", 1), |it, ctx, _| TextCell::past(it.created_at, ctx.now)),
        (Column::new("RETIRED", 2), |it, ctx, _| TextCell::time_or("", it.retired_at, ctx.now)),
        (Column::flexible("KID", 3), |it, _, _| TextCell::text(&it.jwk.kid)),
    ];
    const FIELDS: &'static str = "id state createdAt retiredAt kid=/jwk/kid";
    const CREATE: &'static str = "licctl signing-keys create";
}

#[derive(Subcommand)]
pub enum Verb {
    /// List the keys that applications embed
    #[command(visible_alias = "ls")]
    List(ListFlags),
    /// Create the key that signs leases, and the one on standby
    #[command(visible_alias = "new")]
    Create,
    Rotate(RotateArgs),
    /// Delete a retired key, so that applications no longer embed it
    Delete(KeyArg),
    Export(export::ExportArgs),
}

#[derive(Args)]
pub struct KeyArg {
    /// Id of the signing key
    key: SigningKeyId,
}

/// Let the key on standby sign
///
/// Applications that were built before that key was created refuse every lease from then on. Rotate
/// for a leak, or when no older application is in use.
#[derive(Args)]
pub struct RotateArgs {
    /// Id of the key on standby
    #[arg(required_unless_present = "abandon")]
    key: Option<SigningKeyId>,
    /// Give up both keys, whose secret is lost on the server: every application that was built
    /// before refuses all leases
    #[arg(long, conflicts_with = "key")]
    abandon: bool,
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(flags) => noun::list_all::<SigningKey>(ctx, &flags).await,
        Verb::Create => create(ctx).await,
        Verb::Rotate(args) => rotate(ctx, args).await,
        Verb::Delete(it) => delete(ctx, it.key).await,
        Verb::Export(args) => export::run(ctx, args).await,
    }
}

/// Both keys, with their ids for `-q`.
fn pair(ctx: &Context, keys: &ApiRecord<SigningKeys>) -> Result<View> {
    let both = [&keys.active, &keys.standby];
    let row = |key: &SigningKey| {
        vec![
            TextCell::of(key.id),
            TextCell::of(&key.state),
            TextCell::past(key.created_at, ctx.now),
            TextCell::text(&key.jwk.kid),
        ]
    };
    let columns = [
        Column::new("ID", 0),
        Column::new("STATE", 0),
        Column::new("CREATED", 1),
        Column::flexible("KID", 2),
    ];
    let table = Table::new(&columns).with(both.map(row));
    Ok(View::new(keys, both.map(|key| key.id.to_string()).to_vec())?.table(table))
}

async fn create(ctx: &Context) -> Result<View> {
    let made = ctx.client().await?.signing_keys().create_pair().await;
    let made = made.map_err(|error| match error {
        error if error.is(ErrorCode::Conflict) => {
            error.fix("print them with licctl signing-keys export")
        }
        error => error,
    });
    let Some(made) = made? else { return Ok(View::planned()) };
    let done = "Created two signing keys. Embed both in your application before the first lease.";
    Ok(pair(ctx, &made.data)?.changed(done).next("licctl signing-keys export"))
}

async fn rotate(ctx: &Context, args: RotateArgs) -> Result<View> {
    let keys = ctx.client().await?.signing_keys();
    let question = match args.key {
        None => {
            "Give up both keys? Every application that was built before refuses all leases until it \
             is updated."
                .to_owned()
        }
        Some(id) => {
            let all = ctx.client().await?.signing_keys().list(Query::default()).await?;
            let standby = all.iter().find(|key| key.id == id);
            let is_standby = |key: &&ApiRecord<SigningKey>| {
                key.state == Open::Known(SigningKeyState::Standby)
            };
            let standby = standby.filter(is_standby).ok_or_else(|| {
                Error::not_found(format!("{id} is not the key on standby."))
                    .fix("run licctl signing-keys list")
            })?;
            format!(
                "Let {id} sign? Applications that were built before {} refuse every lease from then \
                 on.",
                standby.created_at
            )
        }
    };
    ctx.confirm_loss(&question).await?;
    let body = RotateSigningKeys { standby: args.key, abandon: args.abandon.then_some(true) };
    let rotated = keys.rotate(&body).await.map_err(|error| match error {
        // licd names no time if waiting does not help.
        error if error.is(ErrorCode::Unavailable) && error.retry_after.is_none() => error.fix(
            "have the server's operator restore the secret key; if it is lost, run \
             licctl signing-keys rotate --abandon",
        ),
        error => error,
    });
    let Some(rotated) = rotated? else { return Ok(View::planned()) };
    let (active, since) = (rotated.data.active.id, rotated.data.active.created_at);
    let done = format!(
        "{active} signs now. Applications that were built before {since} refuse new leases; embed \
         the keys again in the next one."
    );
    Ok(pair(ctx, &rotated.data)?.changed(done).next("licctl signing-keys export"))
}

async fn delete(ctx: &Context, id: SigningKeyId) -> Result<View> {
    ctx.confirm_loss(
        "Delete the key? Applications that are built from now on refuse what it has signed.",
    )
    .await?;
    let deleted = ctx.client().await?.signing_keys().remove(id).await?;
    noun::written(ctx, deleted, |view, _| view.changed(format!("Deleted signing key {id}."))).await
}
