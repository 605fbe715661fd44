//! A certificate and its key: the files that hold them, and what rustls makes of them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use common::Timestamp;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig};
use x509_parser::parse_x509_certificate;

/// Why a certificate and key cannot be used. What the files hold is in no message.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{0} cannot be read")]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("{0} holds no certificate in PEM")]
    NoCertificate(PathBuf),
    #[error("{0} holds no private key in PEM: PKCS#8, PKCS#1 or SEC1, and not encrypted")]
    NoKey(PathBuf),
    #[error("the certificate in {0} and the key in {1} do not fit each other")]
    Mismatch(PathBuf, PathBuf),
    #[error("the certificate in {0} or the key in {1} cannot be used")]
    Unusable(PathBuf, PathBuf, #[source] rustls::Error),
}

/// Where a certificate and its key are.
#[derive(Debug)]
pub struct PairFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A certificate and its key, ready for use.
pub struct Pair {
    pub config: Arc<ServerConfig>,
    pub expires_at: Timestamp,
}

/// What differs when a file was written or replaced, or a link to it was changed: device, inode,
/// length, and the time of the last write. None of a file that is not there.
pub type Fingerprint = [Option<(u64, u64, u64, i64, i64)>; 2];

impl PairFiles {
    pub fn fingerprint(&self) -> Fingerprint {
        [&self.certificate, &self.key].map(|path| {
            let file = fs::metadata(path).ok()?;
            Some((file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec()))
        })
    }

    pub fn read(&self) -> Result<Pair, TlsError> {
        let (certificate, key) = (|| self.certificate.clone(), || self.key.clone());
        let chain = CertificateDer::pem_slice_iter(&read(&self.certificate)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| TlsError::NoCertificate(certificate()))?;
        let expires_at = chain.first().and_then(expiry);
        let expires_at = expires_at.ok_or_else(|| TlsError::NoCertificate(certificate()))?;
        let secret =
            PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|_| TlsError::NoKey(key()))?;
        let config = config(chain, secret).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::Mismatch(certificate(), key())
            }
            error => TlsError::Unusable(certificate(), key(), error),
        })?;
        Ok(Pair { config: Arc::new(config), expires_at })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::Unreadable(path.to_owned(), error))
}

/// When the certificate expires. None if it is malformed.
fn expiry(certificate: &CertificateDer<'_>) -> Option<Timestamp> {
    let (_, certificate) = parse_x509_certificate(certificate).ok()?;
    let seconds = certificate.validity().not_after.timestamp();
    Timestamp::from_millis(seconds.checked_mul(1000)?)
}

/// TLS 1.2 and 1.3; the client chooses HTTP/2 or HTTP/1.1. Nothing is resumed under another
/// certificate, as each configuration remembers sessions of its own.
fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
