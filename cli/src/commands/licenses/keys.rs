//! `licctl licenses keys`: the texts with which users claim a license. The text of a new one is shown
//! once, on stdout, and nowhere else.

use common::{
    CreateLicenseKey, CreatedLicenseKey, FindLicenseKey, KeyState, KeyText, LicenseKey,
    LicenseKeyId, MaxUses,
};

use super::LicenseArg;
use crate::commands::prelude::*;
use crate::noun::ListFlags;
use crate::output::{Expiry, Span};

#[derive(Subcommand)]
pub enum Verb {
    /// List the keys of a license, without their texts
    #[command(visible_alias = "ls")]
    List(ListArgs),
    #[command(visible_alias = "new")]
    Create(CreateArgs),
    Find(FindArgs),
    /// Replace the text of a license key that was lost or has leaked, and print the new one once
    Reissue(KeyArg),
    /// Revoke a license key; users who have claimed with it keep the license
    Revoke(KeyArg),
}

#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    license: LicenseArg,
    #[command(flatten)]
    flags: ListFlags,
}

/// Add a key to a license, and print it once
///
/// A user who types the key claims the license, as licctl claim USER does.
#[derive(Args)]
pub struct CreateArgs {
    #[command(flatten)]
    license: LicenseArg,
    /// Import a key that users have already, from a prompt or stdin
    #[arg(long)]
    existing: bool,
    /// Maximum number of users who claim with the key [default: the number of seats, or no limit if
    /// they are floating]
    #[arg(long, value_name = "N")]
    max_uses: Option<MaxUses>,
    /// End of the key: its last valid day such as 2027-01-31, or a time [default: never]
    #[arg(long, value_name = "TIME", conflicts_with = "expires_in")]
    expires_at: Option<Expiry>,
    /// Time from now until the key ends, such as 90d
    #[arg(long, value_name = "SPAN")]
    expires_in: Option<Span>,
    /// Accept an existing key of only 8 to 11 letters and digits, which can be guessed more easily
    #[arg(long, requires = "existing")]
    allow_short: bool,
}

/// Find a license key by the whole key, or by its end
///
/// The whole key is read from a prompt or stdin, so that it gets into no shell history.
#[derive(Args)]
pub struct FindArgs {
    /// At least the last 4 characters of the key, in any spelling, such as its last group
    #[arg(long, value_name = "TEXT")]
    suffix: Option<String>,
}

#[derive(Args)]
pub struct KeyArg {
    /// License key id, as in licctl licenses keys list
    license_key: LicenseKeyId,
}

impl Named for ApiRecord<LicenseKey> {
    const NOUN: &str = "license key";
    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl Shown for ApiRecord<LicenseKey> {
    const CELLS: Cells<Self> = &[
        (Column::new("ID", 0), |it, _, _| TextCell::of(it.id)),
        (Column::new("LICENSE", 2), |it, _, _| TextCell::of(it.license_id)),
        (Column::new("ENDS WITH", 0), |it, _, _| {
            TextCell::text(it.suffix.as_deref().unwrap_or("–"))
        }),
        (Column::new("USES", 1), |it, _, _| uses(it)),
        (Column::new("CREATED", 4), |it, ctx, _| TextCell::past(it.created_at, ctx.now)),
        (Column::new("EXPIRES", 3), |it, ctx, _| TextCell::end(it.expires_at, ctx.now)),
        (Column::kept("STATE"), |it, ctx, _| state(it, ctx)),
    ];
    const FIELDS: &'static str =
        "id licenseId suffix maxUses uses usesLimit licenseStatus createdAt expiresAt revokedAt";
}

/// `1 of 5`, or `1` without a limit.
fn uses(key: &LicenseKey) -> TextCell {
    match key.uses_limit {
        Some(max) => TextCell::text(format!("{} of {max}", key.uses)),
        None => TextCell::of(key.uses),
    }
}

fn state(key: &LicenseKey, ctx: &Context) -> TextCell {
    let name = key.state_name(ctx.now);
    let tone = match key.state(ctx.now) {
        KeyState::Revoked => Tone::Bad,
        KeyState::Valid if name == "valid" => Tone::Good,
        _ => Tone::Warning,
    };
    TextCell::text(name).toned(tone)
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list(ctx, args).await,
        Verb::Create(args) => create(ctx, args).await,
        Verb::Find(args) => find(ctx, args).await,
        Verb::Reissue(args) => reissue(ctx, args.license_key).await,
        Verb::Revoke(args) => revoke(ctx, args.license_key).await,
    }
}

async fn list(ctx: &Context, args: ListArgs) -> Result<View> {
    let license = args.license.find(ctx, Purpose::Read).await?.id;
    let pages = ctx.client().await?.licenses().keys(license, args.flags.limit());
    let hint = format!("No keys yet. Create one: licctl licenses keys create {license}");
    noun::list(ctx, &args.flags, false, pages, hint).await
}

async fn create(ctx: &Context, args: CreateArgs) -> Result<View> {
    let license = args.license.find(ctx, Purpose::Write).await?;
    let key = if args.existing { Some(read(ctx, "License key").await?) } else { None };
    let expires_at = args.expires_at.map(Expiry::timestamp);
    let body = CreateLicenseKey {
        key,
        max_uses: args.max_uses,
        expires_at: expires_at.or(args.expires_in.map(|span| ctx.now.plus(span.delta()))),
        allow_short: args.allow_short.then_some(true),
    };
    let is_made = body.key.is_none();
    let made = ctx.client().await?.licenses().create_key(license.id, &body).await;
    let Some(made) = made.map_err(lost)? else { return Ok(View::planned()) };
    let id = made.data.record.id;
    let done = match (made.created, is_made) {
        (_, true) => format!("Created license key {id}. Save it now; it is not shown again."),
        (true, false) => format!("Created license key {id}."),
        (false, false) => format!("The license has this key already, as {id}."),
    };
    shown(&made.data, done)
}

/// The view of a new text. `-q` prints only the text.
fn shown(key: &ApiRecord<CreatedLicenseKey>, done: String) -> Result<View> {
    let (id, text) = (key.record.id, key.key.expose().to_owned());
    let view = View::new(key, vec![text.clone()])?.line(TextCell::word(text.clone(), text));
    let view = view.fields(&[ApiRecord::<LicenseKey>::FIELDS, "key"]);
    let failed = format!("License key {id} is valid, but its text is lost.");
    Ok(view.changed(done).on_print_failure(failed, format!("licctl licenses keys reissue {id}")))
}

/// Adds what a request without a response may have done: a text is shown only once.
fn lost(error: Error) -> Error {
    if error.had_no_effect() {
        return error;
    }
    error
        .because("The key may have been made, and its text is lost.")
        .fix("run licctl licenses keys list LICENSE, and reissue the newest one")
}

/// A key from a prompt, or from stdin.
pub async fn read(ctx: &Context, question: &str) -> Result<KeyText> {
    parse(&ctx.read_secret(question).await?)
}

pub fn parse(text: &str) -> Result<KeyText> {
    text.parse().map_err(|error| Error::usage(format!("The license key {error}.")))
}

async fn find(ctx: &Context, args: FindArgs) -> Result<View> {
    let client = ctx.client().await?;
    if let Some(suffix) = args.suffix {
        let found = client.license_keys().list(Query::of("search", &suffix)).await?;
        let view = noun::several(ctx, &found, &NameIndex::default())?;
        let hint =
            "No license key ends like this. Keys of fewer than 12 characters are found only whole";
        return Ok(view.or_when_empty(hint));
    }
    let body = FindLicenseKey { key: read(ctx, "License key").await? };
    let found = client.find_license_key(&body).await?;
    let view = noun::one(ctx, &found).await?;
    Ok(view.next(format!("licctl licenses get {}", found.license_id)))
}

async fn reissue(ctx: &Context, id: LicenseKeyId) -> Result<View> {
    ctx.confirm_loss("Replace the key? Users can no longer claim with the old one.").await?;
    let made = ctx.client().await?.license_keys().reissue(id).await;
    let Some(made) = made.map_err(lost)? else { return Ok(View::planned()) };
    shown(&made.data, format!("Reissued license key {id}. Save it now; it is not shown again."))
}

async fn revoke(ctx: &Context, id: LicenseKeyId) -> Result<View> {
    ctx.confirm_loss("Revoke the key? Users who have claimed with it keep the license.").await?;
    let revoked = ctx.client().await?.license_keys().revoke(id).await?;
    let say = |view: View, key: &ApiRecord<LicenseKey>| {
        let holders = match key.uses {
            0 => String::new(),
            1 => " One user has claimed with it and keeps the license.".to_owned(),
            many => format!(" {many} users have claimed with it and keep the license."),
        };
        view.changed(format!("Revoked license key {id}.{holders}"))
    };
    noun::written(ctx, revoked, say).await
}
