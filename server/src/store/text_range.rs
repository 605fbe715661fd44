//! All texts with a common prefix, as a range of an index.

/// From one text up to, but excluding, another, compared by bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct TextRange {
    pub from: String,
    pub until: String,
}

impl TextRange {
    pub fn starting_with(start: &str) -> Self {
        Self { from: start.to_owned(), until: after_all_with(start) }
    }

    /// All texts.
    pub fn all() -> Self {
        Self { from: String::new(), until: after_all_with("") }
    }

    /// Returns the range of exactly one phrase, which has no character before the blank.
    pub fn of(phrase: &str) -> Self {
        Self { from: phrase.to_owned(), until: format!("{phrase} ") }
    }

    pub fn holds(&self, text: &str) -> bool {
        *self.from <= *text && *text < *self.until
    }
}

/// The smallest text, compared by bytes, that is greater than all texts that begin with `start`.
fn after_all_with(start: &str) -> String {
    let mut text = start.to_owned();
    while let Some(last) = text.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            text.push(next);
            return text;
        }
    }
    // No stored text is this long.
    char::MAX.to_string().repeat(256)
}
