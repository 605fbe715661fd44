//! Finds the same person under another id: for example, an application sends `Kim@x`, and `kim@x` has
//! the license.

use std::collections::BTreeSet;

use common::{ExternalId, User};

use crate::db::{Conn, Result};
use crate::store::phrases::Search;
use crate::store::{Scope, assignments, phrases, users};

/// Maximum number of users to return.
const MAX_USERS: usize = 3;
/// Maximum number of users to examine for each name.
const READ: i64 = 20;

/// Returns users who have a license, and whose id, email or name equals `id` or one of the names of
/// `user`. Case, accents and punctuation are ignored.
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
            if found.len() == MAX_USERS {
                return Ok(found);
            }
        }
    }
    Ok(found)
}
