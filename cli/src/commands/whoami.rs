//! `licctl whoami`: the key in use with its role, mode and tenant, and where it comes from.

use serde_json::json;
use url::Url;

use crate::client::CurrentKey;
use crate::commands::prelude::*;
use crate::profile::address;

const FIELDS: &str = "id name prefix role mode createdAt expiresAt tenantId=/tenant/id \
    tenant=/tenant/name server profile keySource";

/// The server, profile and source of a key.
pub struct KeyInUse<'a> {
    pub server: &'a Url,
    pub profile: Option<&'a str>,
    pub key_source: String,
    /// Place where the key has just been stored.
    pub place: Option<String>,
}

pub async fn run(ctx: &Context) -> Result<View> {
    let client = ctx.client().await?;
    let key = client.current_key().await?;
    let destination = ctx.destination();
    let in_use = KeyInUse {
        server: client.server(),
        profile: destination.as_ref().and_then(|place| place.profile.as_deref()),
        key_source: client.key_source().to_string(),
        place: None,
    };
    view(ctx, &key, &in_use, key.id.to_string())
}

/// The key's record as JSON with the server, profile and source, and as a card.
pub fn view(
    ctx: &Context,
    key: &ApiRecord<CurrentKey>,
    in_use: &KeyInUse,
    id: String,
) -> Result<View> {
    let mut json = serde_json::to_value(key).map_err(Error::internal)?;
    if let Some(fields) = json.as_object_mut() {
        fields.insert("server".to_owned(), json!(address(in_use.server)));
        fields.insert("profile".to_owned(), json!(in_use.profile));
        fields.insert("keySource".to_owned(), json!(in_use.key_source));
    }
    let from = match &in_use.place {
        Some(place) => format!("{}, in {place}", in_use.key_source),
        None => in_use.key_source.clone(),
    };
    let card = vec![
        ("server", TextCell::text(address(in_use.server))),
        ("tenant", TextCell::text(format!("{} ({})", key.tenant.name, key.tenant.id))),
        ("key", TextCell::text(format!("{}… {} ({})", key.prefix, key.name, key.id))),
        ("from", TextCell::text(from)),
        ("role", TextCell::of(&key.role)),
        ("mode", TextCell::of(key.mode)),
        ("expires", TextCell::end(key.expires_at, ctx.now)),
    ];
    Ok(View::new(json, vec![id])?.fields(&[FIELDS]).card(card))
}
