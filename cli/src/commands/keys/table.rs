//! The table of keys, with the state of each.

use common::{KeyState, Timestamp};

use crate::client::Key;
use crate::commands::prelude::*;

impl Shown for ApiRecord<Key> {
    const CELLS: Cells<Self> = &[
        (Column::new("ID", 0), |it, _, _| TextCell::of(it.id)),
        (Column::flexible("NAME", 1), |it, _, _| TextCell::text(it.name.as_str())),
        (Column::new("PREFIX", 3), |it, _, _| TextCell::text(&it.prefix)),
        (Column::new("ROLE", 2), |it, _, _| TextCell::of(&it.role)),
        (Column::new("MODE", 4), |it, _, _| TextCell::of(it.mode)),
        (Column::new("CREATED", 7), |it, ctx, _| TextCell::past(it.created_at, ctx.now)),
        (Column::new("LAST USED", 6), |it, ctx, _| {
            TextCell::time_or("never", it.last_used_at, ctx.now)
        }),
        (Column::new("EXPIRES", 5), |it, ctx, _| TextCell::end(it.expires_at, ctx.now)),
        (Column::new("STATE", 1), |it, ctx, _| state(it, ctx.now)),
    ];
    const CREATE: &'static str = "licctl keys create";
    const FIELDS: &'static str =
        "id name prefix role mode createdAt expiresAt lastUsedAt revokedAt";
}

fn state(key: &Key, now: Timestamp) -> TextCell {
    let (word, tone) = match key.state(now) {
        KeyState::Revoked => ("revoked", Tone::Bad),
        KeyState::Expired => ("expired", Tone::Warning),
        KeyState::Valid if key.is_long_unused(now) => ("unused for 90 days", Tone::Warning),
        KeyState::Valid => ("active", Tone::Good),
    };
    TextCell::text(word).toned(tone)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stale_key_is_marked() {
        let now: Timestamp = "2026-06-30T12:00:00Z".parse().unwrap();
        let days = |days| now.plus(TimeDelta::days(days));
        let key: Key = serde_json::from_value(json!({
            "id": "key_01h455vb4pex5vsknk084sn02q", "name": "ci", "prefix": "sk_live_0000",
            "role": "validate", "mode": "live", "createdAt": days(-91), "expiresAt": null,
            "lastUsedAt": null, "revokedAt": null,
        }))
        .unwrap();
        let shown = |key: &Key| state(key, now).plain;
        assert_eq!(shown(&key), "unused for 90 days");
        assert_eq!(shown(&Key { created_at: days(-90), ..key.clone() }), "active");
        assert_eq!(shown(&Key { last_used_at: Some(days(-89)), ..key.clone() }), "active");
        assert_eq!(shown(&Key { last_used_at: Some(days(-90)), ..key.clone() }), "active");
        assert_eq!(shown(&Key { expires_at: Some(now), ..key.clone() }), "expired");
        assert_eq!(shown(&Key { revoked_at: Some(now), ..key }), "revoked");
    }
}
