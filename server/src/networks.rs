//! Networks that an operator names in a setting.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net};

/// Number of bits before the IPv4 address in a mapped address.
const MAPPED_PREFIX: u8 = 96;

/// Addresses and networks. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Arc<[IpNet]>);

/// The text is no list of networks.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is neither an address nor a network; name them as 10.0.0.0/8,192.0.2.7,::1")]
pub struct MalformedNetwork(String);

impl FromStr for Networks {
    type Err = MalformedNetwork;

    fn from_str(text: &str) -> Result<Self, MalformedNetwork> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let networks = text.split(',').map(str::trim).map(|entry| {
            let network = match entry.parse::<IpAddr>() {
                Ok(address) => Ok(address.into()),
                Err(_) => entry.parse(),
            };
            network.map(canonical).map_err(|_| MalformedNetwork(entry.to_owned()))
        });
        networks.collect::<Result<_, _>>().map(Self)
    }
}

impl Networks {
    /// Whether none is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them has the address, which is canonical.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Those that hold every address of their kind.
    pub fn everybody(&self) -> impl Iterator<Item = &IpNet> {
        self.0.iter().filter(|network| network.prefix_len() == 0)
    }
}

/// An IPv4 network in the form of IPv6 is the IPv4 network: every address is compared so.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(mapped) = network else { return network };
    let prefix = mapped.prefix_len().checked_sub(MAPPED_PREFIX);
    let address = mapped.addr().to_ipv4_mapped();
    match prefix.zip(address).map(|(prefix, address)| Ipv4Net::new(address, prefix)) {
        Some(Ok(network)) => network.into(),
        _ => network,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ipv4_network_may_be_written_as_ipv6() {
        let named: Networks = "::ffff:10.0.0.0/104, ::ffff:192.0.2.7".parse().unwrap();
        for (address, expected) in
            [("10.9.9.9", true), ("192.0.2.7", true), ("11.0.0.1", false), ("192.0.2.8", false)]
        {
            assert_eq!(named.contains(address.parse().unwrap()), expected, "{address}");
        }
        let all: Networks = "10.0.0.0/8,0.0.0.0/0,::/0,::ffff:0:0/96".parse().unwrap();
        let names: Vec<String> = all.everybody().map(ToString::to_string).collect();
        assert_eq!(names, ["0.0.0.0/0", "::/0", "0.0.0.0/0"]);
    }

    #[test]
    fn a_malformed_setting_is_refused() {
        for (text, entry) in [
            ("10.0.0.0/33", "10.0.0.0/33"),
            ("::1, proxy.example", "proxy.example"),
            ("10.0.0.1,,::1", ""),
            ("10.0.0.1;::1", "10.0.0.1;::1"),
            ("10.0.0.1:80", "10.0.0.1:80"),
        ] {
            let error = text.parse::<Networks>().unwrap_err();
            assert_eq!(error, MalformedNetwork(entry.to_owned()), "{text}");
        }
        for text in ["", " "] {
            assert!(text.parse::<Networks>().unwrap().is_empty());
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_of_networks_or_an_error(text in "\\PC*|[0-9a-f:./, ]{0,40}") {
            drop(text.parse::<Networks>());
        }
    }
}
