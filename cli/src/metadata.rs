//! Metadata of users, licenses and assignments. Entries from flags and files are merged with those of
//! the record, without losing entries that someone else adds at the same time.

use std::str::FromStr;

use common::{
    AssignLicense, Assignment, CreateUser, Explain, ExternalId, LicenseId, Metadata, UpdateLicense,
    UpdateUser, User,
};
use serde_json::{Map, Value};

use crate::client::{Client, Done, Query, Version};
use crate::error::{Error, Result};
use crate::io::read_file;
use crate::mismatch::in_plain_words;
use crate::records::License;

/// How often to retry a merge with a record that keeps changing.
const MAX_ATTEMPTS: usize = 10;

/// A change of metadata.
#[derive(Clone, Debug)]
pub enum MetadataChange {
    /// All entries.
    Replace(Metadata),
    /// Some entries; null removes one.
    Merge(Map<String, Value>),
}

impl MetadataChange {
    /// The metadata after the change.
    pub fn of(&self, current: Option<&Metadata>) -> Result<Metadata> {
        let entries = match self {
            Self::Replace(metadata) => return Ok(metadata.clone()),
            Self::Merge(entries) => entries,
        };
        let mut map = current.map(|current| Map::clone(current)).unwrap_or_default();
        for (key, value) in entries {
            match value {
                Value::Null => drop(map.shift_remove(key)),
                value => drop(map.insert(key.clone(), value.clone())),
            }
        }
        Metadata::new(map).map_err(|error| Error::usage(format!("Metadata {error}.")))
    }
}

/// One `KEY=VALUE` of `--metadata`; without a value the entry is removed.
#[derive(Clone, Debug)]
pub struct MetadataPair(String, Value);

impl FromStr for MetadataPair {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((key, "")) if !key.is_empty() => Ok(Self(key.to_owned(), Value::Null)),
            Some((key, value)) if !key.is_empty() => Ok(Self(key.to_owned(), value.into())),
            _ => Err("must be KEY=VALUE, or KEY= to remove an entry"),
        }
    }
}

/// Flags that give metadata.
#[derive(clap::Args)]
pub struct MetadataFlags {
    /// Set a metadata entry to a text value; KEY= removes it (repeatable)
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "metadata_json")]
    metadata: Vec<MetadataPair>,
    /// Replace all metadata with a JSON object, or with that of @FILE
    #[arg(long, value_name = "JSON")]
    metadata_json: Option<String>,
}

impl MetadataFlags {
    /// The change that the flags ask for; none when no flag was given.
    pub fn read(&self) -> Result<Option<MetadataChange>> {
        if let Some(text) = &self.metadata_json {
            let metadata = Metadata::new(object(text)?);
            let invalid = |error| Error::usage(format!("Metadata {error}."));
            return metadata.map(|map| Some(MetadataChange::Replace(map))).map_err(invalid);
        }
        let pairs =
            self.metadata.iter().map(|MetadataPair(key, value)| (key.clone(), value.clone()));
        let entries: Map<String, Value> = pairs.collect();
        Ok((!entries.is_empty()).then_some(MetadataChange::Merge(entries)))
    }
}

fn object(text: &str) -> Result<Map<String, Value>> {
    let content = match text.strip_prefix('@') {
        Some(path) => read_file(path)?,
        None => text.to_owned(),
    };
    serde_json::from_str(&content).map_err(|error| {
        Error::usage("--metadata-json must be a JSON object.")
            .because(in_plain_words(&error.to_string()))
    })
}

/// Creates a user, or updates the one that exists.
pub async fn create_user(
    client: &Client,
    mut body: CreateUser,
    change: Option<&MetadataChange>,
) -> Done<User> {
    let filter = Query::of("externalId", &body.external_id);
    let known = match change {
        Some(MetadataChange::Merge(_)) => client.users().list(filter).await?,
        _ => Vec::new(),
    };
    if let Some(known) = known.first() {
        let (email, name) = (body.email, body.name);
        let body = UpdateUser { external_id: None, email, name, metadata: None, clear: None };
        return update_user(client, known, body, change).await;
    }
    body.metadata = change.map(|change| change.of(None)).transpose()?;
    client.users().create(&body).await
}

/// Updates a user.
pub async fn update_user(
    client: &Client,
    user: &User,
    body: UpdateUser,
    change: Option<&MetadataChange>,
) -> Done<User> {
    let Some(change) = change else { return client.users().update(user.id, &body).await };
    let read = async || {
        let Version { data, etag } = client.users().get_version(user.id).await?;
        Ok((data.metadata.clone(), etag))
    };
    update_merged(change, read, async |metadata, etag| {
        let body = UpdateUser { metadata, ..body.clone() };
        client.users().update_version(user.id, &body, etag).await
    })
    .await
}

/// Updates a license.
pub async fn update_license(
    client: &Client,
    license: LicenseId,
    body: &UpdateLicense,
    change: &MetadataChange,
) -> Done<License> {
    let read = async || {
        let Version { data, etag } = client.licenses().get_version(license).await?;
        Ok((data.metadata.clone(), etag))
    };
    update_merged(change, read, async |metadata, etag| {
        let body = UpdateLicense { metadata, ..body.clone() };
        client.licenses().update_version(license, &body, etag).await
    })
    .await
}

/// Updates the version that was read; if the record has changed since, reads and merges again.
async fn update_merged<T>(
    change: &MetadataChange,
    read: impl AsyncFn() -> Result<(Option<Metadata>, Option<String>)>,
    write: impl AsyncFn(Option<Metadata>, Option<&str>) -> Done<T>,
) -> Done<T> {
    for attempt in 1.. {
        let (current, etag) = read().await?;
        let merged = Some(change.of(current.as_ref())?);
        match write(merged, etag.as_deref()).await {
            Err(error) if error.is_conflict() && etag.is_some() && attempt < MAX_ATTEMPTS => {}
            updated => return updated,
        }
    }
    Ok(None)
}

/// Assigns a license. Entries are merged with those of the assignment that exists.
pub async fn assign(
    client: &Client,
    license: &str,
    user: &ExternalId,
    change: Option<&MetadataChange>,
) -> Done<Assignment> {
    let body = |metadata| AssignLicense { user_id: user.clone(), metadata };
    let send = async |body| client.licenses().assign(license, &body).await;
    let Some(change) = change else { return send(body(None)).await };
    let question = Explain { user_id: user.clone(), product_id: None };
    let exists = matches!(change, MetadataChange::Merge(_))
        && !client.is_dry_run()
        && client
            .explain(&question)
            .await?
            .licenses
            .iter()
            .any(|it| it.license.id.to_string() == license);
    if !exists {
        return send(body(Some(change.of(None)?))).await;
    }
    // Assigning again returns the existing assignment with its entries.
    let Some(first) = send(body(None)).await? else { return Ok(None) };
    send(body(Some(change.of(first.data.metadata.as_ref())?))).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(flags: &MetadataFlags, current: &Value) -> Value {
        let current = Metadata::new(current.as_object().unwrap().clone()).unwrap();
        json!(flags.read().unwrap().unwrap().of(Some(&current)).unwrap())
    }

    fn pairs(pairs: &[&str]) -> MetadataFlags {
        let metadata = pairs.iter().map(|pair| pair.parse().unwrap()).collect();
        MetadataFlags { metadata, metadata_json: None }
    }

    fn whole(text: &str) -> MetadataFlags {
        MetadataFlags { metadata: Vec::new(), metadata_json: Some(text.to_owned()) }
    }

    #[test]
    fn pairs_are_merged_and_an_object_replaces() {
        let current = &json!({ "team": "blue", "seat": 4 });
        let merged = changed(&pairs(&["tier=gold", "team=red", "x=a=b"]), current);
        assert_eq!(merged, json!({ "team": "red", "seat": 4, "tier": "gold", "x": "a=b" }));
        assert_eq!(changed(&pairs(&["team=", "none="]), current), json!({ "seat": 4 }));
        assert_eq!(changed(&whole(r#"{"a": 1}"#), current), json!({ "a": 1 }));
        assert!(pairs(&[]).read().unwrap().is_none());
        assert!(whole("[]").read().is_err());
        assert!("=x".parse::<MetadataPair>().is_err());
    }
}
