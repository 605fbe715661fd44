//! The client of a request: the peer of its connection or, if that is a trusted proxy, the client
//! of the proxy.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName};

use crate::networks::{MalformedNetwork, Networks};

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Origin of a request. In the extensions of every request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    pub address: IpAddr,
    /// Whether the request came over TLS: licd's own, or that of a proxy, which says so.
    pub is_secure: bool,
}

/// Proxies whose `X-Forwarded-…` headers licd trusts.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(pub Networks);

impl FromStr for TrustedProxies {
    type Err = MalformedNetwork;

    fn from_str(text: &str) -> Result<Self, MalformedNetwork> {
        text.parse().map(Self)
    }
}

impl TrustedProxies {
    /// The client of a request with these headers, on a connection with this peer that may be over
    /// TLS.
    ///
    /// Without trusted proxies, `X-Forwarded-Proto` is honoured and `X-Forwarded-For` ignored: no
    /// page can make a browser send the former, and it only makes a session's cookie stricter.
    pub fn client(&self, peer: IpAddr, is_tls: bool, headers: &HeaderMap) -> Client {
        if !self.0.contains(peer) {
            // The first proxy of all is the one that the browser asked.
            let is_secure = is_tls || self.0.is_empty() && is_https(headers, usize::MAX);
            return Client { address: peer, is_secure };
        }
        let (address, proxies_between) = self.forwarded_for(peer, headers);
        Client { address, is_secure: is_tls || is_https(headers, proxies_between) }
    }

    /// Each proxy appends the peer that it saw. So the header is read from its end, for as long as
    /// trusted proxies wrote it: what stands before is the client's own text. Answers the client, and
    /// how many proxies there are between the first, which the client asked, and the peer.
    fn forwarded_for(&self, peer: IpAddr, headers: &HeaderMap) -> (IpAddr, usize) {
        let mut client = (peer, 0);
        for (index, address) in entries(headers, &X_FORWARDED_FOR).map_while(address).enumerate() {
            client = (address, index);
            if !self.0.contains(address) {
                break;
            }
        }
        client
    }
}

/// The entries of a header that proxies append to, the last first.
fn entries<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let lines = headers.get_all(name).iter().rev();
    lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','))
}

/// An entry's address. Some proxies add the port.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let entry = str::from_utf8(entry).ok()?.trim();
    let address = entry.parse().or_else(|_| entry.parse().map(|it: SocketAddr| it.ip())).ok()?;
    Some(address.to_canonical())
}

/// Whether the client used TLS to the first proxy, which has this many trusted proxies behind it.
/// Each may have appended its own scheme. A shorter list was set by the first proxy and passed on.
fn is_https(headers: &HeaderMap, proxies_between: usize) -> bool {
    let schemes = entries(headers, &X_FORWARDED_PROTO).take(proxies_between.saturating_add(1));
    schemes.last().is_some_and(|scheme| scheme.trim_ascii().eq_ignore_ascii_case(b"https"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn proxies() -> TrustedProxies {
        "10.0.0.0/8, 192.0.2.7,::1,2001:db8::/32".parse().unwrap()
    }

    fn client(peer: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(&X_FORWARDED_FOR, line.parse().unwrap());
        }
        proxies().client(peer.parse().unwrap(), false, &headers).address.to_string()
    }

    #[test]
    fn the_last_untrusted_address_is_the_client() {
        for (lines, expected) in [
            (&[][..], PROXY),
            (&["203.0.113.9"], "203.0.113.9"),
            (&[" 203.0.113.9 "], "203.0.113.9"),
            // The client itself may send the header.
            (&["127.0.0.1, 203.0.113.9"], "203.0.113.9"),
            (&["198.51.100.1, 203.0.113.9,192.0.2.7 , 10.9.9.9"], "203.0.113.9"),
            (&["198.51.100.1", "203.0.113.9", "10.9.9.9"], "203.0.113.9"),
            (&["203.0.113.9,2001:db8::5"], "203.0.113.9"),
            (&["203.0.113.9:4711, ::1"], "203.0.113.9"),
            (&["[2001:db9::5]:4711"], "2001:db9::5"),
            (&["::ffff:203.0.113.9, ::ffff:10.0.0.9"], "203.0.113.9"),
            // All are trusted: the first asks for itself.
            (&["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
        ] {
            assert_eq!(client(PROXY, lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_malformed_entry_ends_the_reading() {
        for (lines, expected) in [
            (&[""][..], PROXY),
            (&["unknown"], PROXY),
            (&["203.0.113.9,"], PROXY),
            (&["203.0.113.9", "\u{e4}"], PROXY),
            (&["203.0.113.9, unknown, 10.2.2.2"], "10.2.2.2"),
            (&["203.0.113.9, 10.0.0.0/8, 10.2.2.2"], "10.2.2.2"),
            (&["nonsense, 203.0.113.9"], "203.0.113.9"),
        ] {
            assert_eq!(client(PROXY, lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn others_are_not_believed() {
        for peer in ["192.0.2.8", "11.0.0.1", "::2", "2001:db9::1"] {
            assert_eq!(client(peer, &["203.0.113.9"]), peer);
        }
        for peer in ["192.0.2.7", "10.255.0.1", "::1", "2001:db8::1"] {
            assert_eq!(client(peer, &["203.0.113.9"]), "203.0.113.9");
        }
        let nobody = TrustedProxies::default();
        assert!(!nobody.0.contains("127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn where_proxies_are_named_only_they_say_that_a_request_is_secure() {
        for (peer, scheme, expected) in [
            (PROXY, "https", true),
            (PROXY, "HTTPS", true),
            (PROXY, "http", false),
            ("192.0.2.8", "https", false),
        ] {
            let headers = HeaderMap::from_iter(
                [(X_FORWARDED_PROTO.clone(), scheme)]
                    .map(|(name, scheme)| (name, scheme.parse().unwrap())),
            );
            let peer = peer.parse().unwrap();
            assert_eq!(
                proxies().client(peer, false, &headers).is_secure,
                expected,
                "{peer} {scheme}"
            );
            let unnamed = TrustedProxies::default().client(peer, false, &headers);
            assert_eq!(unnamed, Client { address: peer, is_secure: scheme != "http" });
            assert!(proxies().client(peer, true, &headers).is_secure, "over TLS of our own");
        }
    }

    /// As many entries from the end count as trusted proxies appended, like those of addresses.
    #[test]
    fn of_several_schemes_the_one_that_the_first_trusted_proxy_saw_counts() {
        for (addresses, schemes, expected) in [
            ("203.0.113.9", "http, https", true),
            ("203.0.113.9", "https, http", false),
            ("203.0.113.9, 10.9.9.9", "https, http", true),
            ("203.0.113.9, 10.9.9.9", "http, https", false),
            // The client's own text stands before.
            ("203.0.113.9, 10.9.9.9", "https,http , https", false),
            // The first proxy set it, and the others passed it on.
            ("203.0.113.9, 10.9.9.9", "https", true),
            ("203.0.113.9", "", false),
        ] {
            let headers = HeaderMap::from_iter([
                (X_FORWARDED_FOR.clone(), addresses.parse().unwrap()),
                (X_FORWARDED_PROTO.clone(), schemes.parse().unwrap()),
            ]);
            let client = proxies().client(PROXY.parse().unwrap(), false, &headers);
            assert_eq!(client.is_secure, expected, "{addresses}: {schemes}");
            let unnamed = TrustedProxies::default();
            let client = unnamed.client(PROXY.parse().unwrap(), false, &headers);
            assert_eq!(client.is_secure, schemes.starts_with("https"), "{schemes}");
        }
    }

    proptest! {
        /// Whatever a client sends, its address is that of its connection, if that is no proxy.
        #[test]
        fn a_header_of_anybody_else_changes_no_address(line: Vec<u8>) {
            let Ok(value) = axum::http::HeaderValue::from_bytes(&line) else { return Ok(()) };
            let headers = HeaderMap::from_iter([(X_FORWARDED_FOR.clone(), value)]);
            let stranger: IpAddr = [203, 0, 113, 9].into();
            prop_assert_eq!(proxies().client(stranger, false, &headers).address, stranger);
            proxies().client(PROXY.parse().unwrap(), false, &headers);
        }
    }
}
