//! The text of a license key, however people type or paste it.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use crate::id::ALPHABET;
use crate::inline_schema::inline_schema;
use crate::setting::is_invisible;

const GROUP: usize = 5;
/// Number of characters of a generated key: five groups, of which the last character is a check.
const MADE: usize = 5 * GROUP;
/// Minimum number of significant characters of an imported key.
const SHORTEST: usize = 8;
const SHORT: usize = 12;
const LONGEST: usize = 4096;
/// Maximum number of characters that support sees of a key.
const SUFFIX: usize = 6;
/// Ending of the keys of another service.
const VERSION_MARK: &str = "V3";

/// Reason why a text is not a license key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {}", self.rule())]
pub enum MalformedKey {
    Length,
    /// A character that no license key contains.
    Character(char),
}

impl MalformedKey {
    fn rule(self) -> String {
        match self {
            Self::Length => "a text of 8 to 4096 letters, digits and signs".to_owned(),
            Self::Character(c) => format!("a text without “{c}”, which no license key contains"),
        }
    }
}

/// A license key as it was typed. It has no `Debug` or `Display`, so it cannot get into a log by
/// accident, and its memory is overwritten.
#[derive(Clone)]
pub struct KeyText {
    given: Zeroizing<String>,
    form: Zeroizing<String>,
}

impl KeyText {
    /// Generates a key of 120 random bits.
    #[cfg(feature = "server")]
    #[expect(clippy::expect_used, reason = "without randomness no key is safe to give out")]
    pub fn generate() -> Self {
        let mut bytes = Zeroizing::new([0; MADE - 1]);
        getrandom::fill(&mut *bytes).expect("the system gives random bytes");
        let mut form = Zeroizing::new(String::with_capacity(MADE));
        form.extend(bytes.iter().map(|byte| character(usize::from(byte % 32))));
        let check = check_character(&form);
        form.extend(check);
        let groups = (0..MADE).step_by(GROUP).map(|at| &form[at..at + GROUP]);
        let given = Zeroizing::new(groups.collect::<Vec<_>>().join("-"));
        Self { given, form }
    }

    /// Returns the key as it was typed. The caller must not log or store it.
    pub fn expose(&self) -> &str {
        &self.given
    }

    /// Returns the normal form of the key, which is hashed.
    pub fn form(&self) -> &str {
        &self.form
    }

    /// Whether the check character matches, so that the key was not guessed. `None` if the key does
    /// not have the form of a generated key.
    pub fn check(&self) -> Option<bool> {
        let (body, check) = self.form.split_at_checked(MADE - 1)?;
        let given = check.parse::<char>().ok().filter(|given| value(*given).is_some())?;
        Some(check_character(body)? == given)
    }

    /// Whether the key has fewer than 12 characters and can be guessed easily.
    pub fn is_short(&self) -> bool {
        self.form.chars().count() < SHORT
    }

    /// Returns the last characters, at most a quarter of the key. `None` for a key that is so short
    /// that its other characters could be guessed.
    pub fn suffix(&self) -> Option<String> {
        if self.is_short() {
            return None;
        }
        let brought = (self.form.len() != MADE).then_some(&**self.form);
        let form = brought.and_then(|form| form.strip_suffix(VERSION_MARK)).unwrap_or(&self.form);
        let count = form.chars().count();
        Some(form.chars().skip(count - SUFFIX.min(count / 4)).collect())
    }

    /// Returns the normal form of a text that may be a part of a key: upper case in Unicode's form
    /// NFKC, no separators, `O` as `0`, `I` and `L` as `1`. Removes a label such as "License key:"
    /// and punctuation around the text, because people copy them too.
    pub fn form_of(text: &str) -> Zeroizing<String> {
        let decoded = text.replace("%2D", "-").replace("%2d", "-").replace("%20", " ");
        let decoded = Zeroizing::new(decoded);
        let text: Zeroizing<String> = Zeroizing::new(decoded.nfkc().collect());
        let is_word = |label: &str| label.chars().all(|c| c.is_alphabetic() || c.is_whitespace());
        let labelled =
            text.split_once(':').filter(|(label, key)| is_word(label) && !key.is_empty());
        let key = labelled.map_or(&**text, |(_, key)| key);
        let key = key.trim_matches(|c: char| !c.is_alphanumeric());
        let counts = |c: &char| !c.is_whitespace() && !is_invisible(*c) && !is_separator(*c);
        let plain = |c| match c {
            'O' => '0',
            'I' | 'L' => '1',
            c => c,
        };
        Zeroizing::new(key.chars().filter(counts).flat_map(char::to_uppercase).map(plain).collect())
    }
}

impl FromStr for KeyText {
    type Err = MalformedKey;

    fn from_str(text: &str) -> Result<Self, MalformedKey> {
        if text.len() > 4 * LONGEST {
            return Err(MalformedKey::Length);
        }
        let form = Self::form_of(text);
        if let Some(other) =
            form.chars().find(|c| !c.is_alphanumeric() && !c.is_ascii_punctuation())
        {
            return Err(MalformedKey::Character(other));
        }
        if !(SHORTEST..=LONGEST).contains(&form.chars().count()) {
            return Err(MalformedKey::Length);
        }
        Ok(Self { given: Zeroizing::new(text.trim().to_owned()), form })
    }
}

impl Serialize for KeyText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.given)
    }
}

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::<String>::deserialize(deserializer)?;
        // The error does not repeat the text, because it may be a secret.
        let expected = |error: MalformedKey| format!("invalid text, expected {}", error.rule());
        text.parse().map_err(|error| D::Error::custom(expected(error)))
    }
}

inline_schema!(KeyText, { "type": "string", "minLength": SHORTEST });

/// Whether a character is a hyphen, a dash of any length, a minus, or a usual replacement.
fn is_separator(c: char) -> bool {
    matches!(c, '_' | '/' | '-' | '\u{58a}' | '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}')
        || matches!(c, '\u{2e3a}' | '\u{2e3b}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}')
}

/// Returns the character of Crockford's base32 with this value, which is below 32.
fn character(value: usize) -> char {
    char::from(ALPHABET[value].to_ascii_uppercase())
}

fn value(character: char) -> Option<usize> {
    ALPHABET.iter().position(|known| char::from(known.to_ascii_uppercase()) == character)
}

/// Returns Luhn's check character, modulo 32. It detects each wrong character, and nearly all
/// swapped ones.
fn check_character(body: &str) -> Option<char> {
    let mut sum = 0;
    for (at, character) in body.chars().rev().enumerate() {
        let weighted = value(character)? * if at % 2 == 0 { 2 } else { 1 };
        sum += weighted / 32 + weighted % 32;
    }
    Some(character((32 - sum % 32) % 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> KeyText {
        text.parse().map_err(|error| format!("{text:?} {error}")).unwrap()
    }

    #[cfg(feature = "server")]
    #[test]
    fn makes_keys_that_differ_and_notices_each_wrong_character() {
        let made = KeyText::generate();
        assert!(made.form() != KeyText::generate().form());
        assert_eq!(made.expose().len(), 29);
        assert_eq!(key(made.expose()).check(), Some(true));
        assert_eq!(made.suffix().as_deref(), Some(&made.form()[19..]));
        for at in 0..MADE {
            let mut wrong = made.form().to_owned().into_bytes();
            let other = (value(char::from(wrong[at])).unwrap() + 1) % 32;
            wrong[at] = character(other) as u8;
            assert_eq!(key(&String::from_utf8(wrong).unwrap()).check(), Some(false), "{at}");
        }
    }

    #[test]
    fn a_key_has_one_form_however_it_is_typed() {
        let form = "7KQ4M0A1B1C2D3E4F5G6H7J8K";
        for typed in [
            "7KQ4M-0A1B1-C2D3E-4F5G6-H7J8K",
            "7kq4m–oaibl–c2d3e–4f5g6–h7j8k",
            " 7KQ4M OA1BI C2D3E\r\n4F5G6\u{200b} H7J8K\n",
            "\"7KQ4M-0A1B1-C2D3E-4F5G6-H7J8K\".",
            "(7KQ4M_0A1B1_C2D3E_4F5G6_H7J8K),",
            "“7KQ4M/0A1B1/C2D3E/4F5G6/H7J8K”",
            "7KQ4M%2D0A1B1%2dC2D3E%204F5G6-H7J8K",
            "License key: 7KQ4M-0A1B1-C2D3E-4F5G6-H7J8K",
            "Lizenzschlüssel：７ＫＱ４Ｍ－０Ａ１Ｂ１－Ｃ２Ｄ３Ｅ－４Ｆ５Ｇ６－Ｈ７Ｊ８Ｋ",
            "𝟕𝐊𝐐𝟒𝐌-0A1B1-C2D3E-4F5G6-H7J8K",
            "7KQ4M\u{2212}0A1B1\u{ad}C2D3E—4F5G6\u{ff0d}H7J8K",
        ] {
            assert_eq!(key(typed).form(), form, "{typed:?}");
        }
        assert!(key("7KQ4M-0A1B1-C2D3E-4F5G6-H7J8K").check().is_some());
        assert_eq!(key("7KQ4M-0A1B1-C2D3E-4F5G6-H7J8").check(), None);
        assert_eq!(key("7KQ4M-0A1B1-C2D3E-4F5G6-H7J8!").check(), None);
    }

    #[test]
    fn a_brought_key_has_a_length_and_shows_a_quarter_at_most() {
        for (text, is_taken) in [
            ("ABCD-EFG", false),
            ("ABCD-EFGH", true),
            (&"x".repeat(4096), true),
            (&"x".repeat(4097), false),
            ("- - - - - - - - - - -", false),
        ] {
            assert_eq!(text.parse::<KeyText>().is_ok(), is_taken, "{}", text.len());
        }
        let named = "7KQ4M→0A1B1".parse::<KeyText>().err().unwrap();
        assert_eq!(named.to_string(), "must be a text without “→”, which no license key contains");
        assert!(key("ABCD-EFGH").is_short() && !key("ABCD-EFGH-JKMN").is_short());
        for (text, suffix) in [
            ("ABCD-EFGH", None),
            ("ABCD-EFGH-JKMN", Some("KMN")),
            ("C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3", Some("4AF593")),
            ("38B1460A-5104-4067-A91D-77B872934D51", Some("934D51")),
        ] {
            assert_eq!(key(text).suffix().as_deref(), suffix, "{text}");
        }
    }
}
