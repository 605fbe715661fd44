//! The import of one license. Records that exist stay, and only missing ones are created.

use std::collections::{HashMap, HashSet};

use common::{
    AssignLicense, CreateLicense, CreateLicenseKey, ExpiresFrom, ExternalId, LicenseField,
    LicenseId, Metadata, MetadataPatch, NewUser, Plan, SetStatus, Status, UpdateLicense, Validate,
};
use futures_util::TryStreamExt;
use serde_json::{Map, Value, json};

use super::catalog::Catalog;
use super::rows::{Holder, ImportedLicense};
use crate::bulk::RowState;
use crate::client::{Client, LicenseWithSeats, Query};
use crate::context::Context;
use crate::error::{Error, Result};

/// The member of the metadata that names the source and the id there.
const IMPORTED_FROM: &str = "importedFrom";
/// Member of `importedFrom` until the terms and the status are set, also by a run after a crash.
const PENDING: &str = "pending";

/// The licenses that an earlier import created, by their ids in the source.
pub struct Imported(HashMap<String, Known>);

#[derive(Clone, Copy)]
pub struct Known {
    id: LicenseId,
    is_pending: bool,
}

impl Imported {
    pub async fn read(ctx: &Context, source: &str) -> Result<Self> {
        let pages = ctx.client().await?.licenses().pages(Query::default(), None);
        let known = |license: &LicenseWithSeats| {
            let from = license.metadata.as_ref()?.get(IMPORTED_FROM)?;
            let id = from["id"].as_str().filter(|_| from["source"] == source)?;
            let is_pending = from[PENDING] == true;
            Some((id.to_owned(), Known { id: license.id, is_pending }))
        };
        let found = pages.try_fold(HashMap::new(), |mut found, page| {
            found.extend(page.iter().filter_map(|license| known(license)));
            async { Ok(found) }
        });
        Ok(Self(found.await?))
    }

    pub fn get(&self, license: &ImportedLicense) -> Option<Known> {
        self.0.get(&license.id).copied()
    }
}

/// The import of licenses from one source.
pub struct LicenseImport<'a> {
    pub client: &'a Client,
    pub source: &'a str,
    pub catalog: &'a Catalog,
    pub imported: &'a Imported,
    pub takes_seats: bool,
}

impl LicenseImport<'_> {
    /// Creates what the license lacks. An idempotency key of the license makes a repetition safe.
    pub async fn run(&self, it: &ImportedLicense, key: &str) -> Result<(RowState, Value)> {
        let known = self.imported.get(it);
        let id = match known {
            Some(known) => known.id,
            None => self.create(it, key).await?,
        };
        let has_key = self.add_key(it, id, known).await?;
        let added = self.assign(it, id, known).await?;
        if known.is_none_or(|known| known.is_pending) {
            self.complete(it, id).await?;
        }
        let is_changed = known.is_none() || has_key || !added.is_empty();
        let state = if is_changed { RowState::Done } else { RowState::Skipped };
        Ok((state, json!({ "licenseId": id, "users": added, "notes": it.notes })))
    }

    async fn create(&self, it: &ImportedLicense, key: &str) -> Result<LicenseId> {
        let plan = self.catalog.plan(it)?;
        let mut from = json!({ "source": self.source, "id": it.id });
        if difference(it, plan).is_some() || status(it).is_some() {
            from[PENDING] = true.into();
        }
        let metadata = Map::from_iter([(IMPORTED_FROM.to_owned(), from)]);
        let body = CreateLicense {
            plan_id: plan.id,
            expires_in_days: None,
            expires_at: it.terms.expires,
            name: None,
            metadata: Some(Metadata::new(metadata).map_err(Error::internal)?),
            assign_to: it.holders.first().map(assignment),
            unless_held: false,
        };
        let made = self.client.licenses().create_once(&body, key).await?;
        Ok(made.ok_or_else(Error::interrupted)?.data.id)
    }

    /// Adds the license key, unless the license has one; an administrator may have replaced it.
    async fn add_key(
        &self,
        it: &ImportedLicense,
        id: LicenseId,
        known: Option<Known>,
    ) -> Result<bool> {
        let Some(key) = it.terms.key.clone() else { return Ok(false) };
        if known.is_some()
            && !self.client.licenses().keys(id, Some(1)).try_concat().await?.is_empty()
        {
            return Ok(false);
        }
        let (key, allow_short) = (Some(key), Some(true));
        let body = CreateLicenseKey { key, allow_short, ..CreateLicenseKey::default() };
        self.client.licenses().create_key(id, &body).await?;
        Ok(true)
    }

    /// Assigns the users that the license lacks, and returns them.
    async fn assign(
        &self,
        it: &ImportedLicense,
        id: LicenseId,
        known: Option<Known>,
    ) -> Result<Vec<ExternalId>> {
        let mut assigned = HashSet::new();
        if known.is_some() {
            let pages = self.client.licenses().assignments(id, None);
            assigned =
                pages.try_concat().await?.into_iter().map(|it| it.external_id.clone()).collect();
        }
        let mut added = Vec::new();
        for (at, holder) in it.holders.iter().enumerate() {
            if assigned.contains(&holder.id)
                || known.is_some() && self.was_unassigned(id, &holder.id).await?
            {
                continue;
            }
            // A new license was created with its first user.
            if at > 0 || known.is_some() {
                self.client.licenses().assign(id, &assignment(holder)).await?;
            }
            if self.takes_seats {
                let (user_id, product_id) = (holder.id.clone(), self.catalog.product(it));
                self.client.validate(&Validate { user_id, product_id }).await?;
            }
            added.push(holder.id.clone());
        }
        Ok(added)
    }

    /// Whether an administrator of licd has unassigned the user since, which stays as it is.
    async fn was_unassigned(&self, license: LicenseId, user: &ExternalId) -> Result<bool> {
        let events = Query::of("type", "license.unassigned").with("subject", Some(license));
        let events = events.with("userId", Some(user));
        Ok(!self.client.events().first(events, 1).await?.is_empty())
    }

    /// Sets the status, and then the terms in which the license differs from its plan.
    async fn complete(&self, it: &ImportedLicense, id: LicenseId) -> Result<()> {
        let (status, change) = (status(it), difference(it, self.catalog.plan(it)?));
        if status.is_none() && change.is_none() {
            return Ok(());
        }
        if let Some(status) = status {
            self.client.licenses().set_status(id, &SetStatus { status }, None).await?;
        }
        let done = json!({ PENDING: null });
        let done = Map::from_iter([(IMPORTED_FROM.to_owned(), done)]);
        let merge_metadata = Some(MetadataPatch::new(done).map_err(Error::internal)?);
        let change = UpdateLicense { merge_metadata, ..change.unwrap_or_default() };
        self.client.licenses().update(id, &change, None).await?;
        Ok(())
    }
}

fn assignment(holder: &Holder) -> AssignLicense {
    let Holder { id, email, name, .. } = holder.clone();
    AssignLicense { new_user: Some(NewUser { email, name }), ..AssignLicense::to(id) }
}

/// The status, if it is not that of a new license.
fn status(it: &ImportedLicense) -> Option<Status> {
    it.terms.status.filter(|status| *status != Status::Active)
}

/// The terms in which the license differs from its plan.
fn difference(it: &ImportedLicense, plan: &Plan) -> Option<UpdateLicense> {
    let row = &it.terms;
    let (mut change, mut clear) = (UpdateLicense::default(), Vec::new());
    if row.seats != plan.max_seats {
        change.max_seats = row.seats;
        clear.extend(row.seats.is_none().then_some(LicenseField::MaxSeats));
    }
    if row.features != plan.features {
        change.features = Some(row.features.clone());
    }
    let starts_later = row.expires_from == Some(ExpiresFrom::FirstValidation);
    if row.expires.is_none() && plan.expires_in_days.is_some() && !starts_later {
        clear.push(LicenseField::ExpiresAt);
    }
    change.clear = (!clear.is_empty()).then_some(clear);
    let is_empty =
        change.max_seats.is_none() && change.features.is_none() && change.clear.is_none();
    (!is_empty).then_some(change)
}
