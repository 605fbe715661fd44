//! Connections to a server, and the certificates that licctl trusts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;

use super::cause;
use crate::error::{Error, Exit, Result};
use crate::profile::avoids_proxies;
use crate::terminal::unreadable;

/// The HTTP client for a server, for requests with or without a key.
pub fn http(server: &Url, timeout: Duration, ca_cert: Option<&CaCert>) -> Result<reqwest::Client> {
    let mut http = reqwest::Client::builder()
        .user_agent(concat!("licctl/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .timeout(timeout);
    // For this machine too: a proxy would see the key, and could not reach it anyway.
    if avoids_proxies(server) {
        http = http.no_proxy();
    }
    let own = ca_cert.map(CaCert::certificates).transpose()?.unwrap_or_default();
    if server.scheme() == "http" {
        // Plain HTTP needs no certificate authorities. Loading them takes time, and fails where
        // there are none.
        http = http.tls_certs_only(own);
    } else if ca_cert.is_some() {
        http = http.tls_certs_merge(own);
    }
    http.build().map_err(|error| {
        Error::new(Exit::Unreachable, "tls", "Cannot set up the connection.")
            .because(cause(&error))
            .fix("install the package ca-certificates, or use --ca-cert FILE")
    })
}

/// A file of certificates to trust in addition to the system's.
pub struct CaCert {
    pub path: PathBuf,
    pem: Vec<u8>,
}

impl CaCert {
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        let pem = fs::read(path).map_err(|error| unreadable(&shown, &error))?;
        Ok(Self { path: path.to_owned(), pem })
    }

    fn certificates(&self) -> Result<Vec<reqwest::Certificate>> {
        let what = format!("{} contains no PEM certificate.", self.path.display());
        let found = reqwest::Certificate::from_pem_bundle(&self.pem);
        found
            .ok()
            .filter(|found| !found.is_empty())
            .ok_or_else(|| Error::usage(what).fix("use a file with -----BEGIN CERTIFICATE-----"))
    }
}
