//! `licctl profiles`: list, select, rename and remove profiles.

use serde_json::{Value, json};

use super::login::{forget, note_leftover};
use crate::commands::prelude::*;
use crate::profile::{self, Config, ConfigEdit, Folder, KeyPlace, Profile, address, profile_name};

pub const COLUMNS: [Column; 5] = [
    Column::new("NAME", 0),
    Column::new("IN USE", 1),
    Column::new("MODE", 1),
    Column::flexible("SERVER", 0),
    Column::new("KEY", 2),
];

#[derive(Subcommand)]
pub enum Verb {
    /// List profiles
    #[command(visible_alias = "ls")]
    List,
    /// Switch to another profile
    Use {
        /// Name of the profile
        profile: String,
    },
    /// Rename a profile and its key
    Rename {
        /// Current name of the profile
        profile: String,
        /// New name of the profile
        new_name: String,
    },
    /// Remove a profile and its key
    Remove {
        /// Name of the profile
        profile: String,
    },
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    let folder = Folder::locate(&ctx.env)?;
    if !matches!(verb, Verb::List) {
        ctx.refuse_dry_run()?;
    }
    match verb {
        Verb::List => list(&Config::load(&folder)?),
        Verb::Use { profile } => use_profile(&folder, profile).await,
        Verb::Rename { profile, new_name } => rename(ctx, &folder, &profile, new_name).await,
        Verb::Remove { profile } => remove(ctx, &folder, &profile).await,
    }
}

fn list(config: &Config) -> Result<View> {
    let all: Vec<Value> = config.profiles.iter().map(|(name, it)| json(config, name, it)).collect();
    let row = |(name, profile): (&String, &Profile)| {
        let current = config.current.as_ref() == Some(name);
        vec![
            TextCell::text(name),
            TextCell::text(if current { "yes" } else { "" }),
            TextCell::maybe(profile.mode),
            TextCell::text(address(&profile.server)),
            TextCell::text(key_word(profile)),
        ]
    };
    let table = Table::new(&COLUMNS).with(config.profiles.iter().map(row));
    let view = View::new(all, config.profiles.keys().cloned().collect())?.table(table);
    let view = view.fields(&["name server current key"]);
    Ok(view.or_when_empty("No profiles yet. Create one: licctl login"))
}

fn json(config: &Config, name: &str, profile: &Profile) -> Value {
    json!({
        "name": name,
        "server": address(&profile.server),
        "current": config.current.as_deref() == Some(name),
        "key": profile.key,
        "mode": profile.mode,
        "caCert": profile.ca_cert,
    })
}

fn key_word(profile: &Profile) -> &'static str {
    match profile.key {
        Some(KeyPlace::Keyring) => "in the keyring",
        Some(KeyPlace::File) => "in credentials.toml",
        None => "none",
    }
}

async fn use_profile(folder: &Folder, name: String) -> Result<View> {
    let mut edit = ConfigEdit::begin(folder).await?;
    let server = edit.config.get(&name)?.server.clone();
    edit.select(Some(&name));
    let config = edit.save()?;
    done(&config, name, |name| format!("Switched to profile {name} ({}).", address(&server)))
}

async fn rename(ctx: &Context, folder: &Folder, old: &str, new: String) -> Result<View> {
    let mut edit = ConfigEdit::begin(folder).await?;
    let profile = edit.config.get(old)?.clone();
    let new = profile_name(&new)?;
    if edit.config.profiles.contains_key(&new) {
        let message = format!("Profile {new} already exists.");
        return Err(Error::new(Exit::Rejected, "exists", message)
            .fix(format!("licctl profiles remove {}", quote(&new))));
    }
    // The key is stored under the profile's name. It is stored under the new name before it is
    // removed from the old one.
    let mut renamed = profile.clone();
    if let Some(place) = profile.key {
        renamed.key = match profile::load(folder, place, old, &profile.server).await? {
            Some(key) => {
                let stored = profile::store(&edit.folder, &new, &profile.server, &key).await?;
                stored.note.iter().for_each(|note| ctx.note(note));
                Some(stored.place)
            }
            None => None,
        };
    }
    edit.rename(old, &new)?;
    edit.put(&new, &renamed)?;
    if edit.config.current.as_deref() == Some(old) {
        edit.select(Some(&new));
    }
    let config = edit.save()?;
    note_leftover(ctx, old, forget(&edit.folder, old, &profile).await.map(drop));
    done(&config, new, |new| format!("Renamed profile {old} to {new}."))
}

async fn remove(ctx: &Context, folder: &Folder, name: &str) -> Result<View> {
    if Config::load(folder)?.get(name)?.key.is_some() {
        ctx.confirm(&format!("Remove profile {name} and its key?"))?;
    }
    let mut edit = ConfigEdit::begin(folder).await?;
    let profile = edit.config.get(name)?.clone();
    forget(&edit.folder, name, &profile).await?;
    edit.remove(name)?;
    if edit.config.current.as_deref() == Some(name) {
        edit.select(None);
    }
    edit.save()?;
    let json = json(&edit.config, name, &profile);
    Ok(View::new(json, vec![name.to_owned()])?.changed(format!("Removed profile {name}.")))
}

fn done(config: &Config, name: String, say: impl Fn(&str) -> String) -> Result<View> {
    let json = json(config, &name, config.get(&name)?);
    let sentence = say(&name);
    Ok(View::new(json, vec![name])?.changed(sentence))
}
