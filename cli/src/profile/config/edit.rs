//! Changes of `config.toml`, which keep its comments and its order. Only one licctl at a time makes
//! one, so that none undoes another.

use std::mem;
use std::time::Duration;

use toml_edit::{DocumentMut, Item, Table, TableLike, Value, ser};

use super::folder::LockedFolder;
use super::{Config, FILE, Folder, Profile};
use crate::error::{Error, Exit, Result};

/// The settings of a profile in the file.
const SETTINGS: [&str; 4] = ["server", "key", "mode", "ca-cert"];

/// Time for which a change waits for another one. The slowest waits for the keyring twice.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// A change that has begun: the folder stays locked until this is dropped.
pub struct ConfigEdit {
    pub folder: LockedFolder,
    /// The content before the change.
    pub config: Config,
    document: DocumentMut,
}

impl ConfigEdit {
    /// Locks the folder, and reads the file as it is then.
    pub async fn begin(folder: &Folder) -> Result<Self> {
        let folder = folder.lock(LOCK_TIMEOUT).await?;
        let (config, document) = (Config::load(&folder)?, folder.document(FILE)?);
        Ok(Self { folder, config, document })
    }

    /// Selects the profile in use, or none.
    pub fn select(&mut self, name: Option<&str>) {
        set(self.document.as_table_mut(), "current", name.map(Value::from));
    }

    /// Creates a profile or replaces its settings.
    pub fn put(&mut self, name: &str, profile: &Profile) -> Result<()> {
        let settings = ser::to_document(profile).map_err(|error| damaged(&error.to_string()))?;
        let entry = self.profiles()?.entry(name).or_insert_with(|| Item::Table(Table::new()));
        let table =
            entry.as_table_like_mut().ok_or_else(|| damaged("A profile is not a table."))?;
        for setting in SETTINGS {
            set(table, setting, settings.get(setting).and_then(Item::as_value).cloned());
        }
        Ok(())
    }

    pub fn rename(&mut self, old: &str, new: &str) -> Result<()> {
        let profiles = self.profiles()?;
        if let Some(profile) = profiles.remove(old) {
            profiles.insert(new, profile);
        }
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> Result<()> {
        self.profiles()?.remove(name);
        Ok(())
    }

    /// Writes the file, and returns what it holds now.
    pub fn save(&self) -> Result<Config> {
        self.folder.replace(FILE, &self.document.to_string())?;
        Config::load(&self.folder)
    }

    fn profiles(&mut self) -> Result<&mut Table> {
        let item = self.document.entry("profiles").or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        // One written as { … } has no room for tables with headers of their own.
        if let Ok(table) = mem::take(item).into_table() {
            *item = Item::Table(table);
        }
        item.as_table_mut().ok_or_else(|| damaged("`profiles` is not a table."))
    }
}

/// Sets a value and keeps its comment; none removes it.
fn set(table: &mut dyn TableLike, name: &str, new: Option<Value>) {
    let Some(mut new) = new else {
        table.remove(name);
        return;
    };
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => drop(table.insert(name, Item::Value(new))),
    }
}

fn damaged(why: &str) -> Error {
    Error::new(Exit::Internal, "config", format!("Cannot change {FILE}.")).because(why)
}
