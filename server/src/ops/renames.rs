//! Present and former external ids of a user. The events of renames show when the user had each of
//! them, so a user keeps the history under a new external id.

use std::ops::Range;

use common::{ExternalId, RenamedUser, User, UserId};

use super::view::View;
use crate::db::{self, Conn};
use crate::error::Error;
use crate::store::{Scope, renames as stored, users};

/// An external id, and the range of sequences in which the user had it.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    pub external_id: ExternalId,
    pub sequences: Range<i64>,
}

/// Returns the periods for a text, oldest first: those of the user with this id or external id, or
/// of the last user who had this external id. If no such user exists, one period covers all events
/// with the external id.
pub async fn periods_of(view: &View, text: &str) -> Result<Vec<Period>, Error> {
    let Ok(external_id) = text.parse::<ExternalId>() else { return Ok(Vec::new()) };
    let (mut conn, scope) = (view.snapshot().await?, view.scope);
    let by_id = match text.parse::<UserId>() {
        Ok(id) => users::find(&mut conn, scope, id).await?,
        Err(_) => None,
    };
    let by_external_id = users::find_external(&mut conn, scope, &external_id).await?;
    let user = match by_id.or(by_external_id) {
        Some(user) => Some(user),
        None => last_user_of(&mut conn, scope, &external_id, i64::MAX).await?,
    };
    match user {
        Some(user) => Ok(periods(&mut conn, scope, &user).await?),
        None => Ok(vec![Period { external_id, sequences: 0..i64::MAX }]),
    }
}

async fn periods(conn: &mut Conn, scope: Scope, user: &User) -> db::Result<Vec<Period>> {
    let created = stored::creation_of(conn, scope, user.id).await?;
    let mut until = i64::MAX;
    let mut periods = Vec::new();
    let mut external_id = user.external_id.clone();
    for rename in stored::renames(conn, scope, user.id).await? {
        periods.push(Period { external_id, sequences: rename.sequence..until });
        (external_id, until) = (rename.former_id, rename.sequence);
    }
    periods.push(Period { external_id, sequences: created.unwrap_or(0)..until });
    periods.reverse();
    Ok(periods)
}

async fn last_user_of(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
    before: i64,
) -> db::Result<Option<User>> {
    match stored::last_user_of(conn, scope, external_id, before).await? {
        Some(id) => users::find(conn, scope, id).await,
        None => Ok(None),
    }
}

/// Returns the user who had this external id before the `present` user, if that user was renamed.
pub(super) async fn renamed_from(
    conn: &mut Conn,
    scope: Scope,
    external_id: &ExternalId,
    present: Option<&User>,
) -> db::Result<Option<RenamedUser>> {
    let since = match present {
        Some(user) => periods(conn, scope, user).await?.pop().map(|last| last.sequences.start),
        None => None,
    };
    let before = since.unwrap_or(i64::MAX);
    let user = last_user_of(conn, scope, external_id, before).await?;
    let Some(user) = user.filter(|user| user.external_id != *external_id) else { return Ok(None) };
    let renames = stored::renames(conn, scope, user.id).await?;
    let rename = renames.into_iter().find(|it| it.former_id == *external_id);
    Ok(rename.map(|rename| RenamedUser {
        user_id: user.id,
        external_id: user.external_id,
        renamed_at: rename.time,
    }))
}
