//! Metadata of users, licenses and assignments, as flags and files give it.

use std::str::FromStr;

use common::{Metadata, MetadataPatch};
use serde_json::{Map, Value};

use crate::client::in_plain_words;
use crate::error::{Error, Result};
use crate::output::TextCell;
use crate::terminal::read_file;

/// A change of metadata: at most one of the two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetadataChange {
    /// All entries.
    pub replaced: Option<Metadata>,
    /// Some entries; null removes one.
    pub merged: Option<MetadataPatch>,
}

impl MetadataChange {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The metadata of a new record.
    pub fn of_new(self) -> Result<Option<Metadata>> {
        let merged = self.merged.map(|patch| patch.apply(None)).transpose();
        Ok(merged.map_err(invalid)?.or(self.replaced))
    }
}

fn invalid(error: common::Invalid) -> Error {
    Error::usage(format!("Metadata {error}."))
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
    /// The change that the flags ask for.
    pub fn read(&self) -> Result<MetadataChange> {
        let mut change = MetadataChange::default();
        if let Some(text) = &self.metadata_json {
            change.replaced = Some(Metadata::new(object(text)?).map_err(invalid)?);
        } else if !self.metadata.is_empty() {
            let pairs = self.metadata.iter().map(|MetadataPair(key, value)| (key, value));
            let entries = pairs.map(|(key, value)| (key.clone(), value.clone())).collect();
            change.merged = Some(MetadataPatch::new(entries).map_err(invalid)?);
        }
        Ok(change)
    }
}

/// Metadata as compact JSON.
pub fn metadata_cell(metadata: Option<&Metadata>) -> TextCell {
    TextCell::maybe(metadata.and_then(|it| serde_json::to_string(it).ok()))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(metadata: &[&str], json: Option<&str>) -> Result<MetadataChange> {
        let metadata = metadata.iter().map(|pair| pair.parse().unwrap()).collect();
        MetadataFlags { metadata, metadata_json: json.map(str::to_owned) }.read()
    }

    #[test]
    fn pairs_are_merged_and_an_object_replaces() {
        let pairs = read(&["tier=gold", "team=", "x=a=b"], None).unwrap();
        assert_eq!(json!(pairs.merged), json!({ "tier": "gold", "team": null, "x": "a=b" }));
        assert_eq!(json!(pairs.of_new().unwrap()), json!({ "tier": "gold", "x": "a=b" }));
        let object = read(&[], Some(r#"{"a": 1}"#)).unwrap();
        assert_eq!((json!(object.replaced), object.merged), (json!({ "a": 1 }), None));
        assert!(read(&[], None).unwrap().is_empty());
        assert!(read(&[], Some("[]")).is_err());
        assert!("=x".parse::<MetadataPair>().is_err());
    }
}
