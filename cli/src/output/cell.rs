//! A value of a table, card or line, in a form for people and one for scripts.

use std::borrow::Cow;

use common::Timestamp;

use super::relative;
use crate::escape::clean;

/// The meaning that a colour repeats; the word itself carries it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Good,
    Warning,
    Bad,
}

/// A value in two forms: `screen` for a terminal, `plain` for everything else.
#[derive(Clone, Debug)]
pub struct TextCell {
    pub screen: String,
    pub plain: String,
    pub tone: Option<Tone>,
}

impl TextCell {
    pub fn text(text: impl AsRef<str>) -> Self {
        let text = clean(text.as_ref()).into_owned();
        Self { screen: text.clone(), plain: text, tone: None }
    }

    /// A value of the service, such as an id or a number.
    #[expect(clippy::needless_pass_by_value, reason = "ids and numbers are copied anyway")]
    pub fn of(value: impl ToString) -> Self {
        Self::text(value.to_string())
    }

    /// An optional value.
    pub fn maybe(value: Option<impl ToString>) -> Self {
        value.map_or_else(|| Self::text(""), Self::of)
    }

    /// The cell of a table or card: where there is no value, a screen shows a dash and a pipe gets
    /// nothing.
    pub fn or_dash(&self) -> Cow<'_, Self> {
        if self.is_empty() { Cow::Owned(Self::word("-", "")) } else { Cow::Borrowed(self) }
    }

    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// A value with its two forms given.
    pub fn word(screen: impl Into<String>, plain: impl Into<String>) -> Self {
        Self { screen: screen.into(), plain: plain.into(), tone: None }
    }

    /// A moment that has passed. The server's clock may run a little ahead of this one.
    pub fn past(time: Timestamp, now: Timestamp) -> Self {
        Self::word(relative(time.min(now), now), time.to_string())
    }

    /// An optional time; `never` stands for none.
    pub fn time_or(never: &str, time: Option<Timestamp>, now: Timestamp) -> Self {
        time.map_or_else(
            || Self::word(never, never),
            |time| Self::word(relative(time, now), time.to_string()),
        )
    }

    /// Shows the time at which something expires. On a screen, a time that ends a day is shown as
    /// that day.
    pub fn end(time: Option<Timestamp>, now: Timestamp) -> Self {
        let cell = Self::time_or("never", time, now);
        match time.and_then(Timestamp::last_day) {
            Some(day) => Self { screen: day.to_string(), ..cell },
            None => cell,
        }
    }

    pub fn toned(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }

    pub fn shown(&self, screen: bool) -> &str {
        if screen { &self.screen } else { &self.plain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A person who typed 2026-12-31 reads that day again, and a script reads the exact time.
    #[test]
    fn what_ends_with_a_day_shows_that_day() {
        let now = "2026-11-25T12:00:00Z".parse().unwrap();
        for (end, screen) in
            [("2027-01-01T00:00:00.000Z", "2026-12-31"), ("2026-12-25T12:00:00.000Z", "in 30d")]
        {
            let cell = TextCell::end(Some(end.parse().unwrap()), now);
            assert_eq!((&*cell.screen, &*cell.plain), (screen, end));
        }
        assert_eq!(TextCell::end(None, now).screen, "never");
    }
}
