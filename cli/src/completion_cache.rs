//! A cache of the ids and names that lists showed last, so that completion needs no request. Each
//! server has a file of its own, which holds no secret.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use crate::config::Folder;
use crate::context::Context;
use crate::keystore;
use crate::resolve::Named;

/// More entries would slow down every list that writes the cache.
const MAX_CACHED_PER_KIND: usize = 1000;

/// For each kind of record, its completions with their descriptions.
pub type CachedNames = BTreeMap<String, Vec<(String, String)>>;

/// Caches the records of a whole list: by name where that is one word, else by id.
pub fn remember<T: Named>(ctx: &Context, records: &[T]) {
    let entry = |record: &T| match record.name() {
        name if is_one_word(name) => (name.to_owned(), record.id()),
        name => (record.id(), name.to_owned()),
    };
    write(ctx, T::NOUN, records.iter().map(entry));
}

/// Caches users by their external ids.
pub fn remember_users<'a>(ctx: &Context, users: impl Iterator<Item = &'a str>) {
    let words = users.filter(|user| is_one_word(user));
    write(ctx, "user", words.map(|user| (user.to_owned(), String::new())));
}

/// Whether a name needs no quotes, as not every shell adds them.
fn is_one_word(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.@+".contains(letter);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(plain)
}

/// Writes the cache; a failure is ignored, as commands work without it.
fn write(ctx: &Context, kind: &str, entries: impl Iterator<Item = (String, String)>) {
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

/// The cached names of a server.
pub fn load(folder: Folder, server: &Url) -> CachedNames {
    folder.cache().read(&file_name(server)).unwrap_or_default()
}

fn file_name(server: &Url) -> String {
    let origin = keystore::origin(server);
    let word: String =
        origin.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
    PathBuf::from(word).with_extension("toml").display().to_string()
}
