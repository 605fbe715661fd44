//! The ids and names that were seen last, for completing command lines without the network. They
//! are kept for each server apart, and hold nothing secret.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use crate::config::Folder;
use crate::context::Context;
use crate::keystore;
use crate::resolve::Named;

/// More than this nobody completes, and the file would slow every list down.
const MAX_CACHED_PER_KIND: usize = 1000;

/// Kinds of records, each with the words that stand for its records and what they are.
pub type CachedNames = BTreeMap<String, Vec<(String, String)>>;

/// Remembers the records of a whole list: by name where that is one word, else by id.
pub fn remember<T: Named>(ctx: &Context, records: &[T]) {
    let entry = |record: &T| match record.name() {
        name if is_one_word(name) => (name.to_owned(), record.id()),
        name => (record.id(), name.to_owned()),
    };
    keep(ctx, T::NOUN, records.iter().map(entry));
}

/// Remembers users by their callers' ids.
pub fn remember_users<'a>(ctx: &Context, users: impl Iterator<Item = &'a str>) {
    let words = users.filter(|user| is_one_word(user));
    keep(ctx, "user", words.map(|user| (user.to_owned(), String::new())));
}

/// Not every shell quotes what is completed.
fn is_one_word(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.@+".contains(letter);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(plain)
}

/// That nothing can be kept keeps nobody from working.
fn keep(ctx: &Context, kind: &str, entries: impl Iterator<Item = (String, String)>) {
    let Some(server) = ctx.destination().as_ref().and_then(|place| Url::parse(&place.server).ok())
    else {
        return;
    };
    let Ok(folder) = Folder::locate(&ctx.env).map(Folder::cache) else { return };
    let name = file_name(&server);
    let mut cached: CachedNames = folder.read(&name).unwrap_or_default();
    let entries: Vec<_> = entries.take(MAX_CACHED_PER_KIND).collect();
    if cached.get(kind) != Some(&entries) {
        cached.insert(kind.to_owned(), entries);
        let _ = folder.write(&name, &cached);
    }
}

/// What was seen of a server.
pub fn load(folder: Folder, server: &Url) -> CachedNames {
    folder.cache().read(&file_name(server)).unwrap_or_default()
}

fn file_name(server: &Url) -> String {
    let origin = keystore::origin(server);
    let word: String =
        origin.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
    PathBuf::from(word).with_extension("toml").display().to_string()
}
