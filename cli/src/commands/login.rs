//! `licctl login` and `licctl logout`: store and remove the API key of a profile.

use std::path::Path;

use common::ApiKey;
use serde_json::json;
use url::Url;

use super::whoami;
use crate::client::{KeySource, ServerKnowledge};
use crate::commands::prelude::*;
use crate::context::{Endpoint, parse_key};
use crate::profile::{
    self, Config, ConfigEdit, DEFAULT_PROFILE, DEFAULT_SERVER, Folder, LockedFolder, Profile,
    address, parse_server, profile_name,
};
use crate::terminal::env;

/// Sign in to a server: check and store its API key
///
/// The key comes from --api-key-file, LICCTL_API_KEY or a hidden prompt. It is stored in the system
/// keyring or, without one, in credentials.toml, which only you can read. If LICCTL_CONFIG_DIR is
/// set, everything is stored there. The profile remembers the server and --ca-cert, and becomes the
/// current profile.
#[derive(Args)]
pub struct LoginArgs {}

/// Remove the stored API key of the current profile, or of --profile
///
/// The key stays active until you revoke it with licctl keys revoke.
#[derive(Args)]
pub struct LogoutArgs {}

pub async fn login(ctx: &Context, _: LoginArgs) -> Result<View> {
    ctx.refuse_dry_run()?;
    let folder = Folder::locate(&ctx.env)?;
    let named = ctx.globals.profile.as_deref().or(ctx.env.get(env::PROFILE));
    let name = profile_name(named.unwrap_or(DEFAULT_PROFILE))?;
    let known = Config::load(&folder)?.profiles.remove(&name);
    let given = ctx.globals.api_key_file.is_some() || ctx.env.get(env::API_KEY).is_some();
    if !given && !ctx.prompts.can_ask() {
        return Err(Error::usage("No API key found.")
            .because(ctx.prompts.why_not())
            .fix("use --api-key-file FILE or set LICCTL_API_KEY"));
    }
    let server = server(ctx, known.as_ref())?;
    ctx.refuse_open_http(&server)?;
    let replaced = known.as_ref().and_then(|known| other_origin(known, &server));
    if let Some(old) = &replaced {
        let question = format!("Profile {name} belongs to {old}. Replace it and remove its key?");
        ctx.confirm(&question)?;
    }
    let profile = known.map(|known| (name.clone(), known));
    let endpoint = Endpoint { profile, server, known: ServerKnowledge::Unknown };
    let (key, source) = match ctx.given_key().await? {
        Some(given) => given,
        None => {
            let question = format!("API key for {}", address(&endpoint.server));
            let source = KeySource::Given("the prompt".to_owned());
            (parse_key(&ctx.prompts.secret(&question)?, "The input")?, source)
        }
    };
    let client = ctx.connect(&endpoint, key.clone(), source)?;
    let current = client.current_key().await?;
    let profile = Profile {
        ca_cert: absolute_ca_cert(ctx, &endpoint)?,
        mode: Some(key.mode()),
        key: None,
        server: endpoint.server,
    };
    let place = store(ctx, &folder, &name, profile.clone(), replaced, &key).await?;
    ctx.note(&format!("profile {name} is now the current profile"));
    let in_use = whoami::KeyInUse {
        server: &profile.server,
        profile: Some(&name),
        key_source: format!("profile {name}"),
        place: Some(place),
    };
    let view = whoami::view(ctx, &current, &in_use, name.clone())?;
    Ok(view.next("licctl whoami"))
}

fn server(ctx: &Context, known: Option<&Profile>) -> Result<Url> {
    let usual = known.map_or(DEFAULT_SERVER, |profile| address(&profile.server));
    match (&ctx.globals.server, ctx.env.get(env::SERVER)) {
        (Some(flag), _) => parse_server(flag, "--server"),
        (None, Some(variable)) => parse_server(variable, env::SERVER),
        (None, None) if ctx.prompts.can_ask() => {
            ctx.prompts.text_or("Server", usual, |text| parse_server(text, "The input"))
        }
        (None, None) => parse_server(usual, "The server"),
    }
}

/// The origin that a profile belongs to, when it is not the one of this server.
fn other_origin(profile: &Profile, server: &Url) -> Option<String> {
    let own = profile::origin(&profile.server);
    (own != profile::origin(server)).then_some(own)
}

/// The absolute path of the file of certificates.
fn absolute_ca_cert(ctx: &Context, endpoint: &Endpoint) -> Result<Option<String>> {
    let Some((path, from)) = ctx.ca_cert_path(endpoint) else { return Ok(None) };
    let failed = |why: String| {
        Error::usage(format!("Cannot store the path from {from}."))
            .because(why)
            .fix("use an absolute path in UTF-8")
    };
    let path = std::path::absolute(path).map_err(|error| failed(error.to_string()))?;
    let text = path.into_os_string().into_string();
    text.map(Some).map_err(|path| failed(Path::new(&path).display().to_string()))
}

/// Stores the key and the profile, and returns a description of the key's place. `replaced` is the
/// origin that the profile may lose its key for.
async fn store(
    ctx: &Context,
    folder: &Folder,
    name: &str,
    mut profile: Profile,
    replaced: Option<String>,
    key: &ApiKey,
) -> Result<String> {
    let mut edit = ConfigEdit::begin(folder).await?;
    let old = edit.config.profiles.get(name).cloned();
    // Another login may have changed the profile since the confirmation.
    let now = old.as_ref().and_then(|old| other_origin(old, &profile.server));
    if now.is_some() && now != replaced {
        let message = format!("Profile {name} was changed by another licctl.");
        return Err(Error::new(Exit::Rejected, "changed", message)
            .fix(format!("run licctl login --profile {} again", quote(name))));
    }
    let stored = profile::store(&edit.folder, name, &profile.server, key).await?;
    profile.key = Some(stored.place);
    edit.put(name, &profile)?;
    edit.select(Some(name));
    edit.save()?;
    stored.note.iter().for_each(|note| ctx.note(note));
    if let Some(old) = old {
        let forgotten = profile::forget_replaced(&edit.folder, name, &old, &profile).await;
        note_leftover(ctx, name, forgotten);
    }
    Ok(profile::describe(folder, stored.place))
}

/// Notes that the old key of a profile is still stored.
pub fn note_leftover(ctx: &Context, name: &str, forgotten: Result<()>) {
    if let Err(error) = forgotten {
        let why = error.reason().unwrap_or(error.message());
        ctx.note(&format!("the old key of profile {name} is still in the system keyring: {why}"));
    }
}

/// Removes the key of a profile from its store, when it has one.
pub async fn forget(folder: &LockedFolder, name: &str, profile: &Profile) -> Result<bool> {
    match profile.key {
        Some(place) => profile::forget(folder, place, name, &profile.server).await.map(|()| true),
        None => Ok(false),
    }
}

pub async fn logout(ctx: &Context, _: LogoutArgs) -> Result<View> {
    ctx.refuse_dry_run()?;
    let folder = Folder::locate(&ctx.env)?;
    let mut edit = ConfigEdit::begin(&folder).await?;
    let named = ctx.globals.profile.as_deref().or(ctx.env.get(env::PROFILE));
    let name = named.or(edit.config.current.as_deref()).map(str::to_owned);
    let Some(name) = name else {
        return Err(Error::not_found("No profile to sign out of.").fix("licctl login"));
    };
    let profile = edit.config.get(&name)?.clone();
    let had_key = forget(&edit.folder, &name, &profile).await?;
    edit.put(&name, &Profile { key: None, mode: None, ..profile })?;
    edit.save()?;
    let sentence = if had_key {
        format!("Removed the key of profile {name}. The key stays active until it is revoked.")
    } else {
        format!("Profile {name} had no key.")
    };
    let json = json!({ "profile": name, "forgotten": had_key });
    Ok(View::new(json, vec![name])?.changed(sentence))
}
