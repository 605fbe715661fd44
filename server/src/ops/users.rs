//! Users.

use common::{
    Activation, CreateUser, EventReason, ExternalId, License, LicenseDetails, NewUser, UpdateUser,
    User, UserField, UserId,
};

use super::change::Change;
use super::leases;
use super::members::{refuse_contradictions, update as update_member, update_metadata};
use super::outcome::{Changed, Upserted};
use super::similar_users;
use super::view::View;
use crate::db;
use crate::error::{Error, has_code};
use crate::events::NewEvent;
use crate::store::assignments::AssignmentWithSeat;
use crate::store::batch_rows::BatchRow;
use crate::store::phrases::Search;
use crate::store::{
    Collected, Page, assignments, leases as stored_leases, licenses, phrases, seats, users,
};

const NOT_FOUND: Error = Error::NotFound("user");
const TAKEN: Error = Error::Conflict("Another user has this externalId");
/// PostgreSQL's code of a unique violation. SQLite has one writer, so none occurs there.
pub(super) const UNIQUE_VIOLATION: &str = "23505";

/// Number of phrases of a user that a text is expected to match, in a search that shows only some
/// users.
const PHRASES_OF_USER: i64 = 3;

/// Creates the user, or updates an existing one, because a validation may have created it already.
pub async fn create(mut change: Change, new: CreateUser) -> Result<Upserted<User>, Error> {
    let (is_new, user) = ensure(&mut change, &new.external_id, NewUser::default()).await?;
    fill_in(change, is_new, user, new).await
}

/// Creates the user, and fails if it exists.
pub async fn create_new(mut change: Change, new: CreateUser) -> Result<Upserted<User>, Error> {
    let (is_new, user) = ensure(&mut change, &new.external_id, NewUser::default()).await?;
    if !is_new {
        return Err(Error::invalid("externalId", "This user already exists"));
    }
    fill_in(change, is_new, user, new).await
}

async fn fill_in(
    mut change: Change,
    is_new: bool,
    before: User,
    new: CreateUser,
) -> Result<Upserted<User>, Error> {
    let mut user = before.clone();
    update_member(&mut user.email, new.email, false);
    update_member(&mut user.name, new.name, false);
    update_metadata(&mut user.metadata, new.metadata, new.merge_metadata, false)?;
    let user = store(&mut change, &before, user).await?;
    if is_new {
        let event = NewEvent::user_created(&user);
        return Ok(change.commit(Upserted::New(user), event).await?);
    }
    let events = updated(&before, &user);
    Ok(change.commit(Upserted::Existing(user), events).await?)
}

/// Returns the user with this external id, locked, and whether it was created, with this data. The
/// caller records the event of the creation.
pub(super) async fn ensure(
    change: &mut Change,
    external_id: &ExternalId,
    NewUser { email, name }: NewUser,
) -> db::Result<(bool, User)> {
    let (scope, now) = (change.scope(), change.now);
    if let Some(user) = users::lock_external(change, scope, external_id).await? {
        return Ok((false, user));
    }
    let user = User { email, name, ..User::new(scope.tenant, external_id.clone(), now) };
    // Another request may have created the user since the first lookup.
    let stored = users::insert_or_lock(change, scope, &user).await?;
    let is_new = stored.id == user.id;
    if is_new {
        let phrases = (scope.world, user.id, phrases::of_user(&user));
        phrases::add_to_users(change, std::iter::once(phrases)).await?;
    }
    Ok((is_new, stored))
}

pub async fn get(view: View, id: UserId) -> Result<User, Error> {
    users::find(&mut view.read().await?, view.scope, id).await?.ok_or(NOT_FOUND)
}

/// Filter of a list, as the caller wrote it.
#[derive(Clone, Default)]
pub struct UserQuery {
    pub external_id: Option<String>,
    /// Starts of words of the external id, the email, the name or the metadata, in any order.
    pub search: Option<String>,
    /// A text that may mean the users. They are ordered by similarity.
    pub similar_to: Option<String>,
}

/// Returns the users that match the whole query.
pub async fn page(view: View, query: UserQuery, page: Page<UserId>) -> Result<Vec<User>, Error> {
    if query.search.as_ref().is_some_and(|text| text.contains('\0')) {
        // PostgreSQL cannot store such a text, so no user has it.
        return Ok(Vec::new());
    }
    let search = query.search.as_deref().and_then(Search::parse);
    let is_found =
        |user: &User| search.as_ref().is_none_or(|search| search.finds(&phrases::of_user(user)));
    if let Some(text) = &query.similar_to {
        let mut found = similar(&view, text, page).await?;
        let id = query.external_id.as_deref();
        found.retain(|it| is_found(it) && id.is_none_or(|id| it.external_id.as_str() == id));
        return Ok(found);
    }
    let Some(external_id) = query.external_id else {
        return Ok(match search {
            Some(search) => {
                let mut found = Collected::new(page);
                while let Some(page) = found.next {
                    let mut tx = view.snapshot().await?;
                    found.add(users::search(&mut tx, view.scope, &search, page).await?);
                }
                found.records
            }
            None => users::page(&mut view.read().await?, view.scope, page).await?,
        });
    };
    // A text that is not a valid external id belongs to no user.
    let Ok(external_id) = external_id.parse() else { return Ok(Vec::new()) };
    let user = users::find_external(&mut view.read().await?, view.scope, &external_id).await?;
    let matches = |user: &User| page.reaches(user.id) && is_found(user);
    Ok(user.into_iter().filter(matches).collect())
}

/// Returns the users similar to a text. They are few, so there is no second page.
async fn similar(view: &View, text: &str, page: Page<UserId>) -> Result<Vec<User>, Error> {
    if page.cursor != UserId::default() {
        return Ok(Vec::new());
    }
    let mut found = similar_users::find(&mut *view.snapshot().await?, view.scope, text).await?;
    found.truncate(page.limit as usize - 1);
    Ok(found)
}

/// Users found by a text.
pub struct FoundUsers {
    /// Users, first the one with exactly this external id.
    pub users: Vec<User>,
    /// Whether more users match.
    pub more_exist: bool,
}

/// Finds the user with exactly this external id, and at most `limit` others whose external id,
/// email or name has a word that starts with the text. It is as fast if a million users match.
/// There are no pages, because a longer text finds the rest.
pub async fn find(view: View, text: &str, limit: i64) -> Result<FoundUsers, Error> {
    let Some(search) = Search::parse(text).filter(|_| !text.contains('\0')) else {
        return Ok(FoundUsers { users: Vec::new(), more_exist: false });
    };
    let mut conn = view.read().await?;
    let exact = match text.parse::<ExternalId>() {
        Ok(external_id) => users::find_external(&mut conn, view.scope, &external_id).await?,
        Err(_) => None,
    };
    // A user may match by several phrases, and one of them may be the exact match. One more user
    // shows whether there are others.
    let most = (limit + 2) * PHRASES_OF_USER;
    let mut others = users::search_some(&mut conn, view.scope, &search, most).await?;
    others.retain(|user| exact.as_ref().is_none_or(|exact| exact.id != user.id));
    let more_exist = others.len() > limit as usize;
    others.truncate(limit as usize);
    Ok(FoundUsers { users: exact.into_iter().chain(others).collect(), more_exist })
}

pub async fn update(
    mut change: Change,
    id: UserId,
    update: UpdateUser,
) -> Result<Changed<User>, Error> {
    let scope = change.scope();
    refuse_contradictions(&update)?;
    let clear = update.clear.unwrap_or_default();
    let before = users::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&before)?;
    let mut user = before.clone();
    if let Some(external_id) = update.external_id {
        user.external_id = external_id;
    }
    let cleared = |field| clear.contains(&field);
    update_member(&mut user.email, update.email, cleared(UserField::Email));
    update_member(&mut user.name, update.name, cleared(UserField::Name));
    let is_cleared = cleared(UserField::Metadata);
    update_metadata(&mut user.metadata, update.metadata, update.merge_metadata, is_cleared)?;
    let mut events = Vec::new();
    if user.external_id != before.external_id {
        let taken = users::find_external(&mut change, scope, &user.external_id).await?;
        taken.map_or(Ok(()), |_| Err(TAKEN))?;
        events = drop_leases(&mut change, &before).await?;
    }
    let user = store(&mut change, &before, user).await.map_err(|error| {
        // A validation may have created a user with this id in the meantime.
        if has_code(&error, |code| code == UNIQUE_VIOLATION) { TAKEN } else { error.into() }
    })?;
    events.extend(updated(&before, &user));
    Ok(change.commit(Changed(user), events).await?)
}

/// Deletes the user, unassigns all licenses and frees the seats. A later validation creates a new
/// user.
pub async fn delete(mut change: Change, id: UserId) -> Result<Changed<User>, Error> {
    let scope = change.scope();
    let user = users::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&user)?;
    let licenses = licenses::lock_of_user(&mut change, scope, id).await?;
    let mut held = assignments::lock_of_user(&mut change, scope, id).await?;
    let mut events = leases::drop_running(&change, held_on(&licenses, &user.external_id, &held))?;
    seats::free_all_of_user(&mut change, scope, id).await?;
    assignments::delete_of_user(&mut change, scope, id).await?;
    users::delete(&mut change, scope, id).await?;
    for held in &mut held {
        let of = held.assignment.license_id;
        let Some(license) = licenses.iter().find(|license| license.id == of) else { continue };
        if let Some(seat) = &mut held.seat {
            change.last_checks.show(seat);
            events.push(NewEvent::seat_freed(
                license,
                &user.external_id,
                seat,
                EventReason::UserDeleted,
            ));
        }
        let assignment = &held.assignment;
        events.push(NewEvent::license_unassigned(license, &user.external_id, assignment));
    }
    events.push(NewEvent::user_deleted(&user));
    Ok(change.commit(Changed(user), events).await?)
}

/// Returns the seats that a user holds, each with its license.
fn held_on<'a>(
    licenses: &'a [LicenseDetails],
    user: &'a ExternalId,
    held: &'a [AssignmentWithSeat],
) -> impl Iterator<Item = (&'a License, &'a ExternalId, &'a Activation)> {
    held.iter().filter_map(|held| held.seat.as_ref()).filter_map(move |seat| {
        let license = licenses.iter().find(|license| license.id == seat.license_id)?;
        Some((&license.license, user, seat))
    })
}

/// Drops the user's leases, because applications with a lease use the former external id. The user
/// keeps the seats.
async fn drop_leases(change: &mut Change, user: &User) -> Result<Vec<NewEvent>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let licenses = licenses::lock_of_user(change, scope, user.id).await?;
    let held = assignments::lock_of_user(change, scope, user.id).await?;
    let events = leases::drop_running(change, held_on(&licenses, &user.external_id, &held))?;
    if !events.is_empty() {
        let floating = licenses.iter().filter_map(|it| {
            let idle = it.terms.floating(it.max_seats)?;
            Some(BatchRow::license_at(scope, it.id, now.plus(idle.duration())))
        });
        let floating: Vec<_> = floating.collect();
        stored_leases::drop_of_user(change, scope, user.id, &floating).await?;
    }
    Ok(events)
}

/// Stores the user if anything changed.
pub(super) async fn store(change: &mut Change, before: &User, mut user: User) -> db::Result<User> {
    if user != *before {
        let scope = change.scope();
        user.updated_at = change.time_after(before.updated_at);
        users::update(change, scope, &user).await?;
        phrases::set_of_user(change, scope, &user).await?;
    }
    Ok(user)
}

fn updated(before: &User, user: &User) -> Vec<NewEvent> {
    (user != before).then(|| NewEvent::user_updated(before, user)).into_iter().collect()
}
