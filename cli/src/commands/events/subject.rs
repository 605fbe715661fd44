//! The record and user that filters name. Events of deleted records are found by the full id or the
//! external id. A mistyped id is an error: an empty list would look as if there were no events.

use common::Product;

use super::EventFilters;
use crate::client::Client;
use crate::commands::prelude::*;

/// The shortest partial id that matches.
const MIN_ID_PART_LEN: usize = 6;

impl EventFilters {
    /// The filters with the whole id of the record and the external id of the user.
    pub async fn settle(mut self, ctx: &Context) -> Result<Self> {
        if let Some(given) = self.subject.take() {
            let id = if is_id(&given) { given } else { subject_id(ctx, &given).await? };
            self.subject = Some(id);
        }
        if let Some(given) = self.user.take() {
            self.user = Some(noun::past_user(ctx, given).await?);
        }
        Ok(self)
    }

    /// Rejects filters for an unknown record or user, after no event matched.
    pub async fn refuse_unknown(&self, ctx: &Context) -> Result<()> {
        let client = ctx.client().await?;
        let of = |subject, user| EventFilters { subject, user, ..EventFilters::default() };
        if let Some(user) = &self.user
            && noun::find_user(ctx, user.as_str()).await?.is_none()
            && of(None, Some(user.clone())).has_none(client).await?
        {
            return Err(noun::no_user(ctx, user.as_str()).await?);
        }
        if let Some(subject) = &self.subject
            && of(Some(subject.clone()), None).has_none(client).await?
            && !exists(client, subject).await?
        {
            return Err(unknown(subject));
        }
        Ok(())
    }

    async fn has_none(&self, client: &Client) -> Result<bool> {
        Ok(self.last(client, 1).await?.is_empty())
    }
}

fn unknown(subject: &str) -> Error {
    Error::not_found(format!("No record matches {subject}.")).fix(
        "use an id, at least 6 characters from either end of it, an exact name, or a user's \
         external id",
    )
}

/// Whether the text has the form of a whole id, which may be that of a deleted record.
fn is_id(text: &str) -> bool {
    text.split_once('_').is_some_and(|(kind, rest)| {
        kind.len() == 3 && rest.len() == 26 && rest.bytes().all(|it| it.is_ascii_alphanumeric())
    })
}

/// The id of the one record that has this name or part of an id.
async fn subject_id(ctx: &Context, given: &str) -> Result<String> {
    let client = ctx.client().await?;
    let (user, products, plans, keys) = tokio::try_join!(
        noun::find_user(ctx, given),
        noun::all::<Product>(ctx),
        noun::plans(ctx, None),
        client.keys().list(Query::default()),
    )?;
    let mut found: Vec<String> = user.iter().map(|user| user.id.to_string()).collect();
    found.extend(named(&products, given));
    found.extend(named(&plans, given));
    found.extend(named(&keys, given));
    let licenses = client.licenses().list(Query::of("search", given)).await?;
    found.extend(named(&licenses, given));
    if found.is_empty() && given.len() >= MIN_ID_PART_LEN {
        found.extend(with_id_part(&products, given));
        found.extend(with_id_part(&plans, given));
        found.extend(with_id_part(&keys, given));
        found.extend(with_id_part(&licenses, given));
    }
    match found.as_slice() {
        [] => Err(unknown(given)),
        [one] => Ok(one.clone()),
        many => {
            let message = format!("{given} matches {} records.", many.len());
            let error = Error::new(Exit::NotFound, "ambiguous", message);
            Err(error.because(many.join("; ")).fix("use one of these ids"))
        }
    }
}

fn named<T: Named>(all: &[T], name: &str) -> impl Iterator<Item = String> {
    all.iter().filter(move |record| record.name() == name).map(Named::id)
}

fn with_id_part<T: Named>(all: &[T], part: &str) -> impl Iterator<Item = String> {
    let fits = move |id: &String| id.starts_with(part) || id.ends_with(part);
    all.iter().map(Named::id).filter(fits)
}

async fn exists(client: &Client, id: &str) -> Result<bool> {
    let read = match id.split('_').next() {
        Some("lic") => client.licenses().get(id).await.map(drop),
        Some("pln") => client.plans().get(id).await.map(drop),
        Some("prd") => client.products().get(id).await.map(drop),
        Some("usr") => client.users().get(id).await.map(drop),
        Some("key") => {
            return Ok(client
                .keys()
                .list(Query::default())
                .await?
                .iter()
                .any(|key| key.id() == id));
        }
        _ => return Ok(false),
    };
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.exit == Exit::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
