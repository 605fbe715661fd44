//! `licctl refusals`: refused validations, and the reasons.

use clap::value_parser;
use common::{ExternalId, Reason, UserRefusal};

use crate::commands::prelude::*;
use crate::output::Span;

pub const COLUMNS: [Column; 5] = [
    Column::new("USER", 0),
    Column::new("REASON", 0),
    Column::new("TIMES", 1),
    Column::new("LAST", 0),
    Column::new("LICENSE", 2),
];

/// The columns of CSV.
const FIELDS: &str = "id userId reason licenseId hour count firstAt lastAt";

/// Number of records that are shown unless a flag gives a number or a start.
const DEFAULT_LIMIT: usize = 50;

#[derive(Subcommand)]
pub enum Verb {
    #[command(visible_alias = "ls")]
    List(ListArgs),
}

/// List refused validations, newest first
///
/// There is one record per user, reason and hour. Records appear within seconds and are kept for 30
/// days. Without --since and --limit, the newest 50 are shown.
#[derive(Args, Clone)]
pub struct ListArgs {
    /// Only refusals of this user (external id)
    user: Option<ExternalId>,
    /// Only refusals for this reason
    #[arg(long)]
    reason: Option<Reason>,
    /// Only users refused within this time, such as 24h
    #[arg(long, value_name = "SPAN")]
    since: Option<Span>,
    /// Show at most the newest N records
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list(ctx, &args).await,
    }
}

async fn list(ctx: &Context, args: &ListArgs) -> Result<View> {
    let limit = match (args.limit, args.since) {
        (Some(limit), _) => limit as usize,
        (None, Some(_)) => usize::MAX,
        (None, None) => DEFAULT_LIMIT,
    };
    let user = match args.user.clone() {
        Some(given) => Some(noun::past_user(ctx, given).await?),
        None => None,
    };
    let args = &ListArgs { user, ..args.clone() };
    let (refusals, more) = read(ctx, args, limit).await?;
    if let Some(user) = args.user.as_ref().filter(|_| refusals.is_empty()) {
        refuse_unknown(ctx, user).await?;
    }
    if more && args.limit.is_none() {
        ctx.note(&format!("showing the newest {limit}; use --limit to see more"));
    }
    let ids = refusals.iter().map(|refusal| refusal.user_id.to_string()).collect();
    let view = View::new(&refusals, ids)?
        .fields(&[FIELDS])
        .table(table(ctx, &refusals))
        .or_when_empty(hint(args));
    Ok(match refusals.first() {
        Some(first) => {
            view.next(format!("licctl validate {} --explain", quote(first.user_id.as_str())))
        }
        None => view,
    })
}

/// Rejects a user that does not exist, unless there are refusals from before its deletion.
async fn refuse_unknown(ctx: &Context, user: &ExternalId) -> Result<()> {
    let refusals = ctx.client().await?.refusals();
    let has_some = !refusals.first(Query::of("userId", user), 1).await?.is_empty();
    if has_some || noun::find_user(ctx, user.as_str()).await?.is_some() {
        return Ok(());
    }
    Err(noun::no_user(ctx, user.as_str()).await?)
}

fn hint(args: &ListArgs) -> String {
    let next = match &args.user {
        Some(user) => format!("licctl validate {} --explain", quote(user.as_str())),
        None => "licctl stats".to_owned(),
    };
    format!("No refusals match. See also: {next}")
}

/// Reads the refusals that match, and whether there are more than the limit.
async fn read(
    ctx: &Context,
    args: &ListArgs,
    limit: usize,
) -> Result<(Vec<ApiRecord<UserRefusal>>, bool)> {
    let query = Query::default()
        .with("userId", args.user.as_ref())
        .with("reason", args.reason)
        .with("from", args.since.map(|span| ctx.now.plus(-span.delta())));
    // One more shows whether there are others.
    let refusals = ctx.client().await?.refusals();
    let mut found = refusals.first(query, limit.saturating_add(1)).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    Ok((found, more))
}

/// The refusals, one a line.
pub fn table(ctx: &Context, refusals: &[ApiRecord<UserRefusal>]) -> Table {
    Table::new(&COLUMNS).with(refusals.iter().map(|refusal| row(ctx, refusal)))
}

/// The refusals of one user.
pub fn table_of_user(ctx: &Context, refusals: &[UserRefusal]) -> Table {
    Table::new(&COLUMNS[1..]).with(refusals.iter().map(|refusal| row(ctx, refusal).split_off(1)))
}

fn row(ctx: &Context, refusal: &UserRefusal) -> Vec<TextCell> {
    vec![
        TextCell::text(refusal.user_id.as_str()),
        TextCell::of(&refusal.reason).toned(Tone::Bad),
        TextCell::of(refusal.count),
        TextCell::past(refusal.last_at, ctx.now),
        TextCell::maybe(refusal.license_id),
    ]
}
