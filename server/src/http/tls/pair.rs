//! A certificate and its key: the files that hold them, and what rustls makes of them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::Timestamp;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig};
use x509_parser::certificate::X509Certificate;
use x509_parser::parse_x509_certificate;
use x509_parser::time::ASN1Time;
use zeroize::Zeroizing;

use crate::small_file;

/// Reason why a certificate and key cannot be used. No message contains content of the files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{0} cannot be read")]
    Unreadable(PathBuf, #[source] io::Error),
    #[error("{0} holds no certificate in PEM")]
    NoCertificate(PathBuf),
    #[error("{0} is cut off: a block in it has no END line")]
    CutOff(PathBuf),
    #[error("{0} holds a certificate that is malformed: the one with number {1}")]
    Malformed(PathBuf, usize),
    #[error("{0} holds no private key in PEM: PKCS#8, PKCS#1 or SEC1, and not encrypted")]
    NoKey(PathBuf),
    #[error(
        "the key in {0} cannot be used; it must be RSA of 2048 to 4096 bits, P-256, P-384 or Ed25519"
    )]
    UnusableKey(PathBuf),
    #[error("the certificate in {0} and the key in {1} do not fit each other")]
    Mismatch(PathBuf, PathBuf),
    #[error("the certificate in {0} or the key in {1} cannot be used")]
    Unusable(PathBuf, PathBuf, #[source] rustls::Error),
}

/// Paths of a certificate and its key.
#[derive(Debug)]
pub struct PairFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A certificate and its key, ready for use.
pub struct Pair {
    pub config: Arc<ServerConfig>,
    pub valid_from: Timestamp,
    pub expires_at: Timestamp,
}

/// Values that differ after a file was written or replaced, or a link to it was changed: device,
/// inode, length, and the time of the last change, which users cannot set. `None` for a missing
/// file.
pub type Fingerprint = [Option<(u64, u64, u64, i64, i64)>; 2];

impl PairFiles {
    pub fn fingerprint(&self) -> Fingerprint {
        [&self.certificate, &self.key].map(|path| {
            let file = fs::metadata(path).ok()?;
            Some((file.dev(), file.ino(), file.len(), file.ctime(), file.ctime_nsec()))
        })
    }

    pub fn read(&self) -> Result<Pair, TlsError> {
        let (certificate, key) = (|| self.certificate.clone(), || self.key.clone());
        let chain = CertificateDer::pem_slice_iter(&read(&self.certificate)?)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| match error {
                pem::Error::MissingSectionEnd { .. } => TlsError::CutOff(certificate()),
                _ => TlsError::NoCertificate(certificate()),
            })?;
        let (valid_from, expires_at) = self.check(&chain)?;
        let secret =
            PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|error| match error {
                pem::Error::MissingSectionEnd { .. } => TlsError::CutOff(key()),
                _ => TlsError::NoKey(key()),
            })?;
        if default_provider().key_provider.load_private_key(secret.clone_key()).is_err() {
            return Err(TlsError::UnusableKey(key()));
        }
        let config = config(chain, secret).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::Mismatch(certificate(), key())
            }
            error => TlsError::Unusable(certificate(), key(), error),
        })?;
        Ok(Pair { config: Arc::new(config), valid_from, expires_at })
    }

    /// Parses all certificates, because rustls checks only the first. Returns the validity of the
    /// first.
    fn check(&self, chain: &[CertificateDer<'_>]) -> Result<(Timestamp, Timestamp), TlsError> {
        let path = || self.certificate.clone();
        let parsed = chain.iter().enumerate().map(|(index, der)| match whole(der) {
            Some(certificate) => Ok(certificate),
            None => Err(TlsError::Malformed(path(), index + 1)),
        });
        let parsed = parsed.collect::<Result<Vec<_>, _>>()?;
        let first = parsed.first().ok_or_else(|| TlsError::NoCertificate(path()))?;
        let validity = first.validity();
        timestamp(validity.not_before)
            .zip(timestamp(validity.not_after))
            .ok_or_else(|| TlsError::Malformed(path(), 1))
    }
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, TlsError> {
    small_file::read(path).map_err(|error| TlsError::Unreadable(path.to_owned(), error))
}

/// Returns the certificate, if `der` contains nothing else.
fn whole<'a>(der: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    let (rest, certificate) = parse_x509_certificate(der).ok()?;
    rest.is_empty().then_some(certificate)
}

fn timestamp(time: ASN1Time) -> Option<Timestamp> {
    Timestamp::from_millis(time.timestamp().checked_mul(1000)?)
}

/// HTTP/1.1 over TLS 1.2 or 1.3. Nothing is resumed under another
/// certificate, as each configuration remembers sessions of its own.
fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// A program can preserve the length and the time of the last write, but not that of the last
    /// change.
    #[test]
    fn a_file_that_seems_unwritten_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cert.pem");
        fs::write(&path, "one").unwrap();
        let files = PairFiles { certificate: path.clone(), key: path.clone() };
        let (before, written) = (files.fingerprint(), fs::metadata(&path).unwrap().modified());
        let written = written.unwrap();
        // The clock of files stands still for some milliseconds.
        let is_noticed = (0..1_000_000).any(|_| {
            fs::write(&path, "two").unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
            files.fingerprint() != before
        });
        assert!(is_noticed);
    }
}
