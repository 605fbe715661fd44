//! The same person under another id: an application sends `Kim@x` where `kim@x` has the license.

use std::collections::BTreeSet;

use common::{ExternalId, User};

use crate::db::{Conn, Result};
use crate::store::phrases::Search;
use crate::store::{Scope, assignments, phrases, users};

/// How many are named.
const MOST: usize = 3;
/// How many users of each name are looked at.
const READ: i64 = 20;

/// Users who have a license, and whose id, email or name is that of `user`, or this id, but for case,
/// accents and signs.
pub(super) async fn licensed_namesakes(
    conn: &mut Conn,
    scope: Scope,
    id: &ExternalId,
    user: Option<&User>,
) -> Result<Vec<User>> {
    let names = match user {
        Some(user) => phrases::names(user),
        None => phrases::phrase(id.as_str()).into_iter().collect::<BTreeSet<_>>(),
    };
    let mut found: Vec<User> = Vec::new();
    for name in &names {
        for other in users::search_some(conn, scope, &Search::of(name), READ).await? {
            let is_known = other.external_id == *id || found.iter().any(|it| it.id == other.id);
            if is_known || phrases::names(&other).is_disjoint(&names) {
                continue;
            }
            if assignments::count_of_user(conn, scope, other.id).await?.0 > 0 {
                found.push(other);
            }
            if found.len() == MOST {
                return Ok(found);
            }
        }
    }
    Ok(found)
}
