//! `-v` and `-vv`: what goes over the wire, on stderr, without any key.

use std::rc::Rc;
use std::time::Instant;

use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::io::Io;
use crate::output::escape::clean;

/// What to tell, and to whom.
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
        self.io.say(&format!("{}\n", clean(&redact(line))));
    }
}

/// Cuts everything that looks like a key to the 12 characters that are shown of keys anyway.
fn redact(text: &str) -> String {
    const SHOWN: usize = "sk_live_".len() + 4;
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("sk_live_").into_iter().chain(rest.find("sk_test_")).min() {
        let (before, key) = rest.split_at(start);
        let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = key.find(|letter| !word(letter)).unwrap_or(key.len());
        safe += before;
        safe += &key[..end.min(SHOWN)];
        safe += if end > SHOWN { "…" } else { "" };
        rest = &key[end..];
    }
    safe + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_cut_wherever_they_stand() {
        let text = r#"{"key":"sk_live_abcdEFGH","a":"sk_test_1234"} Bearer sk_test_1234567"#;
        let safe = r#"{"key":"sk_live_abcd…","a":"sk_test_1234"} Bearer sk_test_1234…"#;
        assert_eq!(redact(text), safe);
        assert_eq!(redact("sk_live_"), "sk_live_");
    }
}
