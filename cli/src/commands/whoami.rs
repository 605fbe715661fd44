//! `licctl whoami`: the key in use with its role, mode and tenant.

use common::CurrentKey;

use crate::context::Context;
use crate::error::Result;
use crate::output::View;
use crate::output::cell::TextCell;

pub async fn run(ctx: &Context) -> Result<View> {
    let client = ctx.client().await?;
    let key = client.current_key().await?;
    let view = View::new(&key, vec![key.id.to_string()])?;
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
        ("role", TextCell::of(key.role)),
        ("mode", TextCell::of(key.mode)),
        ("expires", TextCell::time_or("never", key.expires_at, ctx.now)),
    ]
}
