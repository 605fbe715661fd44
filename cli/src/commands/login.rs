//! `licctl login` and `licctl logout`: store and remove the key of a profile.

use clap::Args;
use serde_json::json;
use url::Url;

use super::whoami;
use crate::client::KeySource;
use crate::config::{Config, DEFAULT_PROFILE, Folder, Profile, profile_name};
use crate::context::{Context, DEFAULT_SERVER, parse_key, parse_server};
use crate::env;
use crate::error::{Error, Result};
use crate::keystore;
use crate::output::View;
use crate::prompt;

/// Store the API key of a server, after checking it
///
/// The key comes from --api-key-file, LICCTL_API_KEY or a hidden prompt. It is stored in the
/// system's keyring, or, without one, in credentials.toml, which only you can read. When
/// LICCTL_CONFIG_DIR is set, that folder holds everything.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl login --server https://licenses.example.com
  licctl login --profile staging --api-key-file key.txt
  pass show licenses | licctl login --profile live --api-key-file -")]
pub struct LoginArgs {}

/// Remove the stored key of the profile in use, or of --profile
///
/// The key stays active; licctl keys revoke ends it.
#[derive(Args)]
pub struct LogoutArgs {}

pub async fn login(ctx: &Context, _: LoginArgs) -> Result<View> {
    ctx.refuse_dry_run()?;
    let folder = Folder::locate(&ctx.env)?;
    let mut config = Config::load(&folder)?;
    let named = ctx.globals.profile.as_deref().or(ctx.env.get(env::PROFILE));
    let name = profile_name(named.unwrap_or(DEFAULT_PROFILE))?;
    let given = ctx.globals.api_key_file.is_some() || ctx.env.get(env::API_KEY).is_some();
    prompt::require(ctx, &[("--api-key-file or LICCTL_API_KEY", given)])?;
    let server = server(ctx, config.profiles.get(&name))?;
    ctx.refuse_open_http(&server)?;
    let moves = config.profiles.get(&name);
    if let Some(old) =
        moves.filter(|old| keystore::origin(&old.server) != keystore::origin(&server))
    {
        let old = keystore::origin(&old.server);
        let question = format!("Profile {name} belongs to {old}. Replace it and remove its key?");
        prompt::confirm(ctx, &question)?;
    }
    let (key, source) = match ctx.given_key().await? {
        Some(given) => given,
        None => {
            let typed = prompt::secret(ctx, &format!("API key for {}", keystore::origin(&server)))?;
            let source = KeySource::Given("the prompt".to_owned());
            (parse_key(&typed, "The input")?, source)
        }
    };
    let client = ctx.connect(server.clone(), key.clone(), source)?;
    let current = client.current_key().await?;
    let place = keystore::store(&folder, &name, &server, &key).await?;
    let profile = Profile { server: server.clone(), key: Some(place) };
    if let Some(old) = config.profiles.insert(name.clone(), profile) {
        keystore::forget_replaced(&folder, &name, &old, (place, &server)).await?;
    }
    config.current = Some(name.clone());
    config.save(&folder)?;
    let kept = keystore::describe(&folder, place);
    let view = View::new(&current, vec![name.clone()])?;
    let card = whoami::card(ctx, &current, server.as_str(), &format!("profile {name}, in {kept}"));
    Ok(view.card(card).changed(format!("Profile {name} is now in use.")).next("licctl whoami"))
}

fn server(ctx: &Context, known: Option<&Profile>) -> Result<Url> {
    let usual =
        known.map_or_else(|| DEFAULT_SERVER.to_owned(), |profile| profile.server.to_string());
    match (&ctx.globals.server, ctx.env.get(env::SERVER)) {
        (Some(flag), _) => parse_server(flag, "--server"),
        (None, Some(variable)) => parse_server(variable, env::SERVER),
        (None, None) if ctx.may_ask() => {
            parse_server(&prompt::text_or(ctx, "Server", &usual)?, "The server")
        }
        (None, None) => parse_server(&usual, "The server"),
    }
}

/// Removes the key of a profile from its store, when it has one.
pub async fn forget(folder: &Folder, config: &Config, name: &str) -> Result<bool> {
    match config.profiles.get(name) {
        Some(Profile { server, key: Some(place) }) => {
            keystore::forget(folder, *place, name, server).await.map(|()| true)
        }
        _ => Ok(false),
    }
}

pub async fn logout(ctx: &Context, _: LogoutArgs) -> Result<View> {
    ctx.refuse_dry_run()?;
    let folder = Folder::locate(&ctx.env)?;
    let mut config = Config::load(&folder)?;
    let named = ctx.globals.profile.as_deref().or(ctx.env.get(env::PROFILE));
    let name = named.or(config.current.as_deref()).map(str::to_owned);
    let Some(name) = name else {
        return Err(Error::not_found("There is no profile to log out of.").fix("licctl login"));
    };
    config.get(&name)?;
    let had_key = forget(&folder, &config, &name).await?;
    if let Some(profile) = config.profiles.get_mut(&name) {
        profile.key = None;
    }
    config.save(&folder)?;
    let sentence = if had_key {
        format!("Removed the key of profile {name}. The key stays active until it is revoked.")
    } else {
        format!("Profile {name} had no key.")
    };
    let json = json!({ "profile": name, "forgotten": had_key });
    Ok(View::new(json, vec![name])?.changed(sentence))
}
