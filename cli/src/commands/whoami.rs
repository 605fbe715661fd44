//! `licctl whoami`: the key in use with its role, mode and tenant.

use common::CurrentKey;

use super::keys::{mode_word, role_word};
use crate::client::ApiRecord;
use crate::context::Context;
use crate::error::Result;
use crate::output::cell::TextCell;
use crate::output::{Field, View};

pub async fn run(ctx: &Context) -> Result<View> {
    let client = ctx.client().await?;
    let key: ApiRecord<CurrentKey> = client.get("/api/v1/key").await?;
    let members = ["id", "name", "prefix", "role", "mode", "createdAt", "expiresAt"];
    let tenant = [Field::at("tenantId", "/tenant/id"), Field::at("tenant", "/tenant/name")];
    let fields = [&Field::members(members)[..], &tenant].concat();
    let view = View::new(&key, vec![key.id.to_string()])?.fields(&fields);
    Ok(view.card(card(ctx, &key, client.server().as_str(), &client.key_source().to_string())))
}

/// The card of a key: server, tenant, source, role, mode and expiry.
pub fn card(
    ctx: &Context,
    key: &CurrentKey,
    server: &str,
    source: &str,
) -> Vec<(&'static str, TextCell)> {
    vec![
        ("server", TextCell::text(server.trim_end_matches('/'))),
        ("tenant", TextCell::text(format!("{} ({})", key.tenant.name, key.tenant.id))),
        ("key", TextCell::text(format!("{}… {} ({})", key.prefix, key.name, key.id))),
        ("from", TextCell::text(source)),
        ("role", TextCell::text(role_word(key.role))),
        ("mode", TextCell::text(mode_word(key.mode))),
        ("expires", TextCell::time_or("never", key.expires_at, ctx.now)),
    ]
}
