//! Requests of `licctl api`: any endpoint, with headers of the caller's, and answers of any form.

use futures_util::stream::TryStreamExt;
use percent_encoding::percent_decode_str;
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::answer::ApiResponse;
use super::{Client, IDEMPOTENCY_KEY, PAGE_SIZE, new_idempotency_key};
use crate::error::Result;

pub type Headers = [(HeaderName, HeaderValue)];

impl Client {
    /// Sends a request, and returns the data of its answer; none on a dry run of a write. An answer
    /// without the service's envelope, such as the OpenAPI document, is returned whole.
    pub async fn raw(
        &self,
        method: Method,
        path: &str,
        headers: &Headers,
        body: Option<Value>,
    ) -> Result<Option<Value>> {
        let is_read = method == Method::GET;
        let mut api_request = self.request(method, path);
        api_request.headers = headers;
        let answered = if is_read {
            Some(self.exchange(&api_request, body.as_ref(), None).await?)
        } else {
            let own = headers.iter().find(|(name, _)| name == IDEMPOTENCY_KEY);
            let own = own.and_then(|(_, value)| value.to_str().ok()).map(str::to_owned);
            let key = own.unwrap_or_else(new_idempotency_key);
            self.change(&api_request, body, &key).await?
        };
        Ok(answered.map(|ApiResponse { body: mut answer, .. }: ApiResponse<Value>| {
            let is_enveloped = answer["success"] == true && answer.get("data").is_some();
            if is_enveloped { answer["data"].take() } else { answer }
        }))
    }

    /// All pages of a list. The query of the path may have the length of a page and a cursor to
    /// begin with.
    pub async fn raw_list(&self, path: &str, headers: &Headers) -> Result<Vec<Value>> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let (after, mut query): (Vec<&str>, Vec<&str>) =
            pairs.partition(|pair| pair.starts_with("after="));
        let usual = format!("limit={PAGE_SIZE}");
        if !query.iter().any(|pair| pair.starts_with("limit=")) {
            query.push(&usual);
        }
        let after = after.first().and_then(|pair| pair.strip_prefix("after="));
        let after = after.map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned());
        self.pages(format!("{path}?{}", query.join("&")), after, headers).try_concat().await
    }
}
