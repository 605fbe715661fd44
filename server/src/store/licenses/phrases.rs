//! The phrases by which a license is found: its name in lower case, starting at each of its words.
//! So "Acme Studio Berlin" is found by "acme", by "stud" and by "studio ber".

use common::{LicenseId, Name};
use sqlx::types::Json;

use crate::db::{Conn, Result, Sql};
use crate::store::Scope;

/// A text in the form of a phrase: its words in lower case, separated by single spaces. None if it
/// contains neither a letter nor a digit.
pub fn phrase(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Replaces the phrases of a license by those of its name. The license must be locked.
pub async fn set_phrases(
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
    add_phrases(conn, scope, id, name).await
}

/// Adds the phrases of the name to a license that has none.
pub async fn add_phrases(
    conn: &mut Conn,
    scope: Scope,
    id: LicenseId,
    name: Option<&Name>,
) -> Result<()> {
    const INSERT: Sql = Sql::Each {
        sqlite: "insert into license_phrases (world, license_id, phrase)
                 select $1, $2, value from json_each($3)",
        postgres: "insert into license_phrases (world, license_id, phrase)
                   select $1, $2, value from jsonb_array_elements_text($3) as phrase (value)",
    };
    if let Some(whole) = name.and_then(|name| phrase(name.as_str())) {
        conn.query(INSERT).bind_scope(scope).bind(id).bind(Json(ends(&whole))).execute().await?;
    }
    Ok(())
}

/// The rest of the phrase from the start of each word, without duplicates.
fn ends(phrase: &str) -> Vec<&str> {
    let spaces = phrase.match_indices(' ').map(|(at, _)| &phrase[at + 1..]);
    std::iter::once(phrase).chain(spaces).collect()
}

#[cfg(test)]
mod tests {
    use super::{ends, phrase};

    #[test]
    fn a_name_is_found_from_each_of_its_words() {
        let phrase = phrase("  O'Brien & SØREN GmbH (2) ").unwrap();
        assert_eq!(
            ends(&phrase),
            ["o brien søren gmbh 2", "brien søren gmbh 2", "søren gmbh 2", "gmbh 2", "2"]
        );
        assert_eq!(super::phrase("--- /"), None);
    }
}
