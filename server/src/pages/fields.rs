//! The fields of forms: their texts become values, or errors about the field.

use std::fmt;
use std::str::FromStr;

use common::{Feature, Features, Invalid, Line, MaxLeaseSeconds, Timestamp};
use serde::Serialize;

use crate::error::Error;

/// The values of several fields, by name. If some are invalid, the function returns all errors.
macro_rules! all {
    ($($name:ident = $value:expr),+ $(,)?) => {
        let ($($name,)+) = match ($($value,)+) {
            ($(Ok($name),)+) => ($($name,)+),
            ($($name,)+) => {
                let errors = [$($name.err()),+];
                return Err(Error::Several(errors.into_iter().flatten().collect()).into());
            }
        };
    };
}

pub(super) use all;

/// The value of a required field. `label` is its name on the page.
pub fn required<T: FromStr<Err = Invalid>>(
    field: &str,
    label: &str,
    text: &str,
) -> Result<T, Error> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::invalid(field, format!("{label} must not be empty.")));
    }
    text.parse().map_err(|rule| Error::invalid(field, format!("{label} {rule}.")))
}

/// The value of an optional field.
pub fn optional<T: FromStr<Err = Invalid>>(
    field: &str,
    label: &str,
    text: &str,
) -> Result<Option<T>, Error> {
    if text.trim().is_empty() { Ok(None) } else { required(field, label, text).map(Some) }
}

/// An email, or nothing. It need only look like one: whether it exists, only a message can show.
pub fn email(field: &str, label: &str, text: &str) -> Result<Option<Line>, Error> {
    if !text.trim().is_empty() && !is_email(text.trim()) {
        let message = format!("{label} must be an address, such as ada@example.com.");
        return Err(Error::invalid(field, message));
    }
    optional(field, label, text)
}

/// Whether a text looks like an email.
pub fn is_email(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    text.rsplit_once('@').is_some_and(|(local, domain)| is_part(local) && is_part(domain))
}

/// The end of something whose last valid day stands in a field of type `date`: the start of the next
/// day, UTC.
pub fn end_of_day(field: &str, label: &str, text: &str) -> Result<Timestamp, Error> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::invalid(field, format!("{label} must not be empty.")));
    }
    let day = format!("{text}T00:00:00Z").parse::<Timestamp>();
    let end = day.map(Timestamp::end_of_day).ok().filter(|end| end.is_valid());
    end.ok_or_else(|| Error::invalid(field, format!("{label} must be a date, such as 2027-01-31.")))
}

/// The last valid day of something that ends then, as a field of type `date` has it.
pub fn last_day(end: Timestamp) -> String {
    end.plus(-chrono::TimeDelta::milliseconds(1)).to_string()[..10].to_owned()
}

/// The time of a lease with its unit, as people write it.
pub struct LeaseTime(pub MaxLeaseSeconds);

/// Minutes, hours and days, in seconds.
const UNITS: [(i32, &str); 3] = [(86_400, "d"), (3600, "h"), (60, "m")];

impl fmt::Display for LeaseTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.get();
        match UNITS.into_iter().find(|(unit, _)| seconds % unit == 0) {
            Some((unit, name)) => write!(f, "{}{name}", seconds / unit),
            None => write!(f, "{seconds}s"),
        }
    }
}

impl FromStr for LeaseTime {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        const RULE: Invalid = Invalid("a time from 5m to 400d, such as 12h or 30d");
        let units = UNITS.into_iter().chain([(1, "s")]);
        let seconds = |(unit, name): (i32, &str)| {
            let number: i64 = text.strip_suffix(name)?.trim_end().parse().ok()?;
            MaxLeaseSeconds::new(number.checked_mul(unit.into())?).ok()
        };
        units.filter_map(seconds).next().map(Self).ok_or(RULE)
    }
}

/// A text that is unique to one rendering of a form.
pub fn once() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// The features in a text area, one per line or separated by commas. A comma belongs to a feature
/// only if it is one of `known`. Surrounding spaces are removed, because they are invisible.
pub fn features(field: &str, text: &str, known: &Features) -> Result<Features, Error> {
    let is_known = |line: &str| known.iter().any(|feature| feature.as_str() == line);
    let parts = text.lines().map(str::trim).flat_map(|line| {
        if is_known(line) { vec![line] } else { line.split(',').map(str::trim).collect() }
    });
    let features: Result<Vec<Feature>, Invalid> =
        parts.filter(|part| !part.is_empty()).map(str::parse).collect();
    let features =
        features.map_err(|rule| Error::invalid(field, format!("Each feature {rule}.")))?;
    let rule = "Enter at most 100 features, each of them once.";
    Features::new(features).map_err(|_| Error::invalid(field, rule))
}

/// The members that an update clears: those of these fields that the form leaves empty.
pub fn cleared<F: Copy + AsRef<str>>(fields: &[F], sent: &impl Serialize) -> Option<Vec<F>> {
    let sent = serde_json::to_value(sent).unwrap_or_default();
    Some(fields.iter().copied().filter(|field| sent[field.as_ref()].is_null()).collect())
}

/// The text of a field that the form must have. A field that is left out does not mean an empty one.
pub fn given<'a>(field: &str, text: &'a Option<String>) -> Result<&'a str, Error> {
    text.as_deref().ok_or_else(|| Error::invalid(field, format!("{field} is missing.")))
}
