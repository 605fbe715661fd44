//! The requests of a dry run, for the output.

use serde_json::Value;

use super::Client;
use super::refusal::ApiRequest;
use crate::error::Result;
use crate::output::PlannedRequest;

impl Client {
    /// Keeps a request for the output of a dry run.
    pub(super) fn plan(
        &self,
        request: &ApiRequest<'_>,
        body: Option<Value>,
        sent: bool,
    ) -> Result<()> {
        let (method, path) = (request.method.to_string(), request.path.to_owned());
        let url = self.url(&path)?.to_string();
        let ca_cert = self.target.ca_cert.as_ref().map(|file| file.path.clone());
        let headers = request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
        let headers = headers.collect();
        let planned = PlannedRequest { method, path, headers, body, url, ca_cert, sent };
        self.planned.borrow_mut().push(planned);
        Ok(())
    }
}
