//! `-v` and `-vv`: logs requests and responses to stderr, without keys.

use std::rc::Rc;
use std::time::Instant;

use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::escape::clean;
use crate::terminal::Io;

/// The log of requests and its level.
pub struct Trace {
    io: Rc<Io>,
    /// 0 for nothing, 1 for a line for each request, 2 for headers and bodies too.
    level: u8,
}

impl Trace {
    pub fn new(io: Rc<Io>, level: u8) -> Self {
        Self { io, level }
    }

    pub fn sent(&self, request: &reqwest::Request, body: Option<&Value>) {
        if self.level < 2 {
            return;
        }
        self.say(&format!("> {} {}", request.method(), request.url()));
        for (name, value) in request.headers() {
            let value = value.to_str().unwrap_or("(no text)");
            self.say(&format!("> {name}: {value}"));
        }
        if let Some(body) = body {
            self.say(&format!("> {body}"));
        }
    }

    pub fn answered(&self, request: &(String, String), since: Instant, response: &Response) {
        if self.level == 0 {
            return;
        }
        let (method, path) = request;
        let id = response.headers().get("x-request-id").and_then(|id| id.to_str().ok());
        let id = id.map(|id| format!(" request {id}")).unwrap_or_default();
        let took = since.elapsed().as_millis();
        self.say(&format!("{method} {path} {} {took} ms{id}", response.status().as_u16()));
        if self.level > 1 {
            for (name, value) in response.headers() {
                self.say(&format!("< {name}: {}", value.to_str().unwrap_or("(no text)")));
            }
        }
    }

    pub fn received(&self, status: StatusCode, body: &[u8]) {
        if self.level > 1 {
            self.say(&format!("< {} {}", status.as_u16(), String::from_utf8_lossy(body)));
        }
    }

    fn say(&self, line: &str) {
        self.io.say(&format!("{}\n", clean(line)));
    }
}
