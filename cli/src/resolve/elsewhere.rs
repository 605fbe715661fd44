//! Looks for an unknown user in the other stored profiles: most often the mode is the wrong one.

use std::time::Duration;

use common::{ExternalId, Mode};

use crate::client::{Client, KeySource};
use crate::context::Context;
use crate::keystore::origin;

/// How long each profile may take, as its server may be away.
const TIME_FOR_EACH: Duration = Duration::from_secs(3);
const MAX_PROFILES: usize = 5;

/// A profile that knows the user.
pub struct FoundElsewhere {
    pub profile: String,
    pub mode: Mode,
}

/// The profiles that know the user, those of the same server and the other mode first. A key that
/// was given for this run alone is no reason to use others.
pub async fn other_profiles_with(ctx: &Context, user: &ExternalId) -> Vec<FoundElsewhere> {
    let Ok(client) = ctx.client().await else { return Vec::new() };
    let KeySource::Profile(current) = client.key_source() else { return Vec::new() };
    let mut others = ctx.other_clients(current).await;
    let is_far = |other: &Client| origin(other.server()) != origin(client.server());
    others.sort_by_key(|(_, other)| (is_far(other), other.key().mode() == client.key().mode()));
    let mut found = Vec::new();
    for (profile, other) in others.into_iter().take(MAX_PROFILES) {
        let filter = [("externalId", user.as_str())];
        let listed = tokio::time::timeout(TIME_FOR_EACH, other.users().list(&filter)).await;
        // A profile whose server or key does not answer is no part of the question.
        if let Ok(Ok(users)) = listed
            && !users.is_empty()
        {
            found.push(FoundElsewhere { profile, mode: other.key().mode() });
        }
    }
    found
}
