//! `licctl keys`: API keys. The secret of a new one is shown once, on stdout, and nowhere else.

mod table;

use std::time::Duration;

use clap::{Args, Subcommand};
use common::{CreateKey, CreatedKey, Key, Mode, Name, OverlapSeconds, Role, RollKey};

use super::lists::{self, Kind, ListFlags};
use super::planned;
use crate::client::{ApiRecord, new_idempotency_key};
use crate::completion;
use crate::completion_cache;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::cell::TextCell;
use crate::output::{Field, View};
use crate::prompt;
use crate::resolve;
use crate::time::{Moment, Span, relative};
use crate::values::IdempotencyKey;

pub use table::COLUMNS;
use table::table;

const FIELDS: [Field; 9] = Field::members([
    "id",
    "name",
    "prefix",
    "role",
    "mode",
    "createdAt",
    "expiresAt",
    "lastUsedAt",
    "revokedAt",
]);
const KIND: Kind<ApiRecord<Key>> =
    Kind { fields: &FIELDS, id: |key| key.id.to_string(), remember: completion_cache::remember };

/// How long a key that is to end immediately stays valid if the new secret cannot be printed.
const OVERLAP_TO_PRINT: &str = "1h";

#[derive(Subcommand)]
pub enum Verb {
    /// List keys, without their secrets
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  licctl keys list
  licctl keys list --jq '.[] | select(.lastUsedAt == null) | .name'"
    )]
    List(ListFlags),
    /// Create a key and print its secret once
    #[command(
        visible_alias = "new",
        after_help = "\
Roles:
  validate  validate users, nothing else: for your application
  read      read everything, change nothing: for support
  admin     read and change everything

Examples:
  licctl keys create --name \"Acme Studio 4.2\" --role validate
  licctl keys create --name ci --role admin --mode test --expires-in 90d -q"
    )]
    Create(CreateArgs),
    /// Replace a key by a new one and print its secret once
    #[command(after_help = "\
The new key has the name, role, mode and expiry of the old one. Give it to all that use the old one
before that ends.

Examples:
  licctl keys roll ci
  licctl keys roll \"Acme Studio 4.2\" --overlap 7d -q
  licctl keys roll ci --overlap 0 --yes")]
    Roll(RollArgs),
    /// Revoke a key immediately and permanently
    #[command(after_help = "\
Examples:
  licctl keys revoke ci
  licctl keys revoke key_01k2v4p8qsf8brz6c7y0sjvkd3 --yes
  licctl keys revoke sk_live_8fQz
  licctl keys revoke -        reads a leaked key from a hidden prompt or stdin

A secret is looked up by its prefix, and the rest of it is sent to nobody. As
an argument it stays in the history of the shell.")]
    Revoke {
        #[command(flatten)]
        key: KeyArg,
    },
}

#[derive(Args)]
pub struct CreateArgs {
    /// Name of the key, such as its purpose
    #[arg(long)]
    name: Option<Name>,
    /// Role of the key
    #[arg(long)]
    role: Option<Role>,
    /// Mode of the key; that of the key in use when absent
    #[arg(long)]
    mode: Option<Mode>,
    /// Time of expiry, as in 2027-01-31T12:00:00Z, or a date for its beginning in UTC; no expiry
    /// when absent
    #[arg(long, value_name = "TIME", conflicts_with = "expires_in")]
    expires_at: Option<Moment>,
    /// Time until expiry, as in 90d
    #[arg(long, value_name = "SPAN")]
    expires_in: Option<Span>,
    /// Text that makes it safe to run this command again: within a day, the same text creates no
    /// second key; the secret is shown only the first time
    #[arg(long, value_name = "TEXT")]
    idempotency_key: Option<IdempotencyKey>,
}

#[derive(Args)]
pub struct RollArgs {
    #[command(flatten)]
    key: KeyArg,
    /// How long the old key stays valid, up to 30d; 0 revokes it as soon as the
    /// new one is printed
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = overlap)]
    overlap: OverlapSeconds,
}

#[derive(Args)]
pub struct KeyArg {
    /// Key id, name, prefix as keys list shows it, or the secret itself; - reads it from stdin
    #[arg(add = completion::keys())]
    key: Option<String>,
}

fn overlap(text: &str) -> std::result::Result<OverlapSeconds, &'static str> {
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
        Verb::List(flags) => list(ctx, &flags).await,
        Verb::Create(args) => create(ctx, args).await,
        Verb::Roll(args) => roll(ctx, args).await,
        Verb::Revoke { key } => revoke(ctx, &key).await,
    }
}

async fn list(ctx: &Context, flags: &ListFlags) -> Result<View> {
    let pages = ctx.client().await?.keys().pages(&[], flags.limit());
    let Some(keys) = lists::read(ctx, &KIND, flags, true, pages).await? else {
        return Ok(View::printed());
    };
    let ids = keys.iter().map(|key| key.id.to_string()).collect();
    Ok(View::new(&keys, ids)?.table(table(ctx, &keys)))
}

async fn create(ctx: &Context, args: CreateArgs) -> Result<View> {
    let wanted = [("--name", args.name.is_some()), ("--role", args.role.is_some())];
    prompt::require(ctx, &wanted)?;
    let name = match args.name {
        Some(name) => name,
        None => prompt::text(ctx, "Name of the key (such as its purpose)", Some("--name"))?,
    };
    let role = match args.role {
        Some(role) => role,
        None => ask_role(ctx)?,
    };
    let expires_at = args.expires_at.map(Moment::timestamp);
    if expires_at.is_some_and(|end| end <= ctx.now) {
        return Err(Error::usage("--expires-at is in the past.")
            .fix("give a later time, or --expires-in 90d"));
    }
    let expires_at = expires_at.or(args.expires_in.map(|span| ctx.now.plus(span.delta())));
    let body = CreateKey { name, role, mode: args.mode, expires_at };
    let client = ctx.client().await?;
    let known = client.keys().list(&[]).await?;
    if let Some(other) = resolve::keys_named(ctx, &known, body.name.as_str()).next() {
        ctx.note(&format!("{} has this name too; from now on give the ids of the two", other.id));
    }
    let key = args.idempotency_key.map_or_else(new_idempotency_key, |key| key.of(1));
    let made = client.keys().create_once(&body, &key).await;
    let Some(made) = made.map_err(|error| secret_lost(error, "created", &body.name))? else {
        return planned();
    };
    let what = format!("{} key {}", made.data.record.role, made.data.record.name);
    let done = format!("Created {what}. Store the secret now: it is shown only once.");
    let id = made.data.record.id;
    let lost = format!("Key {id} is active, and nobody has its secret.");
    Ok(secret(&made.data)?.changed(done).when_lost(lost, format!("licctl keys revoke {id}")))
}

/// Adds to a request without an answer what it may have done. A second one would make another key.
fn secret_lost(error: Error, done: &str, name: &Name) -> Error {
    if error.had_no_effect() {
        return error;
    }
    error
        .because(format!("Key {name} may have been {done} and its new secret lost."))
        .fix(format!("licctl keys list; revoke the newest {name} before you retry"))
}

/// The view of a new key.
fn secret(key: &ApiRecord<CreatedKey>) -> Result<View> {
    // `-q` prints the secret: `export LICCTL_API_KEY=$(licctl keys create … -q)`.
    let secret = key.key.expose().to_owned();
    let view = View::new(key, vec![secret.clone()])?.line(TextCell::word(secret.clone(), secret));
    Ok(view.fields(&[&FIELDS[..], &Field::members(["key"])].concat()))
}

fn ask_role(ctx: &Context) -> Result<Role> {
    let roles = [
        ("validate", "validate users, nothing else: for your application", Role::Validate),
        ("read", "read everything, change nothing: for support", Role::Read),
        ("admin", "read and change everything", Role::Admin),
    ];
    let labels: Vec<_> =
        roles.iter().map(|(word, about, _)| format!("{word:<8}  {about}")).collect();
    let (word, _, role) = roles[prompt::choose(ctx, "Role", &labels)?];
    ctx.answered(Some("--role"), word);
    Ok(role)
}

/// The key that an argument means; without one, prompts for a key that is not revoked yet.
async fn named(ctx: &Context, KeyArg { key: given }: &KeyArg) -> Result<ApiRecord<Key>> {
    prompt::require(ctx, &[("KEY", given.is_some())])?;
    match given.as_deref() {
        Some("-") if ctx.may_ask() => {
            let secret = prompt::secret(ctx, "API key")?;
            return resolve::key(ctx, secret.trim()).await;
        }
        Some("-") => return resolve::key(ctx, ctx.io.read_stdin().await?.trim()).await,
        Some(given) => return resolve::key(ctx, given).await,
        None => {}
    }
    let mut keys = ctx.client().await?.keys().list(&[]).await?;
    keys.retain(|key| key.revoked_at.is_none());
    let label =
        |key: &ApiRecord<Key>| format!("{}  {}… {}, {}", key.name, key.prefix, key.role, key.mode);
    let labels: Vec<_> = keys.iter().map(label).collect();
    let chosen = &keys[prompt::choose(ctx, "Key", &labels)?];
    ctx.answered(None, &chosen.id.to_string());
    Ok(chosen.clone())
}

fn described(key: &Key) -> String {
    format!("{} key {} ({}…)", key.role, key.name, key.prefix)
}

/// Asks before a key stops working.
async fn confirm_end(ctx: &Context, key: &Key, question: &str) -> Result<()> {
    let users = if is_in_use(ctx, key).await? {
        "licctl itself uses this key now, and loses access with all others that use it."
    } else {
        "Applications that use it lose access."
    };
    prompt::confirm_loss(ctx, &format!("{question} {users}")).await
}

/// Whether licctl itself uses the key now.
async fn is_in_use(ctx: &Context, key: &Key) -> Result<bool> {
    Ok(ctx.client().await?.key().prefix() == key.prefix)
}

async fn roll(ctx: &Context, args: RollArgs) -> Result<View> {
    let key = named(ctx, &args.key).await?;
    let what = described(&key);
    let at_once = args.overlap.get() == 0;
    if at_once {
        confirm_end(ctx, &key, &format!("Roll the {what} and revoke the old secret immediately?"))
            .await?;
    }
    let to_print = overlap(OVERLAP_TO_PRINT).map_err(Error::usage)?;
    let body = RollKey { overlap_seconds: Some(if at_once { to_print } else { args.overlap }) };
    let client = ctx.client().await?;
    let made = client.keys().roll(key.id, &body).await;
    let Some(made) = made.map_err(|error| secret_lost(error, "rolled", &key.name))? else {
        if at_once {
            client.keys().revoke(key.id).await?;
        }
        return planned();
    };
    let new = &made.data.record;
    // By the server's clock, which decides.
    let in_time = |end| relative(end, new.created_at);
    let end = format!("The old one expires {}.", in_time(body.end(new.created_at, new.expires_at)));
    let mut done = format!("Rolled the {what}");
    if let Some(expiry) = new.expires_at {
        done += &format!(" by one that expires {}", in_time(expiry));
    }
    done += ". Store the secret of the new key now: it is shown only once.";
    let lost = format!("The new key {} is active, and nobody has its secret. {end}", new.id);
    let view = rolled(ctx, &made.data)?.when_lost(lost, format!("licctl keys revoke {}", new.id));
    let ended = if at_once {
        print_and_revoke(ctx, &view.changed(done), &key, &end).await?
    } else {
        view.changed(format!("{done} {end}"))
    };
    Ok(if is_in_use(ctx, &key).await? { ended.next("licctl login") } else { ended })
}

/// The view of the successor of a key. What a script reads is the secret alone.
fn rolled(ctx: &Context, key: &ApiRecord<CreatedKey>) -> Result<View> {
    let view = secret(key)?;
    Ok(match key.record.expires_at {
        Some(end) if ctx.io.terminals.stdout => {
            view.card(vec![("expires", TextCell::time_or("never", Some(end), ctx.now))])
        }
        _ => view,
    })
}

/// Prints the secret of the new key before the old one is revoked, so that one of them is known.
async fn print_and_revoke(ctx: &Context, new: &View, old: &Key, end: &str) -> Result<View> {
    let ended = match new.show(&ctx.io, &ctx.output) {
        Ok(()) => {
            let ended = ctx.client().await?.keys().revoke(old.id).await.map(drop);
            // The whole command again would roll the key once more.
            ended.map_err(|error| error.fix(format!("licctl keys revoke {}", old.id)))
        }
        Err(error) => Err(error),
    };
    if ended.is_err() {
        ctx.note(&format!("the old key is not revoked. {end} Now: licctl keys revoke {}", old.id));
    }
    ended.map(|()| View::printed().changed("Revoked the old key."))
}

async fn revoke(ctx: &Context, given: &KeyArg) -> Result<View> {
    let key = named(ctx, given).await?;
    let what = described(&key);
    if key.revoked_at.is_none() {
        confirm_end(ctx, &key, &format!("Revoke the {what}?")).await?;
    }
    let revoked = ctx.client().await?.keys().revoke(key.id).await?;
    let Some(revoked) = revoked.map(|written| written.data) else {
        return planned();
    };
    let view = View::new(&revoked, vec![revoked.id.to_string()])?.fields(&FIELDS);
    let view = view.table(table(ctx, std::slice::from_ref(&revoked)));
    Ok(view.changed(format!("Revoked the {what}.")))
}
