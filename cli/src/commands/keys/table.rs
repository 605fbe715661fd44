//! The table of keys, with the state of each.

use common::{KeyState, Timestamp};

use crate::client::{ApiRecord, Key};
use crate::context::Context;
use crate::noun::{NameIndex, Shown};
use crate::output::{Column, TextCell, Tone};

impl Shown for ApiRecord<Key> {
    const COLUMNS: &'static [Column] = &[
        Column::new("ID", 0),
        Column::flexible("NAME", 1),
        Column::new("PREFIX", 3),
        Column::new("ROLE", 2),
        Column::new("MODE", 4),
        Column::new("CREATED", 7),
        Column::new("LAST USED", 6),
        Column::new("EXPIRES", 5),
        Column::new("STATE", 1),
    ];
    const FIELDS: &'static str =
        "id name prefix role mode createdAt expiresAt lastUsedAt revokedAt";

    fn row(&self, ctx: &Context, _: &NameIndex) -> Vec<TextCell> {
        vec![
            TextCell::of(self.id),
            TextCell::text(self.name.as_str()),
            TextCell::text(&self.prefix),
            TextCell::of(&self.role),
            TextCell::of(self.mode),
            TextCell::past(self.created_at, ctx.now),
            TextCell::time_or("never", self.last_used_at, ctx.now),
            TextCell::end(self.expires_at, ctx.now),
            state(self, ctx.now),
        ]
    }
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
