//! From serde's error to a sentence for the caller: the field, and what it must be.

use serde_path_to_error::{Path, Segment};

use crate::error::Error;

pub fn body(error: serde_path_to_error::Error<serde_json::Error>) -> Error {
    let path = error.path().clone();
    let error = error.into_inner();
    let said = error.to_string();
    match said.as_str() {
        said if error.is_data() => describe(&path, said),
        // To serde_json these two are faults of the syntax, which they are not.
        said if said.starts_with("number out of range") => {
            refuse(&path, None, "must be a number that is not as large")
        }
        said if said.starts_with("recursion limit") => refuse(&path, None, "is nested too deeply"),
        _ => malformed(&error),
    }
}

pub fn query(error: serde_path_to_error::Error<serde_urlencoded::de::Error>) -> Error {
    let path = error.path().clone();
    describe(&path, &error.into_inner().to_string())
}

/// The body is no JSON at all.
pub fn malformed(error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let message = format!("The body is not well-formed JSON (line {line}, column {column})");
    Error::Invalid { field: None, message }
}

/// serde says what it found, then ", expected" and what our types say they take.
fn describe(path: &Path, said: &str) -> Error {
    let said = said.rsplit_once(" at line ").map_or(said, |(said, _)| said);
    if let Some(name) = quoted(said, "missing field ") {
        return refuse(path, Some(name), "is required");
    }
    if let Some(name) = quoted(said, "duplicate field ") {
        return refuse(path, Some(name), "is given more than once");
    }
    match said.rsplit_once(", expected ") {
        Some((found, _)) if found.ends_with("null") => refuse(path, None, "is required"),
        Some((_, expected)) => refuse(path, None, &format!("must be {expected}")),
        None => refuse(path, None, &format!("is invalid: {said}")),
    }
}

fn quoted<'a>(said: &'a str, before: &str) -> Option<&'a str> {
    said.strip_prefix(before)?.strip_prefix('`')?.split('`').next()
}

/// `field` is the member of the request at fault; the sentence says where inside it.
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

/// The names of members are the caller's, and may be as long as a body.
fn short(name: &str) -> String {
    const ENOUGH: usize = 100;
    match name.char_indices().nth(ENOUGH) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
