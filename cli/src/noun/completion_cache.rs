//! A cache of the ids and names that lists showed last, so that completion needs no request. Each
//! profile, or key without a profile, has a file of its own for each server; it holds no secret.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use url::Url;

use super::Named;
use crate::client::{Client, KeySource};
use crate::profile::{self, Folder};
use crate::terminal::Env;

/// More entries would slow down every list that writes the cache.
const MAX_CACHED_PER_KIND: usize = 1000;

/// A record that can be completed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedName {
    pub id: String,
    /// Empty for records without a name.
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub about: String,
}

/// The names of one key's tenant and mode.
#[derive(Default, Serialize, Deserialize)]
struct Cached {
    /// The public prefix of the key. A profile that gets another key drops the first key's names.
    key: String,
    /// The records by their noun.
    #[serde(default)]
    nouns: BTreeMap<String, Vec<CachedName>>,
}

/// Caches the records of a whole list.
pub fn remember<T: Named>(client: &Client, env: &Env, records: &[T]) {
    let entry = |record: &T| CachedName {
        id: record.id(),
        name: record.name().to_owned(),
        about: record.about(),
    };
    write(client, env, T::NOUN, records.iter().map(entry));
}

/// Writes the cache; a failure is ignored, as commands work without it.
fn write(client: &Client, env: &Env, noun: &str, entries: impl Iterator<Item = CachedName>) {
    let Ok(folder) = Folder::locate(env).map(Folder::cache) else { return };
    let prefix = client.key().prefix();
    let owner = match client.key_source() {
        KeySource::Profile(name) => name,
        KeySource::Given(_) => prefix,
    };
    let file = file_name(client.server(), owner);
    let mut cached: Cached = folder.read(&file).unwrap_or_default();
    if cached.key != prefix {
        cached = Cached { key: prefix.to_owned(), nouns: BTreeMap::new() };
    }
    let is_safe = |entry: &CachedName| {
        !entry.id.starts_with('-')
            && !format!("{}{}", entry.id, entry.name).contains(char::is_control)
    };
    let entries: Vec<_> = entries.filter(is_safe).take(MAX_CACHED_PER_KIND).collect();
    if cached.nouns.get(noun) != Some(&entries) {
        cached.nouns.insert(noun.to_owned(), entries);
        let _ = folder.write(&file, &cached);
    }
}

/// The cached records of a noun, for a server and the profile or key prefix that lists them.
pub fn load(folder: Folder, server: &Url, owner: &str, noun: &str) -> Vec<CachedName> {
    let cached: Cached = folder.cache().read(&file_name(server, owner)).unwrap_or_default();
    let name_of = |id: &str| {
        let mut all = cached.nouns.values().flatten();
        all.find(|entry| entry.id == id).map_or_else(|| id.to_owned(), |it| it.name.clone())
    };
    let mut entries = cached.nouns.get(noun).cloned().unwrap_or_default();
    for entry in entries.iter_mut().filter(|entry| !entry.about.is_empty()) {
        // Records name others by their ids; a person knows those by their names.
        entry.about = entry.about.split(' ').map(name_of).collect::<Vec<_>>().join(" · ");
    }
    entries
}

fn file_name(server: &Url, owner: &str) -> String {
    let words = format!("{} {owner}", profile::origin(server));
    let safe = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
    format!("{}.toml", words.chars().map(safe).collect::<String>())
}
