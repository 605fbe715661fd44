//! All texts that start alike, as a range that an index reads.

/// From a text until before another, byte by byte.
#[derive(Clone)]
pub struct TextRange {
    pub from: String,
    pub until: String,
}

impl TextRange {
    pub fn starting_with(start: &str) -> Self {
        Self { from: start.to_owned(), until: after_all_with(start) }
    }
}

/// The first text, byte by byte, after all that begin with `start`.
fn after_all_with(start: &str) -> String {
    let mut text = start.to_owned();
    while let Some(last) = text.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            text.push(next);
            return text;
        }
    }
    // No text has so many characters.
    char::MAX.to_string().repeat(256)
}
