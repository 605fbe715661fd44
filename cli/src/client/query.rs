//! The query of a request: filters and parameters, in the order in which they are added.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

#[derive(Clone, Default)]
pub struct Query {
    pairs: Vec<(&'static str, String)>,
    /// The cursor of a list's first page.
    pub(super) after: Option<String>,
}

impl Query {
    /// A query with one parameter.
    pub fn of(name: &'static str, value: impl ToString) -> Self {
        Self::default().with(name, Some(value))
    }

    /// Adds a parameter, if it has a value.
    pub fn with(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.pairs.extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// Begins a list after a record.
    pub fn after(self, cursor: Option<impl ToString>) -> Self {
        Self { after: cursor.map(|cursor| cursor.to_string()), ..self }
    }

    /// Whether a list is not filtered.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The path with this query, without a cursor.
    pub(super) fn on(&self, path: &str) -> String {
        let pairs = self.pairs.iter().map(|(name, value)| format!("{name}={}", encode(value)));
        let pairs: Vec<String> = pairs.collect();
        if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
    }
}

/// Encodes a caller's own text for a path or a query.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}
