//! Phrases of texts: in lower case, without accents, from the start of each word on.

use std::collections::BTreeSet;

use common::{Line, Metadata, Name, User};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use crate::store::TextRange;

/// Maximum number of characters of a phrase. More would distinguish few texts, and PostgreSQL
/// indexes at most 2700 bytes.
const MAX_LENGTH: usize = 64;
/// Maximum number of words of an id or an email, before its domain, that start a phrase: an id may
/// be a UUID.
const MAX_WORDS_OF_ID: usize = 3;
/// Maximum number of phrases that start within a word, in scripts without blanks between words.
const MAX_STARTS_IN_WORDS: usize = 32;
/// Maximum number of values of metadata that are found.
const MAX_VALUES: usize = 32;

/// The words of a search, in any order: a record has a phrase in each of the ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The range that is looked up in the index. The longest word finds the fewest records.
    pub first: TextRange,
    /// The others, or [`TextRange::all`].
    pub others: [TextRange; 2],
}

impl Search {
    /// Maximum number of words that may come in any order.
    pub const MAX_WORDS: usize = 3;

    pub fn ranges(&self) -> [&TextRange; Self::MAX_WORDS] {
        [&self.first, &self.others[0], &self.others[1]]
    }

    /// Reads the words of a search, separated by blanks; all behind the second are one phrase. A
    /// search that ends with a blank or a sign, as in `ada/`, ends with a whole word. None if it is
    /// empty.
    pub fn parse(search: &str) -> Option<Self> {
        let (start, end) = search.split_at(search.trim_end().len());
        let words: Vec<&str> = start.split_whitespace().filter(|it| has_letters(it)).collect();
        let mut ranges: Vec<TextRange> = match words.as_slice() {
            [] => Vec::from_iter(range(start)),
            [first, second, rest @ .., last] => {
                let rest = [rest, &[last]].concat().join(" ");
                let words = [(*first).to_owned(), (*second).to_owned(), rest + end];
                words.iter().filter_map(|word| range(word)).collect()
            }
            [first, last] => {
                let last = (*last).to_owned() + end;
                range(first).into_iter().chain(range(&last)).collect()
            }
            [only] => range(&((*only).to_owned() + end)).into_iter().collect(),
        };
        ranges.sort_by_key(|range| std::cmp::Reverse(range.from.len()));
        let mut ranges = ranges.into_iter();
        let first = ranges.next()?;
        let mut other = || ranges.next().unwrap_or_else(TextRange::all);
        Some(Self { first, others: [other(), other()] })
    }

    /// Creates a search for exactly one phrase.
    pub fn of(phrase: &str) -> Self {
        let others = [TextRange::all(), TextRange::all()];
        Self { first: TextRange::of(phrase), others }
    }

    /// The search with each of its words as the first one.
    pub fn orders(&self) -> impl Iterator<Item = Self> + use<> {
        let [second, third] = &self.others;
        let ranges = [&self.first, second, third];
        let orders = [[0, 1, 2], [1, 0, 2], [2, 0, 1]].map(|order| {
            let [first, second, third] = order.map(|at| ranges[at].clone());
            Self { first, others: [second, third] }
        });
        orders.into_iter().filter(|order| order.first != TextRange::all())
    }

    pub fn has_one_word(&self) -> bool {
        self.others[0] == TextRange::all()
    }

    pub fn finds(&self, phrases: &BTreeSet<String>) -> bool {
        self.ranges().into_iter().all(|range| phrases.iter().any(|phrase| range.holds(phrase)))
    }
}

/// The phrases that start with a text, or, if a blank or sign follows its last word, with the whole
/// word.
fn range(text: &str) -> Option<TextRange> {
    let from = phrase(text)?;
    let is_whole_word = text.ends_with(|c: char| !is_of_word(c)) && has_letters(&from);
    Some(match is_whole_word {
        // A phrase has letters, digits and blanks, and of these only the blank comes before `!`.
        true => TextRange { until: format!("{from}!"), from },
        false => TextRange::starting_with(&from),
    })
}

/// The phrases of a user's names and metadata.
pub fn of_user(user: &User) -> BTreeSet<String> {
    let ids = [Some(user.external_id.as_str()), user.email.as_ref().map(Line::as_str)];
    of_texts(ids, user.name.as_ref(), user.metadata.as_ref())
}

/// The phrases of the name and the metadata of a license.
pub fn of_license(name: Option<&Name>, metadata: Option<&Metadata>) -> BTreeSet<String> {
    of_texts([None, None], name, metadata)
}

pub(super) fn of_texts(
    ids: [Option<&str>; 2],
    name: Option<&Name>,
    metadata: Option<&Metadata>,
) -> BTreeSet<String> {
    let mut phrases: BTreeSet<String> = BTreeSet::new();
    phrases.extend(ids.into_iter().flatten().flat_map(starts_of_id));
    phrases.extend(name.into_iter().flat_map(|name| starts(name.as_str(), usize::MAX)));
    let mut values = Vec::new();
    for value in metadata.into_iter().flat_map(|metadata| metadata.values()) {
        collect_values(value, &mut values);
    }
    phrases.extend(values.iter().flat_map(|value| starts(value, MAX_WORDS_OF_ID)));
    phrases
}

/// Adds the texts and numbers in a value of metadata.
fn collect_values(value: &Value, found: &mut Vec<String>) {
    match value {
        _ if found.len() >= MAX_VALUES => {}
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| collect_values(value, found)),
        Value::Object(members) => members.values().for_each(|it| collect_values(it, found)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The external id, the email and the name of a user, each as a phrase.
pub fn names(user: &User) -> BTreeSet<String> {
    let email = user.email.iter().map(Line::as_str);
    let name = user.name.iter().map(Name::as_str);
    let id = user.external_id.as_str();
    std::iter::once(id).chain(email).chain(name).filter_map(phrase).collect()
}

/// The phrases of an id or an email. The domain is a word.
fn starts_of_id(id: &str) -> Vec<String> {
    match id.rsplit_once('@') {
        Some((mailbox, domain)) => {
            let mut starts = starts(id, words(mailbox).clamp(1, MAX_WORDS_OF_ID));
            starts.extend(phrase(domain));
            starts
        }
        None => starts(id, MAX_WORDS_OF_ID),
    }
}

fn words(text: &str) -> usize {
    text.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).count()
}

/// The phrases that start with one of the first words. A name with an apostrophe is also found
/// without it: `O'Brien` by `brien` and by `obrien`.
fn starts(text: &str, max_words: usize) -> Vec<String> {
    let mut starts = phrase_starts(text, max_words);
    if text.contains(APOSTROPHES) {
        starts.extend(phrase_starts(&text.replace(APOSTROPHES, ""), max_words));
    }
    starts
}

const APOSTROPHES: [char; 4] = ['\'', '’', '‘', 'ʼ'];

fn phrase_starts(text: &str, max_words: usize) -> Vec<String> {
    let Some(whole) = whole_phrase(text) else { return Vec::new() };
    let words = whole.match_indices(' ').map(|(at, _)| at + 1);
    let in_words = whole.char_indices().skip(1).filter(|(_, c)| can_start_a_word(*c));
    let in_words = in_words.map(|(at, _)| at).take(MAX_STARTS_IN_WORDS);
    let starts = std::iter::once(0).chain(words).take(max_words).chain(in_words);
    starts.map(|at| shorten(&whole[at..])).collect()
}

/// Whether a word may begin with this character in the middle of a text: Chinese and Japanese have no
/// blanks, and in Korean a given name follows the family name. NFKD has split Hangul, so these are
/// its leading consonants.
fn can_start_a_word(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{115f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
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
    phrase.chars().take(MAX_LENGTH).collect()
}

fn has_letters(text: &str) -> bool {
    text.contains(is_of_word)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric()
}

/// Removes accents and case. Letters that Unicode does not decompose become those that people type.
fn fold(text: &str) -> String {
    let is_accent = |c: &char| canonical_combining_class(*c) != 0;
    let letters = text.nfkd().filter(|c| !is_accent(c)).flat_map(char::to_lowercase);
    let mut folded = String::with_capacity(text.len());
    // PostgreSQL cannot store NUL.
    for letter in letters.filter(|c| !is_accent(c) && *c != '\0') {
        match letter {
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' | 'ð' => folded.push('d'),
            'ħ' => folded.push('h'),
            'ŧ' => folded.push('t'),
            'ı' => folded.push('i'),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ß' => folded.push_str("ss"),
            'þ' => folded.push_str("th"),
            letter => folded.push(letter),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_from_each_of_its_words() {
        let expected = ["brien & soren", "o brien", "obrien", "soren gmbh", "gmbh 2", "2"];
        let found = starts("  O'Brien & SØREN GmbH (2) ", usize::MAX);
        for text in expected {
            let phrase = phrase(text).unwrap();
            assert!(found.iter().any(|it| it.starts_with(&phrase)), "{text} in {found:?}");
        }
        assert_eq!(starts("---/", usize::MAX), ["---/"]);
        assert_eq!(starts("山田太郎", usize::MAX), ["山田太郎", "田太郎", "太郎", "郎"]);
        assert_eq!(starts("", usize::MAX), [""; 0]);
        assert_eq!(starts(&"郎".repeat(255), usize::MAX).len(), 1 + MAX_STARTS_IN_WORDS);
    }

    #[test]
    fn an_email_is_found_by_its_mailbox_and_its_domain() {
        let expected = ["sven larsen acme studio com", "larsen acme studio com", "acme studio com"];
        assert_eq!(starts_of_id("Sven.Larsen@Acme-Studio.com"), expected);
        assert_eq!(starts_of_id("@acme.com"), ["acme com", "acme com"]);
        assert_eq!(starts_of_id("u-10005"), ["u 10005", "10005"]);
        let uuid = "550e8400-e29b-41d4-a716-446655440000";
        assert_eq!(starts_of_id(uuid).len(), MAX_WORDS_OF_ID);
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
        assert_eq!(phrase(&"\u{fdfa}".repeat(255)).unwrap().chars().count(), MAX_LENGTH);
    }

    #[test]
    fn letters_that_unicode_does_not_decompose_are_typed_as_others() {
        for (text, folded) in [
            ("Łukasz", "lukasz"),
            ("Bjørn", "bjorn"),
            ("Đặng", "dang"),
            ("Yıldız", "yildiz"),
            ("Æsir Þór", "aesir thor"),
            ("Ħal Œuvre Straße", "hal oeuvre strasse"),
        ] {
            assert_eq!(phrase(text).as_deref(), Some(folded));
        }
    }

    #[test]
    fn a_search_finds_words_in_any_order() {
        let finds = |search: &str, phrase: &str| {
            Search::parse(search)
                .is_some_and(|it| it.finds(&starts(phrase, 9).into_iter().collect()))
        };
        for (search, found, not_found) in [
            ("ada", &["ada", "ada 1", "adam 1"][..], &["bada"][..]),
            ("ada/", &["ada", "ada 1"], &["adam 1", "ada1"]),
            ("Ada ", &["ada", "ada lovelace"], &["adam"]),
            ("@acme.com", &["acme com", "acme community"], &["com", "com acme"]),
            ("studio ber", &["studio berlin", "Berlin Studio"], &["studio", "berlin"]),
            ("lovelace ada ", &["ada lovelace"], &["adam lovelace"]),
            ("king ada love", &["ada king lovelace"], &["ada king", "king love"]),
            ("obrien o'brien brien", &["O'Brien"], &["brien"]),
            ("a & b", &["B & A"], &["a"]),
            ("太郎", &["山田太郎"], &["山田"]),
            ("철수", &["김철수"], &["김영희"]),
            ("%", &["%", "%%"], &["100"]),
            ("", &[], &["", "ada"]),
        ] {
            assert!(found.iter().all(|phrase| finds(search, phrase)), "{search}");
            assert!(!not_found.iter().any(|phrase| finds(search, phrase)), "{search}");
        }
    }

    #[test]
    fn values_of_metadata_are_found_and_their_names_are_not() {
        let metadata =
            serde_json::json!({ "order": "A-17", "seats": 3, "more": [{ "crm": "Zoë" }] });
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        let found = Vec::from_iter(of_license(None, Some(&metadata)));
        assert_eq!(found, ["17", "3", "a 17", "zoe"]);
    }
}
