//! Nouns of which there are few: all are read to find one by its name. What is not said here, a noun
//! does itself.

use super::lists::ListFlags;
use super::named::Named;
use super::search::{Purpose, all, named};
use super::shown::{Shown, card, choose, list, record_choice, written};
use crate::client::{ApiRecord, Query, Record, Update};
use crate::context::Context;
use crate::error::Result;
use crate::output::View;

/// A record from a prompt, for an argument or a flag.
pub async fn chosen<R>(ctx: &Context, flag: Option<&str>) -> Result<ApiRecord<R::Shown>>
where
    R: Record,
    ApiRecord<R::Shown>: Shown,
{
    let all = all::<R>(ctx).await?;
    let chosen = choose(ctx, &all, ApiRecord::<R::Shown>::CREATE, |it| it.name().to_owned())?;
    record_choice(ctx, flag, chosen, &all);
    Ok(chosen.clone())
}

/// The record that an argument names, or one from a prompt.
pub async fn given_or_chosen<R>(
    ctx: &Context,
    given: Option<&str>,
    purpose: Purpose,
) -> Result<ApiRecord<R::Shown>>
where
    R: Record,
    ApiRecord<R::Shown>: Shown,
{
    let placeholder = ApiRecord::<R::Shown>::NOUN.to_uppercase();
    ctx.prompts.require(&[(&placeholder, given.is_some())])?;
    match given {
        Some(given) => named::<R>(ctx, given, purpose).await,
        None => chosen::<R>(ctx, None).await,
    }
}

/// The verb `list`.
pub async fn list_all<R>(ctx: &Context, flags: &ListFlags) -> Result<View>
where
    R: Record,
    ApiRecord<R::Shown>: Shown,
{
    let pages = ctx.client().await?.of::<R>().pages(Query::default(), flags.limit());
    let (noun, create) = (ApiRecord::<R::Shown>::NOUN, ApiRecord::<R::Shown>::CREATE);
    list(ctx, flags, true, pages, format!("No {noun}s yet. Create one: {create}")).await
}

/// The verb `get`.
pub async fn get<R>(ctx: &Context, given: Option<&str>) -> Result<View>
where
    R: Record,
    ApiRecord<R::Shown>: Shown,
{
    card(ctx, &given_or_chosen::<R>(ctx, given, Purpose::Read).await?).await
}

/// The verb `delete`.
pub async fn delete<R>(ctx: &Context, given: Option<&str>) -> Result<View>
where
    R: Update + Record<Shown = R>,
    ApiRecord<R>: Shown,
{
    let found = given_or_chosen::<R>(ctx, given, Purpose::Write).await?;
    let title = format!("{} {}", ApiRecord::<R>::NOUN, found.name());
    ctx.confirm_loss(&format!("Delete {title}?")).await?;
    let gone = ctx.client().await?.of::<R>().delete(found.id()).await?;
    written(ctx, gone, |view, _| view.changed(format!("Deleted {title}."))).await
}
