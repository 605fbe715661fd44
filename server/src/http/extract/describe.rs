//! Sentences for the caller, from serde's errors: the field and its rule.

use common::PlanTerms;
use serde_path_to_error::{Path, Segment};

use super::strict::BY_UPDATE;
use crate::error::Error;

/// Similarity from which two names mean the same, from 0 to 1.
const ALIKE: f64 = 0.85;
/// Members that only licd sets.
const SET_BY_LICD: [&str; 6] = ["id", "tenantId", "createdAt", "updatedAt", "seats", "lastUsedAt"];

/// `set_elsewhere` has members that are unknown in this body, and what sets them.
pub fn body(
    error: serde_path_to_error::Error<serde_json::Error>,
    set_elsewhere: &[(&str, &str)],
) -> Error {
    let path = error.path().clone();
    let error = error.into_inner();
    let message = error.to_string();
    match message.as_str() {
        message if error.is_data() => match UnknownName::of(message) {
            Some(unknown) => unknown.refuse_member(set_elsewhere),
            None => describe(&path, message),
        },
        // serde_json counts these two as errors of syntax, which they are not.
        message if message.starts_with("number out of range") => {
            refuse(&path, None, "must be a number that is not as large")
        }
        message if message.starts_with("recursion limit") => {
            refuse(&path, None, "is nested too deeply")
        }
        _ => malformed(&error),
    }
}

pub fn query(error: serde_path_to_error::Error<serde_urlencoded::de::Error>) -> Error {
    let path = error.path().clone();
    let message = error.into_inner().to_string();
    match UnknownName::of(&message) {
        Some(unknown) => unknown.refuse("parameter"),
        None => describe(&path, &message),
    }
}

/// A name that the request must not have.
struct UnknownName<'a> {
    name: String,
    /// serde's list of the names that it may have, in backticks.
    known: &'a str,
}

impl<'a> UnknownName<'a> {
    fn of(message: &'a str) -> Option<Self> {
        let rest = message.strip_prefix("unknown field `")?;
        let split = rest.rsplit_once("`, expected ");
        let (name, known) = split.or_else(|| rest.rsplit_once("`, there are no fields"))?;
        Some(Self { name: short(&name.replace(char::is_control, "\u{fffd}")), known })
    }

    fn refuse_member(&self, set_elsewhere: &[(&str, &str)]) -> Error {
        let name = self.name.as_str();
        let set_by_licd = SET_BY_LICD.contains(&name).then_some("licd sets it");
        let is_term = PlanTerms::NAMES.contains(&name).then_some(BY_UPDATE);
        let elsewhere = set_elsewhere.iter().find(|(member, _)| *member == name);
        match elsewhere.map(|(_, what)| *what).or(set_by_licd).or(is_term) {
            Some(what) => Error::invalid(name, format!("{name} cannot be set here: {what}")),
            None => self.refuse("member"),
        }
    }

    fn refuse(&self, kind: &str) -> Error {
        let name = self.name.as_str();
        let message = match self.suggestion() {
            Some(suggestion) => format!("Unknown {kind} \"{name}\": did you mean {suggestion}?"),
            None => format!("Unknown {kind} \"{name}\""),
        };
        Error::invalid(name, message)
    }

    fn suggestion(&self) -> Option<&'a str> {
        let name = self.name.to_lowercase();
        let likeness = |known: &str| strsim::jaro_winkler(&name, &known.to_lowercase());
        let known = self.known.split('`').skip(1).step_by(2);
        let most = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        most.filter(|known| likeness(known) > ALIKE)
    }
}

/// A parameter of the query, or its name, is not UTF-8. It is named as it was sent.
pub fn not_utf8(pair: &str) -> Error {
    let name = short(pair.split('=').next().unwrap_or(pair));
    Error::invalid(&name, format!("{name} must be percent-encoded UTF-8"))
}

/// The body is not JSON.
pub fn malformed(error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let message = format!("The body is not well-formed JSON (line {line}, column {column})");
    Error::Invalid { field: None, message }
}

/// serde's message has what it found, then ", expected" and the rule of the type.
fn describe(path: &Path, message: &str) -> Error {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    if let Some(name) = quoted(message, "missing field ") {
        return refuse(path, Some(name), "is required");
    }
    if let Some(name) = quoted(message, "duplicate field ") {
        return refuse(path, Some(name), "is given more than once");
    }
    match message.rsplit_once(", expected ") {
        Some((found, _)) if found.ends_with("null") => refuse(path, None, "is required"),
        // serde's word for it.
        Some((_, "a sequence")) => refuse(path, None, "must be an array"),
        Some((_, expected)) => refuse(path, None, &format!("must be {expected}")),
        None => refuse(path, None, &format!("is invalid: {message}")),
    }
}

fn quoted<'a>(message: &'a str, before: &str) -> Option<&'a str> {
    message.strip_prefix(before)?.strip_prefix('`')?.split('`').next()
}

/// `field` is the member of the request at fault; the sentence has the place inside of it.
fn refuse(path: &Path, inner: Option<&str>, predicate: &str) -> Error {
    let mut place = path.to_string();
    if place == "." {
        place.clear();
    }
    if let Some(inner) = inner {
        place = if place.is_empty() { inner.to_owned() } else { format!("{place}.{inner}") };
    }
    let field = match path.iter().next() {
        Some(Segment::Map { key }) => Some(short(key)),
        _ => inner.map(str::to_owned),
    };
    let subject = if place.is_empty() { "The request".to_owned() } else { short(&place) };
    Error::Invalid { field, message: format!("{subject} {predicate}") }
}

/// The caller chose the names of members, which may be as long as a body.
fn short(name: &str) -> String {
    const MAX_NAME: usize = 100;
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
