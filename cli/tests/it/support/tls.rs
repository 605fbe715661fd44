//! A service behind TLS, with a valid or invalid certificate.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{answer, fake_server};

/// The service of [`answer`], secured.
pub struct Secured {
    /// By the name that every machine has for itself.
    pub address: String,
    /// The certificate that it shows, as PEM.
    pub certificate: String,
}

impl Secured {
    /// With a certificate for this name that it has signed itself.
    pub fn named(name: &str) -> Self {
        Self::with(&CertificateParams::new([name.to_owned()]).unwrap())
    }

    /// With an expired certificate.
    pub fn expired() -> Self {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        Self::with(&params)
    }

    /// With an authority's certificate, as `openssl req -x509` makes it.
    pub fn authority() -> Self {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self::with(&params)
    }

    /// With a certificate that names no host.
    pub fn nameless() -> Self {
        Self::with(&CertificateParams::new([]).unwrap())
    }

    fn with(params: &CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth();
        let secret = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = config.with_single_cert(vec![certificate.der().clone()], secret).unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let mut stream = StreamOwned::new(connection, stream);
                // A client that does not like the certificate says nothing.
                if let Some(request) = fake_server::read(&mut stream) {
                    answer(&request).send(&mut stream);
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                }
            }
        });
        Self { address: format!("https://localhost:{port}"), certificate: certificate.pem() }
    }
}
