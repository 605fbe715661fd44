//! Requirements for a request's head that hyper does not check (RFC 9112, sections 3.2 and 6.1).
//! hyper itself refuses contradictory lengths. If there is both a length and chunked encoding, it
//! reads the chunks and closes the connection after the response.

use axum::http::header::{HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderValue, Version};

use crate::error::Error;

/// Refuses a head that intermediaries could read differently: if `Host` is missing, repeated or
/// malformed, or if the body has another encoding than chunked.
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

/// The characters of a name, an address or a port. An empty value is valid.
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
}
