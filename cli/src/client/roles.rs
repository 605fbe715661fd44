//! The refusal of a key's role: the key is asked for the role that it has, as the error names it
//! next to the one that is needed.

use common::Success;
use reqwest::Method;

use super::CurrentKey;
use super::refusal::ApiRequest;
use super::{Client, answer};
use crate::error::Error;

impl Client {
    /// The error of a key that may not do this, with the role that may.
    pub(super) async fn with_roles(&self, refused: &ApiRequest<'_>, error: Error) -> Error {
        let own = self.request(Method::GET, "/api/v1/key");
        let asked = async {
            let response = self.send(&own, None, None).await?;
            answer::read::<Success<CurrentKey>>(&own, response, &self.trace, true).await
        };
        // The first error is the one to show if this look-up fails too.
        match asked.await {
            Ok(key) => refused.forbidden(&key.body.data, error),
            Err(_) => error,
        }
    }
}
