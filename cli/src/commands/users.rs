//! `licctl users`: list, show, create, update, delete and import users.

mod delete;
mod get;
mod import;

use clap::{Args, Subcommand};
use common::{CreateUser, ExternalId, Line, Name, UpdateUser, User, UserField};

use super::planned;
use crate::bulk::NewUserFlags;
use crate::client::{ApiRecord, Query};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::escape::quote;
use crate::noun::{
    self, Edit, ListFlags, ListSpec, MetadataChange, MetadataFlags, cleared, is_empty,
};
use crate::output::{Column, Table, TextCell, View};

pub const COLUMNS: [Column; 7] = [
    Column::new("EXTERNAL ID", 0),
    Column::flexible("EMAIL", 2),
    Column::flexible("NAME", 1),
    Column::new("CREATED", 3),
    Column::new("ID", 4),
    Column::extra("METADATA"),
    Column::extra("UPDATED"),
];
const FIELDS: &str = "id tenantId externalId email name metadata createdAt updatedAt";
const SPEC: ListSpec<ApiRecord<User>> = ListSpec {
    fields: &[FIELDS],
    id: |user| user.external_id.to_string(),
    remember: |client, env, users| {
        noun::remember_users(client, env, users.iter().map(|user| user.external_id.as_str()));
    },
};

#[derive(Subcommand)]
pub enum Verb {
    /// List users, oldest first
    #[command(visible_alias = "ls")]
    List(ListArgs),
    #[command(visible_alias = "show")]
    Get(get::GetArgs),
    /// Create or update a user
    #[command(visible_alias = "new")]
    Create(CreateArgs),
    /// Change the email, name or metadata of a user
    Update(UpdateArgs),
    Delete(delete::DeleteArgs),
    Import(import::ImportArgs),
}

#[derive(Args)]
pub struct ListArgs {
    /// Only the user with this external id
    #[arg(long, value_name = "USER")]
    external_id: Option<ExternalId>,
    /// Only users with a word in the external id, email or name that starts with this text, in any
    /// case, with or without accents
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    flags: ListFlags,
}

#[derive(Args)]
pub struct CreateArgs {
    /// External id of the user, used exactly as given
    #[arg(long, value_name = "USER")]
    external_id: Option<ExternalId>,
    /// Email address of the user
    #[arg(long)]
    email: Option<Line>,
    /// Name of the user
    #[arg(long)]
    name: Option<Name>,
    #[command(flatten)]
    metadata: MetadataFlags,
    #[command(flatten)]
    new_users: NewUserFlags,
}

#[derive(Args)]
pub struct UpdateArgs {
    /// External id of the user
    user: Option<ExternalId>,
    /// New external id, if the application sends another one from now on; licenses and seats stay
    #[arg(long, value_name = "USER")]
    external_id: Option<ExternalId>,
    /// New email address, or none
    #[arg(long, value_name = "EMAIL or none")]
    email: Option<Edit<Line>>,
    /// New name, or none
    #[arg(long, value_name = "NAME or none")]
    name: Option<Edit<Name>>,
    #[command(flatten)]
    metadata: MetadataFlags,
    /// Remove all metadata
    #[arg(long, conflicts_with_all = ["metadata", "metadata_json"])]
    no_metadata: bool,
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list(ctx, args).await,
        Verb::Get(args) => get::run(ctx, args).await,
        Verb::Create(args) => create(ctx, args).await,
        Verb::Update(args) => update(ctx, args).await,
        Verb::Delete(args) => delete::run(ctx, args).await,
        Verb::Import(args) => import::run(ctx, args).await,
    }
}

/// The user that an argument names, or one from a prompt.
fn given_or_asked(ctx: &Context, given: Option<ExternalId>) -> Result<ExternalId> {
    ctx.prompts.require(&[("USER", given.is_some())])?;
    match given {
        Some(given) => Ok(given),
        None => ctx.prompts.text("User (external id)", None),
    }
}

async fn list(ctx: &Context, args: ListArgs) -> Result<View> {
    let filters = Query::default().with("externalId", args.external_id).with("search", args.search);
    let whole = filters.is_empty();
    let pages = ctx.client().await?.users().pages(filters, args.flags.limit());
    let Some(users) = noun::print_or_collect(ctx, &SPEC, &args.flags, whole, pages).await? else {
        return Ok(View::printed());
    };
    let ids = users.iter().map(SPEC.id).collect();
    let hint = match whole {
        true => "No users yet. Create one: licctl users create",
        false => "No user matches.",
    };
    Ok(View::new(&users, ids)?.table(table(ctx, &users)).or_when_empty(hint))
}

async fn create(ctx: &Context, args: CreateArgs) -> Result<View> {
    ctx.prompts.require(&[("--external-id", args.external_id.is_some())])?;
    let external_id =
        ctx.prompts.given_or_text(args.external_id, "External id of the user", "--external-id")?;
    let external_id = args.new_users.settle_created(ctx, external_id).await?;
    let MetadataChange { replaced: metadata, merged: merge_metadata } = args.metadata.read()?;
    let (email, name) = (args.email, args.name);
    let body = CreateUser { external_id, email, name, metadata, merge_metadata };
    let Some(made) = ctx.client().await?.users().create(&body).await? else {
        return planned();
    };
    let verb = if made.created { "Created" } else { "Updated" };
    let user = made.data;
    if made.created {
        args.new_users.note_created(ctx, &user).await;
    }
    let next = format!("licctl licenses assign LICENSE {}", quote(user.external_id.as_str()));
    let changed = format!("{verb} user {}.", user.external_id);
    Ok(show(ctx, &user)?.changed(changed).next(next))
}

async fn update(ctx: &Context, args: UpdateArgs) -> Result<View> {
    let MetadataChange { replaced: metadata, merged: merge_metadata } = args.metadata.read()?;
    let body = UpdateUser {
        external_id: args.external_id,
        email: Edit::value(&args.email),
        name: Edit::value(&args.name),
        metadata,
        merge_metadata,
        clear: cleared([
            Edit::clears(&args.email, UserField::Email),
            Edit::clears(&args.name, UserField::Name),
            args.no_metadata.then_some(UserField::Metadata),
        ]),
    };
    if is_empty(&body) {
        return Err(Error::usage("Nothing to change.").fix("see licctl users update --help"));
    }
    let user = noun::user(ctx, given_or_asked(ctx, args.user)?.as_str()).await?;
    let users = ctx.client().await?.users();
    let updated = users.update(user.id, &body, ctx.seen(user.updated_at)).await?;
    let Some(now) = updated else { return planned() };
    let changed = format!("Updated user {}.", now.data.external_id);
    Ok(show(ctx, &now.data)?.changed(changed))
}

fn show(ctx: &Context, user: &ApiRecord<User>) -> Result<View> {
    let view = View::new(user, vec![user.external_id.to_string()])?.fields(&[FIELDS]);
    Ok(view.table(table(ctx, std::slice::from_ref(user))))
}

fn table(ctx: &Context, users: &[ApiRecord<User>]) -> Table {
    let row = |user: &ApiRecord<User>| {
        vec![
            TextCell::text(user.external_id.as_str()),
            TextCell::maybe(user.email.as_ref()),
            TextCell::maybe(user.name.as_ref()),
            TextCell::past(user.created_at, ctx.now),
            TextCell::of(user.id),
            metadata_cell(user),
            TextCell::past(user.updated_at, ctx.now),
        ]
    };
    Table::new(&COLUMNS).with(users.iter().map(row))
}

fn metadata_cell(user: &User) -> TextCell {
    TextCell::maybe(user.metadata.as_ref().and_then(|it| serde_json::to_string(it).ok()))
}
