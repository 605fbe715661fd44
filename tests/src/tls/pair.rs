//! A certificate that has signed itself, and its key, in files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use tempfile::TempDir;

pub struct Pair {
    folder: TempDir,
    key: KeyPair,
    pub certificate: CertificateDer<'static>,
}

/// For the names by which a machine knows itself.
pub fn params() -> CertificateParams {
    CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap()
}

impl Pair {
    pub fn new() -> Self {
        Self::with(&params())
    }

    pub fn with(params: &CertificateParams) -> Self {
        let (folder, key) = (TempDir::new().unwrap(), KeyPair::generate().unwrap());
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.path().join("cert.pem"), certificate.pem()).unwrap();
        let path = folder.path().join("key.pem");
        fs::write(&path, key.serialize_pem()).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        Self { folder, key, certificate: certificate.der().clone() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn certificate_path(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    pub fn key_path(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// The settings of a licd with this certificate.
    pub fn settings(&self) -> [(&'static str, String); 2] {
        let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
        [("LICD_TLS_CERT", text(self.certificate_path())), ("LICD_TLS_KEY", text(self.key_path()))]
    }

    /// Lines of the key's file, none of which may be seen anywhere else.
    pub fn secret_lines(&self) -> Vec<String> {
        let pem = self.key.serialize_pem();
        pem.lines().filter(|line| !line.starts_with("-----")).map(str::to_owned).collect()
    }

    /// Puts this certificate and key into the files of `other`, in place of what they held.
    pub fn replace(&self, other: &Self) {
        for (from, to) in [
            (self.certificate_path(), other.certificate_path()),
            (self.key_path(), other.key_path()),
        ] {
            let new = to.with_extension("new");
            fs::copy(from, &new).unwrap();
            fs::rename(new, to).unwrap();
        }
    }

    /// Writes the key as `openssl ecparam -genkey` does: PKCS#8 without its wrapping.
    pub fn write_key_in_sec1(&self) {
        let wrapping = 29;
        let sec1 = &self.key.serialized_der()[wrapping..];
        let text = BASE64_STANDARD.encode(sec1);
        let pem = format!("-----BEGIN EC PRIVATE KEY-----\n{text}\n-----END EC PRIVATE KEY-----\n");
        fs::write(self.key_path(), pem).unwrap();
    }
}
