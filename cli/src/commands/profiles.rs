//! `licctl profiles`: list, select, rename and remove profiles.

use clap::Subcommand;
use serde_json::{Value, json};

use super::login::forget;
use crate::completion;
use crate::config::{Config, Folder, KeyPlace, Profile, profile_name};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::keystore;
use crate::output::View;
use crate::output::cell::TextCell;
use crate::output::table::{Column, Table};
use crate::prompt;

const COLUMNS: [Column; 4] = [
    Column::new("NAME", 0),
    Column::new("IN USE", 1),
    Column::flexible("SERVER", 0),
    Column::new("KEY", 2),
];

#[derive(Subcommand)]
pub enum Verb {
    /// List the profiles
    #[command(visible_alias = "ls")]
    List,
    /// Select the profile to use
    Use {
        /// Name of the profile
        #[arg(add = completion::profiles())]
        profile: String,
    },
    /// Rename a profile
    Rename {
        /// Current name of the profile
        #[arg(add = completion::profiles())]
        profile: String,
        /// New name of the profile
        new_name: String,
    },
    /// Remove a profile and its key
    Remove {
        /// Name of the profile
        #[arg(add = completion::profiles())]
        profile: String,
    },
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    let folder = Folder::locate(&ctx.env)?;
    let config = Config::load(&folder)?;
    if !matches!(verb, Verb::List) {
        ctx.refuse_dry_run()?;
    }
    match verb {
        Verb::List => list(&config),
        Verb::Use { profile } => use_profile(&folder, config, profile),
        Verb::Rename { profile, new_name } => rename(&folder, config, &profile, new_name).await,
        Verb::Remove { profile } => remove(ctx, &folder, config, &profile).await,
    }
}

fn list(config: &Config) -> Result<View> {
    let all: Vec<Value> = config.profiles.iter().map(|(name, it)| json(config, name, it)).collect();
    let row = |(name, profile): (&String, &Profile)| {
        let current = config.current.as_ref() == Some(name);
        vec![
            TextCell::text(name),
            TextCell::text(if current { "yes" } else { "" }),
            TextCell::text(profile.server.as_str().trim_end_matches('/')),
            TextCell::text(key_word(profile)),
        ]
    };
    let table = Table::new(&COLUMNS).with(config.profiles.iter().map(row));
    let view = View::new(all, config.profiles.keys().cloned().collect())?.table(table);
    Ok(view.or_when_empty("There are no profiles yet. Create one: licctl login"))
}

fn json(config: &Config, name: &str, profile: &Profile) -> Value {
    json!({
        "name": name,
        "server": profile.server,
        "current": config.current.as_deref() == Some(name),
        "key": profile.key,
    })
}

fn key_word(profile: &Profile) -> &'static str {
    match profile.key {
        Some(KeyPlace::Keyring) => "in the keyring",
        Some(KeyPlace::File) => "in credentials.toml",
        None => "none",
    }
}

fn use_profile(folder: &Folder, mut config: Config, name: String) -> Result<View> {
    let server = config.get(&name)?.server.clone();
    config.current = Some(name.clone());
    config.save(folder)?;
    done(&config, name, |name| format!("Using profile {name}: {}", keystore::origin(&server)))
}

async fn rename(folder: &Folder, mut config: Config, old: &str, new: String) -> Result<View> {
    let profile = config.get(old)?.clone();
    let new = profile_name(&new)?;
    if config.profiles.contains_key(&new) {
        let message = format!("Profile {new} already exists.");
        return Err(Error::new(Exit::Rejected, "exists", message)
            .fix(format!("licctl profiles remove {new}")));
    }
    // The key is bound to the profile's name, so it moves with it: first to its new place, and
    // only when it is safe there out of the old one.
    let mut renamed = profile.clone();
    if let Some(place) = profile.key {
        renamed.key = match keystore::load(folder, place, old, &profile.server).await? {
            Some(key) => Some(keystore::store(folder, &new, &profile.server, &key).await?),
            None => None,
        };
    }
    forget(folder, &config, old).await?;
    config.profiles.remove(old);
    config.profiles.insert(new.clone(), renamed);
    if config.current.as_deref() == Some(old) {
        config.current = Some(new.clone());
    }
    config.save(folder)?;
    done(&config, new, |new| format!("Renamed profile {old} to {new}."))
}

async fn remove(ctx: &Context, folder: &Folder, mut config: Config, name: &str) -> Result<View> {
    let profile = config.get(name)?.clone();
    if profile.key.is_some() {
        prompt::confirm(ctx, &format!("Remove profile {name} and its key?"))?;
    }
    let json = json(&config, name, &profile);
    forget(folder, &config, name).await?;
    config.profiles.remove(name);
    if config.current.as_deref() == Some(name) {
        config.current = None;
    }
    config.save(folder)?;
    Ok(View::new(json, vec![name.to_owned()])?.changed(format!("Removed profile {name}.")))
}

fn done(config: &Config, name: String, say: impl Fn(&str) -> String) -> Result<View> {
    let json = json(config, &name, config.get(&name)?);
    let sentence = say(&name);
    Ok(View::new(json, vec![name])?.changed(sentence))
}
