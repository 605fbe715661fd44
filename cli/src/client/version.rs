//! Versions of records: what a person or a program saw is what a change is based on.

use common::Success;
use reqwest::Method;
use reqwest::header::{HeaderValue, IF_MATCH};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::record::ApiResponse;
use super::refusal::ApiRequest;
use super::{Client, Written, new_idempotency_key, to_json};
use crate::error::Result;

/// A record that was read, and its version if the service says it.
pub struct Version<T> {
    pub data: T,
    pub etag: Option<String>,
}

impl Client {
    /// A record with the version that it has.
    pub(super) async fn get_version<T: DeserializeOwned>(&self, path: &str) -> Result<Version<T>> {
        let api_request = self.request(Method::GET, path);
        let answered = self.exchange::<Success<T>>(&api_request, None, None).await?;
        let ApiResponse { etag, body, .. } = answered;
        Ok(Version { data: body.data, etag })
    }

    /// [`Self::write`] that is refused with a conflict if the record has another version by then.
    pub(super) async fn write_version<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        etag: Option<&str>,
    ) -> Result<Option<Written<T>>> {
        let version = etag.and_then(|etag| Some((IF_MATCH, HeaderValue::from_str(etag).ok()?)));
        let headers: Vec<_> = version.into_iter().collect();
        let api_request = ApiRequest { headers: &headers, ..self.request(method, path) };
        self.write_request(&api_request, Some(to_json(body)?), &new_idempotency_key()).await
    }
}
