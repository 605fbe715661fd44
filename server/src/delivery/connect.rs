//! Connections to receivers: looks up the host, and connects to an address that webhooks may reach.
//! licd connects to the checked address itself, so a name that resolves differently a moment later
//! does not help an attacker. Webhooks never use a proxy.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, LazyLock};

use common::{TenantId, WebhookError};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::addresses::{Access, AddressRules};
use super::lookups::Lookups;

/// Maximum number of addresses of a host that are tried.
const MAX_ADDRESSES: usize = 4;

/// A connection, with or without TLS.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type MakeTls = Box<dyn FnOnce() -> Option<TlsConnector> + Send>;

/// Connects to receivers. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    rules: Arc<AddressRules>,
    /// Created at first use, because reading the certificate authorities takes a while.
    tls: Arc<LazyLock<Option<TlsConnector>, MakeTls>>,
    lookups: Lookups,
}

/// Returns the certificate authorities that this machine trusts, or those of `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` if these are set.
pub fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn tls(roots: RootCertStore) -> Option<TlsConnector> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().ok()?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Some(TlsConnector::from(Arc::new(config)))
}

impl Connector {
    /// Creates a connector that trusts `roots`.
    pub fn new(
        rules: AddressRules,
        roots: impl FnOnce() -> RootCertStore + Send + 'static,
    ) -> Self {
        Self {
            rules: Arc::new(rules),
            tls: Arc::new(LazyLock::new(Box::new(|| tls(roots())))),
            lookups: Lookups::new(),
        }
    }

    /// Whether a webhook may have this URL. Host names are not looked up.
    pub fn allows(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Ipv4(address)) => self.allows_address(url, address.into()),
            Some(Host::Ipv6(address)) => self.allows_address(url, address.into()),
            _ => url.scheme() == "https" || !self.rules.allowed.is_empty(),
        }
    }

    fn allows_address(&self, url: &Url, address: IpAddr) -> bool {
        match self.rules.judge(address) {
            Access::Named => true,
            Access::Public => url.scheme() == "https" && !is_own(address),
            Access::Blocked => false,
        }
    }

    /// Whether the operator allows the address by name. Its responses are not shown to the tenant.
    pub fn is_named(&self, address: IpAddr) -> bool {
        self.rules.judge(address) == Access::Named
    }

    /// Connects to the host of the URL. Returns the connection and its address.
    pub async fn connect(
        &self,
        tenant: TenantId,
        url: &Url,
    ) -> Result<(Box<dyn Stream>, IpAddr), WebhookError> {
        let addresses = self.addresses(tenant, url).await?;
        let (stream, peer) = connect_first(&addresses).await.map_err(|error| {
            tracing::debug!(host = url.host_str(), %error, "cannot connect to a webhook's receiver");
            WebhookError::Connect
        })?;
        drop(stream.set_nodelay(true));
        if url.scheme() != "https" {
            return Ok((Box::new(stream), peer));
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(|_| WebhookError::Tls)?;
        let tls = (**self.tls).as_ref().ok_or(WebhookError::Tls)?;
        let secured = tls.connect(name, stream).await.map_err(|error| {
            tracing::debug!(host = url.host_str(), %error, "no TLS with a webhook's receiver");
            WebhookError::Tls
        })?;
        Ok((Box::new(secured), peer))
    }

    /// Returns the addresses of the host that webhooks may reach. Plain HTTP requires that the
    /// operator allows all addresses of the host.
    async fn addresses(
        &self,
        tenant: TenantId,
        url: &Url,
    ) -> Result<Vec<SocketAddr>, WebhookError> {
        let port = url.port_or_known_default().ok_or(WebhookError::Connect)?;
        let all: Vec<SocketAddr> = match url.host() {
            Some(Host::Ipv4(address)) => vec![(address, port).into()],
            Some(Host::Ipv6(address)) => vec![(address, port).into()],
            Some(Host::Domain(name)) => {
                self.lookups.addresses(tenant, name.to_owned(), port).await?
            }
            None => Vec::new(),
        };
        let mut allowed = all.clone();
        allowed.retain(|it| self.allows_address(url, it.ip()));
        let is_plain = url.scheme() != "https";
        if allowed.is_empty() || is_plain && allowed.len() < all.len() {
            let all: Vec<IpAddr> = all.iter().map(SocketAddr::ip).collect();
            return Err(self.blocked(url, &all));
        }
        Ok(allowed)
    }

    /// Returns the same error for a name without addresses as for one whose addresses are blocked.
    /// Otherwise a tenant could find out the operator's internal names. The log has the reason.
    fn blocked(&self, url: &Url, addresses: &[IpAddr]) -> WebhookError {
        let host = url.host_str();
        match addresses {
            [] => tracing::info!(host, "the host of a webhook has no address"),
            addresses => tracing::info!(
                host,
                ?addresses,
                "a webhook may not reach this host; LICD_WEBHOOK_ALLOW_NETS can allow it, unless \
                 LICD_WEBHOOK_DENY_NETS denies it"
            ),
        }
        match url.host() {
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => WebhookError::BlockedAddress,
            _ => WebhookError::NoPublicAddress,
        }
    }
}

/// Whether the address belongs to this host, whose services may trust it. Decided without a
/// connection, so that a tenant cannot find out which ports are open.
fn is_own(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Connecting a UDP socket sends nothing, and chooses the address to send from.
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip().to_canonical() == address.to_canonical())
}

async fn connect_first(addresses: &[SocketAddr]) -> io::Result<(TcpStream, IpAddr)> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses.iter().take(MAX_ADDRESSES) {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok((stream, address.ip().to_canonical())),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_this_host_are_its_own() {
        for (address, expected) in
            [("127.0.0.1", true), ("::ffff:127.0.0.1", true), ("192.0.2.1", false)]
        {
            assert_eq!(is_own(address.parse().unwrap()), expected, "{address}");
        }
    }
}
