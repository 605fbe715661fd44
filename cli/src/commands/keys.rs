//! `licctl keys`: API keys. The secret of a new one is shown once, on stdout, and nowhere else.

mod table;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{CreateKey, KeyId, KeyState, Mode, Name, OverlapSeconds, RevokeKey, Role, RollKey};

use crate::client::{CreatedKey, Key, new_idempotency_key};
use crate::commands::prelude::*;
use crate::noun::{IdempotencyKey, ListFlags};
use crate::output::{Expiry, Span, relative};

/// Time for which the old key stays valid if the new key cannot be printed.
const OVERLAP_TO_PRINT: &str = "1h";

#[derive(Subcommand)]
pub enum Verb {
    /// List keys, without their secrets
    #[command(visible_alias = "ls")]
    List(ListFlags),
    /// Create a key and print its secret once
    #[command(visible_alias = "new")]
    Create(CreateArgs),
    /// Replace a key with a new one and print its secret once
    Roll(RollArgs),
    Revoke(RevokeArgs),
}

/// Revoke a key immediately and permanently
///
/// A leaked admin key may have created other keys. --made revokes them too, in one step.
#[derive(Args)]
pub struct RevokeArgs {
    #[command(flatten)]
    key: KeyArg,
    /// Also revoke the keys that this key created, and those that they created in turn
    #[arg(long)]
    made: bool,
}

#[derive(Args)]
pub struct CreateArgs {
    /// Name of the key, such as its purpose
    #[arg(long)]
    name: Option<Name>,
    /// Role of the key
    #[arg(long)]
    role: Option<Role>,
    /// Mode of the key [default: the mode of the key in use]
    #[arg(long)]
    mode: Option<Mode>,
    /// Time at which the key expires: its last valid day such as 2027-01-31 (to its end, UTC), or a
    /// time such as 2027-01-31T12:00:00Z [default: never]
    #[arg(long, value_name = "TIME", conflicts_with = "expires_in")]
    expires_at: Option<Expiry>,
    /// Time until the key expires, such as 90d
    #[arg(long, value_name = "SPAN")]
    expires_in: Option<Span>,
    /// Makes it safe to repeat the command: within a week, the same text creates no second key.
    /// The secret is shown only the first time
    #[arg(long, value_name = "TEXT")]
    idempotency_key: Option<IdempotencyKey>,
}

#[derive(Args)]
pub struct RollArgs {
    #[command(flatten)]
    key: KeyArg,
    /// Time for which the old key stays valid, up to 30d; 0 revokes it once the new one is printed
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = overlap)]
    overlap: OverlapSeconds,
}

#[derive(Args)]
pub struct KeyArg {
    /// Key id, name, prefix or secret; - reads it from stdin
    key: Option<String>,
}

pub fn overlap(text: &str) -> std::result::Result<OverlapSeconds, &'static str> {
    let span = match text {
        "0" | "0s" => Duration::ZERO,
        _ => text.parse::<Span>()?.std(),
    };
    let seconds = i64::try_from(span.as_secs()).ok().filter(|_| span.subsec_nanos() == 0);
    let overlap = seconds.and_then(|seconds| OverlapSeconds::new(seconds).ok());
    overlap.ok_or("must be whole seconds, up to 30d")
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(flags) => noun::list_all::<Key>(ctx, &flags).await,
        Verb::Create(args) => create(ctx, args).await,
        Verb::Roll(args) => roll(ctx, args).await,
        Verb::Revoke(args) => revoke(ctx, &args).await,
    }
}

async fn create(ctx: &Context, args: CreateArgs) -> Result<View> {
    let wanted = [("--name", args.name.is_some()), ("--role", args.role.is_some())];
    ctx.prompts.require(&wanted)?;
    let name =
        ctx.prompts.given_or_text(args.name, "Name of the key (such as its purpose)", "--name")?;
    let role = match args.role {
        Some(role) => role,
        None => ask_role(ctx)?,
    };
    let expires_at = args.expires_at.map(Expiry::timestamp);
    if expires_at.is_some_and(|end| end <= ctx.now) {
        return Err(Error::usage("--expires-at is in the past.")
            .fix("use a later time, or --expires-in 90d"));
    }
    let expires_at = expires_at.or(args.expires_in.map(|span| ctx.now.plus(span.delta())));
    let body = CreateKey { name, role, mode: args.mode, expires_at };
    let client = ctx.client().await?;
    let known = client.keys().list(Query::default()).await?;
    if let Some(other) = noun::keys_named(ctx, &known, body.name.as_str()).next() {
        ctx.note(&format!(
            "{} has the same name; from now on, refer to these keys by id",
            other.id
        ));
    }
    let key = args.idempotency_key.map_or_else(new_idempotency_key, |key| key.of(1));
    let made = client.keys().create_once(&body, &key).await;
    let Some(made) = made.map_err(|error| secret_lost(error, "created", &body.name))? else {
        return Ok(View::planned());
    };
    let what = format!("{} key {}", made.data.record.role, made.data.record.name);
    let done = format!("Created {what}. Save the secret now; it is not shown again.");
    let id = made.data.record.id;
    let lost = format!("Key {id} is active, but its secret is lost.");
    Ok(secret(&made.data)?.changed(done).on_print_failure(lost, format!("licctl keys revoke {id}")))
}

/// Adds what a request without a response may have done. Repeating it would create another key.
fn secret_lost(error: Error, done: &str, name: &Name) -> Error {
    if error.had_no_effect() {
        return error;
    }
    error
        .because(format!("Key {name} may have been {done}, and the new secret is lost."))
        .fix(format!("run licctl keys list, and revoke the newest {name} before you retry"))
}

/// The view of a new key.
fn secret(key: &ApiRecord<CreatedKey>) -> Result<View> {
    // `-q` prints the secret: `export LICCTL_API_KEY=$(licctl keys create … -q)`.
    let secret = key.key.expose().to_owned();
    let view = View::new(key, vec![secret.clone()])?.line(TextCell::word(secret.clone(), secret));
    Ok(view.fields(&[ApiRecord::<Key>::FIELDS, "key"]))
}

fn ask_role(ctx: &Context) -> Result<Role> {
    let roles = [
        ("validate", "can only validate users; for your application", Role::Validate),
        ("read", "can read everything and change nothing; for support", Role::Read),
        ("admin", "can read and change everything", Role::Admin),
    ];
    let labels: Vec<_> =
        roles.iter().map(|(word, about, _)| format!("{word:<8}  {about}")).collect();
    let (word, _, role) = roles[ctx.prompts.choose("Role", &labels)?];
    ctx.prompts.record(Some("--role"), word);
    Ok(role)
}

/// The key that an argument names; without one, prompts for a key that is not revoked.
async fn named(ctx: &Context, KeyArg { key: given }: &KeyArg) -> Result<ApiRecord<Key>> {
    ctx.prompts.require(&[("KEY", given.is_some())])?;
    match given.as_deref() {
        Some("-") if ctx.prompts.can_ask() => {
            let secret = ctx.prompts.secret("API key")?;
            return noun::key(ctx, secret.trim()).await;
        }
        Some("-") => return noun::key(ctx, ctx.io.read_line().await?.trim()).await,
        Some(given) => return noun::key(ctx, given).await,
        None => {}
    }
    let mut keys = ctx.client().await?.keys().list(Query::default()).await?;
    keys.retain(|key| key.revoked_at.is_none());
    let label =
        |key: &ApiRecord<Key>| format!("{}  {}… {}, {}", key.name, key.prefix, key.role, key.mode);
    let labels: Vec<_> = keys.iter().map(label).collect();
    let chosen = &keys[ctx.prompts.choose("Key", &labels)?];
    ctx.prompts.record(None, &chosen.id.to_string());
    Ok(chosen.clone())
}

fn described(key: &Key) -> String {
    format!("{} key {} ({}…)", key.role, key.name, key.prefix)
}

/// Asks before a key stops working.
async fn confirm_end(ctx: &Context, key: &Key, question: &str) -> Result<()> {
    let users = if is_in_use(ctx, key).await? {
        "licctl uses this key too and will lose access."
    } else {
        "Applications that use it will lose access."
    };
    ctx.confirm_loss(&format!("{question} {users}")).await
}

/// Whether licctl itself uses the key now.
async fn is_in_use(ctx: &Context, key: &Key) -> Result<bool> {
    Ok(ctx.client().await?.key().prefix() == key.prefix)
}

async fn roll(ctx: &Context, args: RollArgs) -> Result<View> {
    let key = named(ctx, &args.key).await?;
    let what = described(&key);
    let immediately = args.overlap.get() == 0;
    if immediately {
        confirm_end(ctx, &key, &format!("Roll the {what} and revoke the old secret immediately?"))
            .await?;
    }
    let to_print = overlap(OVERLAP_TO_PRINT).map_err(Error::usage)?;
    let body = RollKey { overlap_seconds: Some(if immediately { to_print } else { args.overlap }) };
    let client = ctx.client().await?;
    let made = client.keys().roll(key.id, &body).await;
    let Some(made) = made.map_err(|error| secret_lost(error, "rolled", &key.name))? else {
        if immediately {
            client.keys().revoke(key.id, &RevokeKey::default()).await?;
        }
        return Ok(View::planned());
    };
    let new = &made.data.record;
    // By the server's clock, which counts.
    let in_time = |end| relative(end, new.created_at);
    let end = format!("The old key expires {}.", in_time(body.end(new.created_at, new.expires_at)));
    let mut done = format!("Rolled the {what}.");
    if let Some(expiry) = new.expires_at {
        done += &format!(" The new key expires {}.", in_time(expiry));
    }
    done += " Save the new secret now; it is not shown again.";
    let lost = format!("The new key {} is active, but its secret is lost. {end}", new.id);
    let view =
        rolled(ctx, &made.data)?.on_print_failure(lost, format!("licctl keys revoke {}", new.id));
    let ended = if immediately {
        print_and_revoke(ctx, &view.changed(done), &key, &end).await?
    } else {
        view.changed(format!("{done} {end}"))
    };
    Ok(if is_in_use(ctx, &key).await? { ended.next("licctl login") } else { ended })
}

/// The view of the new key after a roll. Scripts get the secret only.
fn rolled(ctx: &Context, key: &ApiRecord<CreatedKey>) -> Result<View> {
    let view = secret(key)?;
    Ok(match key.record.expires_at {
        Some(end) if ctx.io.terminals.stdout => {
            view.card(vec![("expires", TextCell::end(Some(end), ctx.now))])
        }
        _ => view,
    })
}

/// Prints the new secret before the old key is revoked, so that one of them is always known.
async fn print_and_revoke(ctx: &Context, new: &View, old: &Key, end: &str) -> Result<View> {
    let ended = match new.show(&ctx.io, &ctx.output) {
        Ok(()) => {
            let client = ctx.client().await?;
            let ended = client.keys().revoke(old.id, &RevokeKey::default()).await.map(drop);
            // Repeating the whole command would roll the key again.
            ended.map_err(|error| error.fix(format!("licctl keys revoke {}", old.id)))
        }
        Err(error) => Err(error),
    };
    if ended.is_err() {
        ctx.note(&format!(
            "the old key is not revoked. {end} Revoke it: licctl keys revoke {}",
            old.id
        ));
    }
    ended.map(|()| View::printed().changed("Revoked the old key."))
}

async fn revoke(ctx: &Context, args: &RevokeArgs) -> Result<View> {
    let key = named(ctx, &args.key).await?;
    let made = made_by(ctx, key.id).await?;
    let names: Vec<_> = made.iter().map(|key| described(key)).collect();
    let (what, names) = (described(&key), names.join(", "));
    if !made.is_empty() && !args.made {
        ctx.note(&format!("the key made keys that still work: {names}; --made revokes them too"));
    }
    let what = match made.len() {
        0 => what,
        _ if !args.made => what,
        1 => format!("{what} and the key that it made, {names}"),
        many => format!("{what} and the {many} keys that it made: {names}"),
    };
    if key.revoked_at.is_none() || args.made && !made.is_empty() {
        confirm_end(ctx, &key, &format!("Revoke the {what}?")).await?;
    }
    let body = RevokeKey { made: args.made.then_some(true) };
    let revoked = ctx.client().await?.keys().revoke(key.id, &body).await?;
    noun::written(ctx, revoked, |view, _| view.changed(format!("Revoked the {what}."))).await
}

/// The valid keys that a key created, directly or not, oldest first.
async fn made_by(ctx: &Context, id: KeyId) -> Result<Vec<ApiRecord<Key>>> {
    let mut keys = ctx.client().await?.keys().list(Query::default()).await?;
    let mut makers = BTreeSet::from([id]);
    // A key is older than those that it creates, and the list begins with the oldest.
    keys.retain(|key| {
        let is_made = key.created_by.is_some_and(|maker| makers.contains(&maker));
        is_made && makers.insert(key.id)
    });
    keys.retain(|key| key.state(ctx.now) == KeyState::Valid);
    Ok(keys)
}
