//! Phrases, by which people find users and licenses: a text in lower case and without accents, from
//! the start of each of its words on. So "Acme Studio Berlin" is found by "acme", by "stud" and by
//! "studio ber", and "Zoë" by "zoe". Both databases compare phrases by bytes, so they find the same.

use std::collections::BTreeSet;

use common::{ExternalId, LicenseId, Line, Name, User, UserId};
use serde::Serialize;
use sqlx::types::{Json, Uuid};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use super::{Scope, TextRange, World};
use crate::db::{Conn, Result, Sql, locking};

/// How many characters of a phrase count. More would tell few texts apart, and PostgreSQL indexes no
/// more than 2700 bytes.
const LONGEST: usize = 64;
/// How many words of an id or an email, before its domain, are starts: an id may be a UUID.
const WORDS_OF_ID: usize = 3;

/// A row of the table of phrases.
#[derive(Serialize)]
pub struct PhraseRow(i32, uuid::fmt::Simple, String);

/// The phrases that a search finds: those that start with it. A search that ends with a blank or a
/// sign, as in `ada/`, ends with a whole word. None if it is empty.
pub fn range(search: &str) -> Option<TextRange> {
    let from = phrase(search)?;
    let is_whole_word = search.ends_with(|c: char| !is_of_word(c)) && from.contains(is_of_word);
    Some(match is_whole_word {
        // A phrase has letters, digits and blanks, and of these only the blank comes before `!`.
        true => TextRange { until: format!("{from}!"), from },
        false => TextRange::starting_with(&from),
    })
}

/// The phrases of a user's names.
pub fn of_user(user: &User) -> BTreeSet<String> {
    of_names(Some(&user.external_id), user.email.as_ref(), user.name.as_ref())
}

/// The external id, the email and the name of a user, each as a phrase.
pub fn names(user: &User) -> BTreeSet<String> {
    let email = user.email.iter().map(Line::as_str);
    let name = user.name.iter().map(Name::as_str);
    std::iter::once(user.external_id.as_str()).chain(email).chain(name).filter_map(phrase).collect()
}

fn of_names(
    external_id: Option<&ExternalId>,
    email: Option<&Line>,
    name: Option<&Name>,
) -> BTreeSet<String> {
    let ids = external_id.map(ExternalId::as_str).into_iter().chain(email.map(Line::as_str));
    let name = name.into_iter().flat_map(|name| starts(name.as_str()));
    ids.flat_map(starts_of_id).chain(name).collect()
}

/// The phrases of the name of a license, or of a user.
fn starts(name: &str) -> Vec<String> {
    phrase_starts(name, usize::MAX)
}

/// The phrases of an id or an email. The domain is a word.
fn starts_of_id(id: &str) -> Vec<String> {
    match id.rsplit_once('@') {
        Some((mailbox, domain)) => {
            let mut starts = phrase_starts(id, words(mailbox).clamp(1, WORDS_OF_ID));
            starts.extend(phrase(domain));
            starts
        }
        None => phrase_starts(id, WORDS_OF_ID),
    }
}

fn words(text: &str) -> usize {
    text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).count()
}

fn phrase_starts(text: &str, most: usize) -> Vec<String> {
    let Some(whole) = whole_phrase(text) else { return Vec::new() };
    let spaces = whole.match_indices(' ').map(|(at, _)| &whole[at + 1..]);
    std::iter::once(&*whole).chain(spaces).take(most).map(shorten).collect()
}

/// A text in the form of a phrase; none if it is empty.
pub fn phrase(text: &str) -> Option<String> {
    whole_phrase(text).as_deref().map(shorten)
}

/// The words of a text, separated by single blanks, or all of it if it contains neither a letter nor
/// a digit.
fn whole_phrase(text: &str) -> Option<String> {
    let text = fold(text);
    let words: Vec<_> = text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).collect();
    let phrase = if words.is_empty() { text } else { words.join(" ") };
    (!phrase.is_empty()).then_some(phrase)
}

fn shorten(phrase: &str) -> String {
    phrase.chars().take(LONGEST).collect()
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric()
}

fn fold(text: &str) -> String {
    let is_accent = |c: &char| canonical_combining_class(*c) != 0;
    let letters = text.nfkd().filter(|c| !is_accent(c)).flat_map(char::to_lowercase);
    // PostgreSQL cannot store NUL.
    letters.filter(|c| !is_accent(c) && *c != '\0').collect()
}

macro_rules! insert {
    ($table:literal, $record:literal) => {
        Sql::Each {
            sqlite: concat!(
                "insert into ", $table, " (world, ", $record, ", phrase)
                 select value ->> 0, unhex(value ->> 1), value ->> 2 from json_each($1) where true
                 on conflict do nothing"
            ),
            postgres: concat!(
                "insert into ", $table, " (world, ", $record, ", phrase)
                 select cast(value ->> 0 as integer), cast(value ->> 1 as uuid), value ->> 2
                 from jsonb_array_elements($1) as element (value)
                 on conflict do nothing"
            ),
        }
    };
}

/// Adds phrases to users, and returns how many they did not have yet.
pub async fn add_to_users(
    conn: &mut Conn,
    users: impl Iterator<Item = (World, UserId, BTreeSet<String>)>,
) -> Result<u64> {
    let users = users.map(|(world, id, phrases)| (world, id.uuid(), phrases));
    add(conn, insert!("user_phrases", "user_id"), users).await
}

/// Adds the phrases of its name to a license.
pub async fn add_to_license(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
    name: Option<&Name>,
) -> Result<()> {
    let license = std::iter::once((scope.world, id.uuid(), of_names(None, None, name)));
    add(conn, insert!("license_phrases", "license_id"), license).await.map(drop)
}

async fn add(
    conn: &mut Conn,
    insert: Sql,
    records: impl Iterator<Item = (World, Uuid, BTreeSet<String>)>,
) -> Result<u64> {
    let row = |(world, id, phrases): (World, Uuid, BTreeSet<String>)| {
        phrases.into_iter().map(move |phrase| PhraseRow(world.number(), id.simple(), phrase))
    };
    let rows: Vec<PhraseRow> = records.flat_map(row).collect();
    if rows.is_empty() { Ok(0) } else { conn.query(insert).bind(Json(rows)).execute().await }
}

/// Gives a user, who is locked, the phrases of the new names in place of those of the old ones.
pub async fn change_user(conn: &mut Conn, scope: Scope, before: &User, after: &User) -> Result<()> {
    const DELETE: Sql = Sql::Each {
        sqlite: "delete from user_phrases where user_id = $2 and world = $1
                 and phrase in (select value from json_each($3))",
        postgres: "delete from user_phrases where user_id = $2 and world = $1
                   and phrase in (select jsonb_array_elements_text($3))",
    };
    let (old, new) = (of_user(before), of_user(after));
    let gone: Vec<&String> = old.difference(&new).collect();
    if !gone.is_empty() {
        conn.query(DELETE).bind_scope(scope).bind(after.id).bind(Json(gone)).execute().await?;
    }
    let added = new.difference(&old).cloned().collect();
    add_to_users(conn, std::iter::once((scope.world, after.id, added))).await.map(drop)
}

/// Replaces the phrases of a license, which is locked, by those of its name.
pub async fn set_of_license(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
    name: Option<&Name>,
) -> Result<()> {
    conn.query("delete from license_phrases where license_id = $2 and world = $1")
        .bind_scope(scope)
        .bind(id)
        .execute()
        .await?;
    add_to_license(conn, scope, id, name).await
}

/// The most records of which [`fill_in`] adds the phrases in one transaction, which holds SQLite's
/// only writer.
const PORTION: i64 = 200;

/// A record with names, as [`fill_in`] reads it.
#[derive(sqlx::FromRow)]
struct NamedRecord {
    id: Uuid,
    world: World,
    external_id: Option<ExternalId>,
    email: Option<Line>,
    name: Option<Name>,
}

/// The table of which [`fill_in`] adds phrases.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    Users,
    Licenses,
}

/// The last record of a portion.
#[derive(Clone, Copy, Default)]
pub struct Reached(Uuid, World);

/// Adds the phrases that the next records lack, and returns how many these were and where the portion
/// ends. None after the last record.
pub async fn fill_in(
    conn: &mut Conn,
    named: Named,
    after: Reached,
) -> Result<Option<(u64, Reached)>> {
    // Locked, so that nobody is renamed meanwhile.
    let select = match named {
        Named::Users => locking!(
            "select id, world, external_id, email, name from users
             where (id, world) > ($1, $2) order by id, world limit $3"
        ),
        Named::Licenses => locking!(
            "select id, world, null as external_id, null as email, name from licenses
             where (id, world) > ($1, $2) and name is not null order by id, world limit $3"
        ),
    };
    let query = conn.query(select).bind(after.0).bind(after.1).bind(PORTION);
    let records: Vec<NamedRecord> = query.fetch_all().await?;
    let Some(last) = records.last() else { return Ok(None) };
    let reached = Reached(last.id, last.world);
    let phrases = records.into_iter().map(|record| {
        let NamedRecord { external_id, email, name, .. } = &record;
        (record.world, record.id, of_names(external_id.as_ref(), email.as_ref(), name.as_ref()))
    });
    let insert = match named {
        Named::Users => insert!("user_phrases", "user_id"),
        Named::Licenses => insert!("license_phrases", "license_id"),
    };
    Ok(Some((add(conn, insert, phrases).await?, reached)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_from_each_of_its_words() {
        let expected =
            ["o brien søren gmbh 2", "brien søren gmbh 2", "søren gmbh 2", "gmbh 2", "2"];
        assert_eq!(starts("  O'Brien & SØREN GmbH (2) "), expected);
        assert_eq!(starts("---/"), ["---/"]);
        assert_eq!(starts("株式会社"), ["株式会社"]);
        assert_eq!(starts(""), [""; 0]);
    }

    #[test]
    fn an_email_is_found_by_its_mailbox_and_its_domain() {
        let expected = ["sven larsen acme studio com", "larsen acme studio com", "acme studio com"];
        assert_eq!(starts_of_id("Sven.Larsen@Acme-Studio.com"), expected);
        assert_eq!(starts_of_id("@acme.com"), ["acme com", "acme com"]);
        assert_eq!(starts_of_id("u-10005"), ["u 10005", "10005"]);
        let uuid = "550e8400-e29b-41d4-a716-446655440000";
        assert_eq!(starts_of_id(uuid).len(), WORDS_OF_ID);
    }

    #[test]
    fn neither_case_nor_accents_nor_forms_count() {
        for text in ["ZOË", "zoe\u{308}", "zoë", "Ｚｏｅ"] {
            assert_eq!(phrase(text).as_deref(), Some("zoe"), "{text}");
        }
        assert_eq!(phrase("İstanbul").as_deref(), Some("istanbul"));
        // Their vowel signs are no accents.
        assert_eq!(phrase("हिन्दी").as_deref(), phrase("हिन्दी").as_deref());
        assert_ne!(phrase("कि"), phrase("क"));
        // One letter that is as long as eighteen.
        assert_eq!(phrase(&"\u{fdfa}".repeat(255)).unwrap().chars().count(), LONGEST);
    }

    #[test]
    fn a_search_may_end_with_a_whole_word() {
        let finds = |search: &str, phrase: &str| range(search).is_some_and(|it| it.holds(phrase));
        for (search, found, not_found) in [
            ("ada", &["ada", "ada 1", "adam 1"][..], &["bada"][..]),
            ("ada/", &["ada", "ada 1"], &["adam 1", "ada1"]),
            ("Ada ", &["ada", "ada lovelace"], &["adam"]),
            ("@acme.com", &["acme com", "acme community"], &["com"]),
            ("studio ber", &["studio berlin"], &["studio", "berlin"]),
            ("%", &["%", "%%"], &["100"]),
            ("", &[], &["", "ada"]),
        ] {
            assert!(found.iter().all(|phrase| finds(search, phrase)), "{search}");
            assert!(!not_found.iter().any(|phrase| finds(search, phrase)), "{search}");
        }
    }
}
