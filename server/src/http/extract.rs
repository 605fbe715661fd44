//! Extractors: bodies, queries and ids of paths, read strictly. A refusal names the field and its
//! rule.

mod body;
mod describe;
mod form;
mod pairs;
mod strict;

use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use common::ExternalId;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _, Expected, Unexpected};
use serde::{Deserialize, Deserializer};

use crate::error::Error;

use body::MediaType;
pub use body::{BODY, SIGN_IN_BODY, VALIDATION_BODY};
pub use form::Form;
pub use strict::{NoQuery, StrictBody};

/// A body that is a JSON object.
pub struct Json<T>(pub T);

/// Such a request has no query.
impl<S: Sync, T: StrictBody> FromRequest<S> for Json<T> {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let (mut parts, body) = request.into_parts();
        NoQuery::from_request_parts(&mut parts, state).await?;
        Self::read_strict(&parts, body).await
    }
}

/// A JSON object, or no body at all.
pub struct OptionalJson<T>(pub T);

/// Such a request has no query.
impl<S: Sync, T: StrictBody + Default> FromRequest<S> for OptionalJson<T> {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        if !request.body().is_end_stream() {
            return Json::from_request(request, state).await.map(|Json(body)| Self(body));
        }
        NoQuery::from_request_parts(&mut request.into_parts().0, state).await?;
        Ok(Self(T::default()))
    }
}

/// A body that is a JSON object, and a query.
pub struct JsonAndQuery<T, Q>(pub T, pub Q);

impl<S: Sync, T: StrictBody, Q: DeserializeOwned + Send> FromRequest<S> for JsonAndQuery<T, Q> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let given = query(&parts.uri)?;
        let Json(body) = Json::read_strict(&parts, body).await?;
        Ok(Self(body, given))
    }
}

/// The body of an application's request, of which unknown members are ignored.
pub struct Lenient<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Lenient<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        Json::read(&parts, body).await.map(|Json(body)| Self(body))
    }
}

impl<T: DeserializeOwned> Json<T> {
    /// The body of an application's request.
    pub async fn read(parts: &Parts, body: Body) -> Result<Self, Error> {
        let received = body::receive(parts, body, &VALIDATION_BODY, MediaType::Json).await?;
        parse(received.bytes(), &[]).map(Self)
    }
}

impl<T: StrictBody> Json<T> {
    /// Metadata would lose the digits of a long number, and no other member takes one.
    pub async fn read_strict(parts: &Parts, body: Body) -> Result<Self, Error> {
        let received = body::receive(parts, body, &BODY, MediaType::Json).await?;
        let parsed = parse(received.bytes(), T::SET_ELSEWHERE)?;
        if has_long_number(&String::from_utf8_lossy(received.bytes())) {
            let rule = "metadata must have no whole number beyond 64 bits; send it as text";
            return Err(Error::invalid("metadata", rule));
        }
        Ok(Self(parsed))
    }
}

/// Whether a valid JSON text has a whole number that does not fit into 64 bits. It would be read as a
/// floating-point number, with other digits.
fn has_long_number(json: &str) -> bool {
    // Without its escaped characters, every second part between quotation marks is a string.
    let json = json.replace(r"\\", "").replace(r#"\""#, "");
    let outside = json.split('"').step_by(2);
    let is_of_number = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let mut words = outside.flat_map(|part| part.split(|letter| !is_of_number(letter)));
    let is_whole = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    words.any(|word| {
        word.len() > 18
            && is_whole(word)
            && word.parse::<u64>().is_err()
            && word.parse::<i64>().is_err()
    })
}

/// `set_elsewhere` has members that are unknown here, and what sets them.
fn parse<T: DeserializeOwned>(body: &[u8], set_elsewhere: &[(&str, &str)]) -> Result<T, Error> {
    let invalid = |message: &str| Error::Invalid { field: None, message: message.into() };
    // serde does not look into values that it skips.
    let text = std::str::from_utf8(body).map_err(|_| invalid("The body must be UTF-8"))?;
    // serde would read a struct from an array too, by position.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(invalid("The body must be a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| describe::body(error, set_elsewhere))?;
    json.end().map_err(|error| describe::malformed(&error))?;
    Ok(parsed)
}

/// The query of a list.
pub struct Query<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        query(&parts.uri).map(Self)
    }
}

fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Error> {
    pairs::read(uri.query().unwrap_or("").as_bytes())
}

/// Number of records in a page.
#[derive(Clone, Copy)]
pub struct Limit(pub i64);

impl Limit {
    pub const MAX: i64 = 1000;
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number(deserializer, 1..=Self::MAX, &"a whole number from 1 to 1000").map(Self)
    }
}

/// Order of a list.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase", expecting = "oldest or newest")]
pub enum ListOrder {
    #[default]
    Oldest,
    Newest,
}

/// The number of an event, after which a list of them begins.
#[derive(Clone, Copy)]
pub struct Sequence(pub i64);

impl<'de> Deserialize<'de> for Sequence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number(deserializer, 0..=i64::MAX, &"the sequence number of an event").map(Self)
    }
}

/// A number in a query.
fn number<'de, D: Deserializer<'de>>(
    deserializer: D,
    bounds: RangeInclusive<i64>,
    expected: &dyn Expected,
) -> Result<i64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let number = text.parse().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), expected))
}

/// A filter of a list. A value that no record can have filters everything out.
pub fn filter<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr + Default,
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    Ok(Some(text.parse().unwrap_or_default()))
}

/// The `{id}` of a path. A malformed one becomes the nil id, which no record has, so that it is
/// answered like an unknown one, and only after the body was checked.
pub struct Id<T>(pub T);

impl<S: Send + Sync, T: FromStr + Default> FromRequestParts<S> for Id<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let text = path_param(parts, state, "id").await;
        Ok(Self(text.and_then(|text| text.parse().ok()).unwrap_or_default()))
    }
}

/// The `{userId}` of a path: the caller's own user id. None if the text cannot be one.
pub struct ExternalIdParam(pub Option<ExternalId>);

impl<S: Send + Sync> FromRequestParts<S> for ExternalIdParam {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let text = path_param(parts, state, "userId").await;
        Ok(Self(text.and_then(|text| text.parse().ok())))
    }
}

/// A part of the path by its name. `None` also when the path is no UTF-8.
pub async fn path_param<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
    name: &str,
) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, state).await.ok()?;
    params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests;
