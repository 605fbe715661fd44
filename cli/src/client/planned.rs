//! The requests of a dry run, for the output.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

/// A write, which a dry run does not send, or a read, which it does.
#[derive(Serialize)]
pub struct PlannedRequest {
    pub method: String,
    pub path: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    pub body: Option<Value>,
    #[serde(skip)]
    pub url: String,
    #[serde(skip)]
    pub ca_cert: Option<PathBuf>,
    #[serde(skip)]
    pub sent: bool,
}
