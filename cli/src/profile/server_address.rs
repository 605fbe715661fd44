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
        return Err(Error::usage(format!("{from} is the address of licd followed by /api/v1."))
            .fix("use only the address, such as https://licenses.example.com"));
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

/// Whether requests to the server take no proxy. Of a list in NO_PROXY, reqwest does not know `*` for
/// addresses, nor a host with its port.
pub fn avoids_proxies(server: &Url) -> bool {
    let list = ["NO_PROXY", "no_proxy"].into_iter().find_map(|name| std::env::var(name).ok());
    let host = server.host_str().unwrap_or_default();
    let port = server.port_or_known_default().unwrap_or_default();
    let with_port = format!("{host}:{port}");
    let is_listed = |entry: &str| ["*", &with_port].contains(&entry.trim());
    is_loopback(server) || list.is_some_and(|list| list.split(',').any(is_listed))
}

/// The proxy on the way to a server, if there is one: `proxy.example:3128, which HTTPS_PROXY names`.
pub fn proxy_on_the_way(server: &Url) -> Option<String> {
    let variables = match server.scheme() {
        "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    let value = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (name, value) = variables.into_iter().find_map(|name| Some((name, value(name)?)))?;
    // The value may contain a password.
    let address = value.rsplit(['/', '@']).find(|part| !part.is_empty()).unwrap_or_default();
    (!avoids_proxies(server)).then(|| format!("{address}, which {name} names"))
}
