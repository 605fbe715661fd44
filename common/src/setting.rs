//! Cleans settings from the environment or a file, which editors, shells and web pages change.

/// Returns a setting without blanks, line ends and a byte order mark around it. Fails if an invisible
/// character remains, because users could not find it from an error about the value.
pub fn setting(text: &str) -> Result<&str, Invisible> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    match text.chars().find(|c| is_invisible(*c)) {
        Some(c) => Err(Invisible(c)),
        None => Ok(text),
    }
}

/// Returns a text, such as the cell of a table, without blanks and invisible characters around it.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || is_invisible(c) && !c.is_control())
}

/// An invisible character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it contains an invisible character, U+{:04X}; type the value again", u32::from(*.0))]
pub struct Invisible(char);

pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{feff}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_surrounds_a_setting_goes_and_what_is_hidden_in_it_is_named() {
        for text in ["600/m", " 600/m\r\n", "\u{feff}600/m\n", "\u{a0}600/m\t"] {
            assert_eq!(setting(text), Ok("600/m"), "{text:?}");
        }
        assert_eq!(setting("a b"), Ok("a b"));
        for text in ["600\u{200b}/m", "600/m\u{200b}", "6\u{0}", "a\u{ad}b", "a\r\nb", "\u{202e}a"]
        {
            assert!(setting(text).is_err(), "{text:?}");
        }
        let said = setting("600/m\u{200b}").unwrap_err().to_string();
        assert_eq!(said, "it contains an invisible character, U+200B; type the value again");
    }
}
