//! Makes foreign text safe to show: on a terminal, in a log, and in a command to be copied.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Escapes control characters, so that text of a server cannot move the cursor, ring or recolour.
/// Marks that change the writing direction, break lines or cannot be seen count as control
/// characters; joiners, which scripts and emoji need, do not.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(unsafe_to_show) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if unsafe_to_show(letter) {
            safe.extend(letter.escape_default());
        } else {
            safe.push(letter);
        }
    }
    Cow::Owned(safe)
}

/// Escapes data of several lines in the notation of JSON.
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    let is_unsafe = |letter: char| letter != '\n' && unsafe_to_show(letter);
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let escaped = |letter: char| match is_unsafe(letter) {
        true => format!("\\u{:04x}", u32::from(letter)),
        false => letter.to_string(),
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

fn unsafe_to_show(letter: char) -> bool {
    const MARKS: [std::ops::RangeInclusive<char>; 7] = [
        '\u{ad}'..='\u{ad}',
        '\u{61c}'..='\u{61c}',
        '\u{200b}'..='\u{200b}',
        '\u{200e}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
    ];
    letter.is_control() || MARKS.iter().any(|marks| marks.contains(&letter))
}

/// Cuts everything that looks like a key to its public prefix of 12 characters.
pub fn redact(text: &str) -> Cow<'_, str> {
    const SHOWN_KEY_CHARS: usize = "sk_live_".len() + 4;
    let key = |text: &str| text.find("sk_live_").into_iter().chain(text.find("sk_test_")).min();
    if key(text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = key(rest) {
        let (before, key) = rest.split_at(start);
        let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = key.find(|letter| !word(letter)).unwrap_or(key.len());
        safe += before;
        safe += &key[..end.min(SHOWN_KEY_CHARS)];
        safe += if end > SHOWN_KEY_CHARS { "…" } else { "" };
        rest = &key[end..];
    }
    Cow::Owned(safe + rest)
}

/// Quotes a word for a POSIX shell when it needs quoting.
pub fn quote(word: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@,+%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    if !word.contains(['"', '$', '`', '\\', '!']) {
        return Cow::Owned(format!("\"{word}\""));
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

/// Cuts to `width` columns, the last being an ellipsis when something was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(clean("plain ü 漢"), "plain ü 漢");
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}"), r"a\u{1b}[31mb\nc\u{202e}");
        assert_eq!(clean("a\u{200b}b\u{2028}c\u{feff}"), r"a\u{200b}b\u{2028}c\u{feff}");
        assert_eq!(
            clean_lines("{\n\"a\": \"\u{9b}2J\u{202e}\"\n}"),
            "{\n\"a\": \"\\u009b2J\\u202e\"\n}"
        );
        assert_eq!(clean("👩\u{200d}💻 می\u{200c}خواهم"), "👩\u{200d}💻 می\u{200c}خواهم");
    }

    #[test]
    fn keys_are_cut_wherever_they_stand() {
        let text = r#"{"key":"sk_live_abcdEFGH","a":"sk_test_1234"} Bearer sk_test_1234567"#;
        let safe = r#"{"key":"sk_live_abcd…","a":"sk_test_1234"} Bearer sk_test_1234…"#;
        assert_eq!(redact(text), safe);
        assert_eq!(redact("sk_live_"), "sk_live_");
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote("lic_01"), "lic_01");
        assert_eq!(quote("Acme Studio"), "\"Acme Studio\"");
        assert_eq!(quote(""), "\"\"");
        assert_eq!(quote("it's $5"), r"'it'\''s $5'");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text: String) {
            let safe = clean(&text);
            prop_assert!(!safe.contains(unsafe_to_show));
            prop_assert_eq!(clean(&safe).into_owned(), safe.into_owned());
        }

        #[test]
        fn no_key_is_left(before in "\\PC{0,8}", key in "[0-9A-Za-z]{38}", after in "\\PC{0,8}") {
            let text = format!("{before}sk_live_{key}{after}sk_test_{key}");
            prop_assert!(!redact(&text).contains(&key), "{}", text);
        }
    }
}
