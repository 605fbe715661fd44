//! `licctl users`: list, show, create, update, delete, export, forget and import users.

mod delete;
mod export;
mod forget;
mod get;
mod import;

use common::{CreateUser, ExternalId, Line, Name, UpdateUser, User, UserField};

use crate::bulk::NewUserFlags;
use crate::commands::prelude::*;
use crate::noun::{
    Card, Edit, LeaseFlags, ListFlags, MetadataChange, MetadataFlags, cleared, is_empty,
    metadata_cell,
};

impl Shown for ApiRecord<User> {
    const CELLS: Cells<Self> = &[
        (Column::new("EXTERNAL ID", 0), |it, _, _| TextCell::text(it.external_id.as_str())),
        (Column::flexible("EMAIL", 2), |it, _, _| TextCell::maybe(it.email.as_ref())),
        (Column::flexible("NAME", 1), |it, _, _| TextCell::maybe(it.name.as_ref())),
        (Column::new("CREATED", 3), |it, ctx, _| TextCell::past(it.created_at, ctx.now)),
        (Column::new("ID", 4), |it, _, _| TextCell::of(it.id)),
        (Column::extra("METADATA"), |it, _, _| metadata_cell(it.metadata.as_ref())),
        (Column::extra("UPDATED"), |it, ctx, _| TextCell::past(it.updated_at, ctx.now)),
    ];
    const FIELDS: &'static str = "id tenantId externalId email name metadata createdAt updatedAt";

    fn card(&self, ctx: &Context, _: &NameIndex) -> Card {
        vec![
            ("user", TextCell::text(self.external_id.as_str())),
            ("id", TextCell::of(self.id)),
            ("email", TextCell::maybe(self.email.as_ref())),
            ("name", TextCell::maybe(self.name.as_ref())),
            ("metadata", metadata_cell(self.metadata.as_ref())),
            ("created", TextCell::past(self.created_at, ctx.now)),
            ("updated", TextCell::past(self.updated_at, ctx.now)),
        ]
    }
}

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
    Export(export::ExportArgs),
    Forget(forget::ForgetArgs),
    Import(import::ImportArgs),
}

#[derive(Args)]
pub struct ListArgs {
    /// Only the user with this external id
    #[arg(long, value_name = "USER")]
    external_id: Option<ExternalId>,
    /// Only users with words in the external id, email, name or metadata that start like these, in
    /// any order and case, with or without accents
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
    #[command(flatten)]
    leases: LeaseFlags,
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list(ctx, args).await,
        Verb::Get(args) => get::run(ctx, args).await,
        Verb::Create(args) => create(ctx, args).await,
        Verb::Update(args) => update(ctx, args).await,
        Verb::Delete(args) => delete::run(ctx, args).await,
        Verb::Export(args) => export::run(ctx, args).await,
        Verb::Forget(args) => forget::run(ctx, args).await,
        Verb::Import(args) => import::run(ctx, args).await,
    }
}

async fn list(ctx: &Context, args: ListArgs) -> Result<View> {
    let filters = Query::default().with("externalId", args.external_id).with("search", args.search);
    let whole = filters.is_empty();
    let pages = ctx.client().await?.users().pages(filters, args.flags.limit());
    let hint = match whole {
        true => "No users yet. Create one: licctl users create",
        false => "No user matches.",
    };
    noun::list(ctx, &args.flags, whole, pages, hint).await
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
        return Ok(View::planned());
    };
    let verb = if made.created { "Created" } else { "Updated" };
    if made.created {
        args.new_users.note_created(ctx, &made.data).await;
    }
    let id = &made.data.external_id;
    let next = format!("licctl licenses assign LICENSE {}", quote(id.as_str()));
    Ok(noun::one(ctx, &made.data).await?.changed(format!("{verb} user {id}.")).next(next))
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
    let user = noun::user(ctx, noun::given_user(ctx, args.user)?.as_str()).await?;
    let users = ctx.client().await?.users().on_lease(args.leases.get());
    let updated = users.update(user.id, &body, ctx.seen(user.updated_at)).await?;
    noun::written(ctx, updated, |view, now| {
        view.changed(format!("Updated user {}.", now.external_id))
    })
    .await
}
