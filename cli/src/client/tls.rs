//! Describes TLS failures and their fixes. rustls decides whether a certificate is valid.

use std::error::Error as StdError;
use std::io;

use rustls::{CertificateError, Error as TlsError, InvalidMessage};

/// The message of a connection that ends during the TLS handshake.
const HANDSHAKE_EOF: &str = "tls handshake eof";
/// The verifier's error for a server certificate with `CA:TRUE`.
const CA_AS_SERVER: &str = "CaUsedAsEndEntity";
const CA_AS_SERVER_FIX: &str = "recreate it with openssl req -x509 and -addext \
    basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:HOST (or IP:ADDRESS), \
    and pass the new one with --ca-cert FILE";
const NO_NAME_FIX: &str = "recreate it with -addext subjectAltName=DNS:HOST (or IP:ADDRESS)";
const NO_TLS_FIX: &str = "check the port; without TLS the URL begins with http://";

/// The reason why a TLS connection failed, and the fix.
#[derive(Debug, PartialEq)]
pub struct TlsFault {
    pub why: String,
    pub fix: &'static str,
}

impl TlsFault {
    /// None if the failure has nothing to do with TLS.
    pub fn of(error: &reqwest::Error) -> Option<Self> {
        let mut next: Option<&(dyn StdError + 'static)> = error.source();
        while let Some(error) = next {
            if let Some(fault) = error.downcast_ref::<TlsError>() {
                return Some(Self::from(fault));
            }
            // An `io::Error` hides the error inside it from `source`.
            let broken = error.downcast_ref::<io::Error>();
            if broken.is_some_and(|error| error.to_string() == HANDSHAKE_EOF) {
                return Some(Self::because(
                    "The server does not use TLS on this port.",
                    NO_TLS_FIX,
                ));
            }
            next = match broken.and_then(io::Error::get_ref) {
                Some(inner) => Some(inner),
                None => error.source(),
            };
        }
        None
    }

    fn because(why: impl Into<String>, fix: &'static str) -> Self {
        Self { why: why.into(), fix }
    }
}

impl From<&TlsError> for TlsFault {
    fn from(error: &TlsError) -> Self {
        use CertificateError as Bad;
        match error {
            TlsError::InvalidCertificate(Bad::UnknownIssuer) => Self::because(
                "Its certificate was signed by an unknown authority.",
                "if the server is yours, pass its CA certificate with --ca-cert FILE",
            ),
            TlsError::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
                Self::because(
                    "Its certificate has expired.",
                    "renew it on the server, or correct this machine's clock",
                )
            }
            TlsError::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
                Self::because("Its certificate is not valid yet.", "correct this machine's clock")
            }
            TlsError::InvalidCertificate(Bad::NotValidForNameContext { presented, .. }) => {
                let names: Vec<String> = presented.iter().map(|name| bare(name)).collect();
                if names.is_empty() {
                    return Self::because("Its certificate names no host.", NO_NAME_FIX);
                }
                Self::because(
                    format!("Its certificate is for {}.", names.join(", ")),
                    "use one of these names with --server or in the profile",
                )
            }
            TlsError::InvalidCertificate(Bad::Other(other))
                if other.to_string() == CA_AS_SERVER =>
            {
                Self::because(
                    "Its certificate is a CA certificate and not a server certificate.",
                    CA_AS_SERVER_FIX,
                )
            }
            TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => {
                Self::because("The server does not use TLS on this port.", NO_TLS_FIX)
            }
            other => {
                Self::because(format!("{other}."), "check the URL, and any proxies in between")
            }
        }
    }
}

/// Returns the name in a text such as `DnsName("licenses.example")`.
fn bare(presented: &str) -> String {
    presented.split('"').nth(1).unwrap_or(presented).to_owned()
}
