//! `licctl whoami`: the key in use, what it may do, and whose it is.

use common::CurrentKey;

use super::keys::{mode_word, role_word};
use crate::client::Answer;
use crate::context::Context;
use crate::error::Result;
use crate::output::View;
use crate::output::cell::Cell;

pub async fn run(ctx: &Context) -> Result<View> {
    let client = ctx.client().await?;
    let key: Answer<CurrentKey> = client.get("/api/v1/key").await?;
    let view = View::new(&key, vec![key.id.to_string()])?;
    Ok(view.card(card(ctx, &key, client.server().as_str(), &client.key_source().to_string())))
}

/// What a person wants to know of the key they use.
pub fn card(
    ctx: &Context,
    key: &CurrentKey,
    server: &str,
    source: &str,
) -> Vec<(&'static str, Cell)> {
    vec![
        ("server", Cell::text(server.trim_end_matches('/'))),
        ("tenant", Cell::text(format!("{} ({})", key.tenant.name, key.tenant.id))),
        ("key", Cell::text(format!("{}… {} ({})", key.prefix, key.name, key.id))),
        ("from", Cell::text(source)),
        ("role", Cell::text(role_word(key.role))),
        ("mode", Cell::text(mode_word(key.mode))),
        ("expires", Cell::time_or("never", key.expires_at, ctx.now)),
    ]
}
