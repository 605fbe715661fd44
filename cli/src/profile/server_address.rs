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
    let url = url.ok_or_else(|| {
        Error::usage(format!("{from} is not a valid server URL."))
            .fix("use a URL such as https://licenses.example.com")
    })?;
    if url.path().trim_end_matches('/').ends_with("/api/v1") {
        return Err(Error::usage(format!("{from} is the address of licd with /api/v1 behind it."))
            .fix("use the address alone, such as https://licenses.example.com"));
    }
    Ok(url)
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

/// The variable that names the proxy on the way to a server, if there is one.
pub fn proxy_variable(server: &Url) -> Option<&'static str> {
    let variables: &[&str] = match server.scheme() {
        "https" => &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    variables.iter().find(is_set).copied().filter(|_| !is_loopback(server))
}
