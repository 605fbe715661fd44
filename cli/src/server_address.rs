//! The address of a server, as people write it.

use std::net::IpAddr;

use url::Url;

use crate::error::{Error, Result};

/// The address on which licd listens by default.
pub const DEFAULT_SERVER: &str = "http://127.0.0.1:8080";

/// Reads a server's address; `from` names where it was given.
pub fn parse_server(text: &str, from: &str) -> Result<Url> {
    let url = if text.contains("://") { Url::parse(text).ok() } else { without_scheme(text) };
    let url = url.filter(|url| {
        let person = !url.username().is_empty() || url.password().is_some();
        let bare = !person && url.query().is_none() && url.fragment().is_none();
        matches!(url.scheme(), "http" | "https") && url.has_host() && bare
    });
    url.ok_or_else(|| {
        Error::usage(format!("{from} is not a valid server URL."))
            .fix("use a URL such as https://licenses.example.com")
    })
}

/// A bare host means https, or http on this machine. A word that is clearly not a host, such as a
/// misplaced API key, is not looked up.
fn without_scheme(text: &str) -> Option<Url> {
    let url = Url::parse(&format!("https://{text}")).ok()?;
    let host = url.host_str()?;
    let is_host = host == "localhost" || host.contains(['.', ':']) || url.port().is_some();
    if host.contains('_') || !is_host {
        return None;
    }
    if is_loopback(&url) { Url::parse(&format!("http://{text}")).ok() } else { Some(url) }
}

/// Whether the server is on this machine.
pub fn is_loopback(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
