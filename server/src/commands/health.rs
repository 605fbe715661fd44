//! `licd health`: asks the licd on this machine whether it is alive or ready, for container images,
//! which have no curl. `licd doctor` says what is wrong.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::print;

/// More than the two seconds that a check of readiness takes at most.
const TIMEOUT: Duration = Duration::from_secs(4);

#[derive(clap::Args)]
#[command(after_help = "\
Restart licd only if it is not alive. While its database is away, licd is alive
but not ready, and a restart helps nobody. The exit code is 0 or 1.")]
pub struct Health {
    /// The address that `licd serve` listens on. Instead of 0.0.0.0 and [::], loopback is asked.
    #[arg(long, env = "LICD_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: String,
    /// The certificate of `licd serve`. If it has one, the request uses TLS. The certificate is not
    /// verified, because it is for the name that clients use.
    #[arg(long, env = "LICD_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<OsString>,
    /// Check that it can validate users, which requires the database.
    #[arg(long)]
    ready: bool,
}

impl Health {
    pub async fn run(self) -> anyhow::Result<()> {
        let (path, state) = if self.ready { ("readyz", "ready") } else { ("healthz", "alive") };
        let has_tls = self.tls_cert.as_ref().is_some_and(|file| !file.is_empty());
        let scheme = if has_tls { "https" } else { "http" };
        let client = client()?;
        let mut outcome = Err(anyhow::anyhow!("{} has no address", self.listen));
        for address in addresses(&self.listen)? {
            let url: Url = format!("{scheme}://{address}/{path}").parse()?;
            outcome = ask(&client, url).await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome.with_context(|| format!("licd is not {state}"))?;
        print(format_args!("licd is {state}"))
    }
}

/// Without a proxy: the address is one of this machine.
fn client() -> reqwest::Result<Client> {
    let builder = Client::builder().no_proxy().redirect(Policy::none()).timeout(TIMEOUT);
    builder.tls_danger_accept_invalid_certs(true).build()
}

async fn ask(client: &Client, url: Url) -> anyhow::Result<()> {
    let response = client.get(url.clone()).send().await.map_err(reqwest::Error::without_url);
    let status = response.with_context(|| url.to_string())?.status();
    ensure!(status.is_success(), "{url} returned {status}");
    Ok(())
}

/// Returns the addresses at which a listener can be reached, in the order in which to try them.
fn addresses(listen: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let named = listen.to_socket_addrs().with_context(|| format!("cannot resolve {listen}"))?;
    let mut addresses = Vec::new();
    for address in named {
        let port = address.port();
        ensure!(port != 0, "port 0 is a free port that only `licd serve` knows; set another");
        let (v4, v6) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
        let hosts: &[IpAddr] = match address.ip() {
            ip if !ip.is_unspecified() => &[ip],
            IpAddr::V4(_) => &[v4],
            // It accepts IPv4 as well, even where IPv6 has no loopback.
            IpAddr::V6(_) => &[v6, v4],
        };
        addresses.extend(hosts.iter().map(|host| SocketAddr::new(*host, port)));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_listens_is_found() {
        for (listen, expected) in [
            ("127.0.0.1:8080", &["127.0.0.1:8080"][..]),
            ("192.0.2.7:443", &["192.0.2.7:443"]),
            ("0.0.0.0:8080", &["127.0.0.1:8080"]),
            ("[::]:8080", &["[::1]:8080", "127.0.0.1:8080"]),
            ("[2001:db8::7]:8080", &["[2001:db8::7]:8080"]),
        ] {
            let found: Vec<String> =
                addresses(listen).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{listen}");
        }
        for nonsense in ["127.0.0.1:0", "127.0.0.1", "nonsense"] {
            assert!(addresses(nonsense).is_err(), "{nonsense}");
        }
    }
}
