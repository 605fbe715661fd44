//! What HTTP demands of a request's head and hyper leaves to us (RFC 9112, sections 3.2 and 6.1;
//! RFC 9113, section 8.3.1). hyper itself refuses contradictory lengths. Of a length beside chunks
//! it takes the chunks, and ends the connection after the answer.

use axum::http::header::{HOST, TRANSFER_ENCODING};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Version};

use crate::budget::{MemoryBudget, MemoryShare};
use crate::error::Error;

/// How much memory the heads of all requests may take together while these are handled: half of it,
/// as whose they are is not known yet.
static HEADS: MemoryBudget = MemoryBudget::new(32 * 1024 * 1024);
/// How many bytes of each head are not counted there: more than most have. So a full budget refuses
/// only large heads; the number of requests bounds what is not counted.
const UNCOUNTED: usize = 2048;

/// Refuses a head that another program on the way could read differently: one whose `Host` is
/// missing, doubled or malformed, or whose body is encoded in another way than in chunks.
pub fn check(version: Version, headers: &HeaderMap) -> Result<(), Error> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_host(host) => {}
        (None, _) if version < Version::HTTP_11 => {}
        _ => return Err(Error::invalid("Host", "The request must have one valid Host header")),
    }
    let Some(encoding) = headers.get(TRANSFER_ENCODING) else { return Ok(()) };
    let doubled = headers.get_all(TRANSFER_ENCODING).iter().nth(1).is_some();
    if doubled || !encoding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err(Error::invalid("Transfer-Encoding", "Transfer-Encoding must be chunked"));
    }
    Ok(())
}

/// The memory that a request's head takes; [`Error::Overloaded`] when all heads take too much.
pub fn hold(headers: &HeaderMap) -> Result<MemoryShare, Error> {
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let mut share = HEADS.share(None);
    // What a connection reads into is at most twice as large as what is in it.
    share.grow_to((2 * size).saturating_sub(UNCOUNTED))?;
    Ok(share)
}

/// Adds the host that an HTTP/2 request's address names. Beside a `Host` that says something else it
/// is a second one, which [`check`] refuses.
pub fn add_host(headers: &mut HeaderMap, address: Option<&Authority>) {
    let Some(address) = address else { return };
    let is_same =
        |host: &HeaderValue| host.as_bytes().eq_ignore_ascii_case(address.as_str().as_bytes());
    if !headers.get(HOST).is_some_and(is_same)
        && let Ok(host) = HeaderValue::from_str(address.as_str())
    {
        headers.append(HOST, host);
    }
}

/// The characters of a name, an address or a port. An empty value is legal.
fn is_host(value: &HeaderValue) -> bool {
    let legal = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:[]%".contains(byte);
    value.as_bytes().iter().all(legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(version: Version, lines: &[(&'static str, &'static str)]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        check(version, &headers).err().and_then(|error| error.field().map(str::to_owned))
    }

    #[test]
    fn one_valid_host_is_demanded() {
        for host in ["licd", "licd.example:8080", "[::1]:80", "a_b", ""] {
            assert_eq!(verdict(Version::HTTP_11, &[("host", host)]), None, "{host}");
        }
        for host in ["a b", "a/b", "user@host", "a?b", "a#b", "a\\b"] {
            assert_eq!(verdict(Version::HTTP_11, &[("host", host)]).as_deref(), Some("Host"));
        }
        assert_eq!(verdict(Version::HTTP_11, &[]).as_deref(), Some("Host"));
        assert_eq!(verdict(Version::HTTP_10, &[]), None);
        for version in [Version::HTTP_10, Version::HTTP_11] {
            let twice = [("host", "licd"), ("host", "licd")];
            assert_eq!(verdict(version, &twice).as_deref(), Some("Host"));
        }
    }

    #[test]
    fn a_body_is_encoded_in_chunks_or_not_at_all() {
        let with = |lines: &[(&'static str, &'static str)]| {
            verdict(Version::HTTP_11, &[&[("host", "licd")], lines].concat())
        };
        assert_eq!(with(&[("transfer-encoding", "Chunked")]), None);
        assert_eq!(with(&[("content-length", "3")]), None);
        for encoding in ["identity, chunked", "gzip, chunked", "chunked, chunked"] {
            let field = with(&[("transfer-encoding", encoding)]);
            assert_eq!(field.as_deref(), Some("Transfer-Encoding"), "{encoding}");
        }
        let twice = [("transfer-encoding", "gzip"), ("transfer-encoding", "chunked")];
        assert_eq!(with(&twice).as_deref(), Some("Transfer-Encoding"));
    }

    #[test]
    fn the_host_of_an_address_is_the_request_s() {
        for (host, address, refused) in [
            (None, Some("licd:443"), None),
            (Some("LICD:443"), Some("licd:443"), None),
            (Some("licd"), None, None),
            (None, None, Some("Host")),
            (Some("other"), Some("licd:443"), Some("Host")),
            (None, Some("user@licd"), Some("Host")),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(host) = host {
                headers.insert(HOST, HeaderValue::from_static(host));
            }
            add_host(&mut headers, address.map(Authority::from_static).as_ref());
            let error = check(Version::HTTP_2, &headers).err();
            let field = error.as_ref().and_then(Error::field);
            assert_eq!(field, refused, "{host:?} {address:?}");
        }
    }
}
