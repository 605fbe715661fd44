//! Rules for the addresses that a webhook may reach: public addresses that the operator does not
//! deny, and addresses that the operator allows. Without these rules, a tenant could send requests
//! to machines of the operator's network and read their responses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use crate::networks::Networks;

/// IPv4 networks that are not public: IANA's registry of special-purpose addresses, and the address
/// at which Azure's hosts serve their virtual machines.
const NOT_PUBLIC: [Ipv4Net; 16] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
    v4([168, 63, 129, 16], 32),
];
/// The only public IPv6 network, except for [`NOT_PUBLIC_V6`].
const PUBLIC_V6: Ipv6Net = v6(0x2000, 0, 3);
/// Protocols and tunnels, documentation, 6to4, and documentation again.
const NOT_PUBLIC_V6: [Ipv6Net; 4] =
    [v6(0x2001, 0, 23), v6(0x2001, 0xdb8, 32), v6(0x2002, 0, 16), v6(0x3fff, 0, 20)];
/// NAT64 addresses, whose last four bytes are an IPv4 address.
const NAT64: Ipv6Net = v6(0x64, 0xff9b, 96);

const fn v4([a, b, c, d]: [u8; 4], length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(first: u16, second: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), length)
}

/// Returns the IPv4 address if `address` is one in IPv6 notation, otherwise `address`.
fn canonical(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) if NAT64.contains(&v6) => {
            let [.., a, b, c, d] = v6.octets();
            Ipv4Addr::new(a, b, c, d).into()
        }
        other => other,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !NOT_PUBLIC.iter().any(|it| it.contains(&v4)),
        IpAddr::V6(v6) => {
            PUBLIC_V6.contains(&v6) && !NOT_PUBLIC_V6.iter().any(|it| it.contains(&v6))
        }
    }
}

/// Networks that the operator allows and denies.
#[derive(Clone, Debug, Default)]
pub struct AddressRules {
    /// `LICD_WEBHOOK_ALLOW_NETS`
    pub allowed: Networks,
    /// `LICD_WEBHOOK_DENY_NETS`, which takes precedence.
    pub denied: Networks,
}

/// Whether webhooks may reach an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The operator allows the address, with plain HTTP too.
    Named,
    Public,
    Blocked,
}

impl AddressRules {
    pub fn judge(&self, address: IpAddr) -> Access {
        let (unmapped, canonical) = (address.to_canonical(), canonical(address));
        let is_in =
            |networks: &Networks| networks.contains(canonical) || networks.contains(unmapped);
        if is_in(&self.denied) {
            Access::Blocked
        } else if is_in(&self.allowed) {
            Access::Named
        } else if is_public(canonical) {
            Access::Public
        } else {
            Access::Blocked
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(rules: &AddressRules, address: &str) -> Access {
        rules.judge(address.parse().unwrap())
    }

    /// Cases: the first and last address of each range, and its public neighbours.
    #[test]
    fn addresses_of_private_networks_are_blocked() {
        let rules = AddressRules::default();
        for (range, neighbours) in [
            (["0.0.0.0", "0.255.255.255"], &["1.0.0.0"][..]),
            (["10.0.0.0", "10.255.255.255"], &["9.255.255.255", "11.0.0.0"]),
            (["100.64.0.0", "100.127.255.255"], &["100.63.255.255", "100.128.0.0"]),
            (["127.0.0.0", "127.255.255.255"], &["126.255.255.255", "128.0.0.0"]),
            (["169.254.0.0", "169.254.169.254"], &["169.253.255.255", "169.255.0.0"]),
            (["172.16.0.0", "172.31.255.255"], &["172.15.255.255", "172.32.0.0"]),
            (["192.0.0.0", "192.0.0.255"], &["191.255.255.255", "192.0.1.0"]),
            (["192.0.2.0", "192.0.2.255"], &["192.0.1.255", "192.0.3.0"]),
            (["192.88.99.0", "192.88.99.255"], &["192.88.98.255", "192.88.100.0"]),
            (["192.168.0.0", "192.168.255.255"], &["192.167.255.255", "192.169.0.0"]),
            (["198.18.0.0", "198.19.255.255"], &["198.17.255.255", "198.20.0.0"]),
            (["198.51.100.0", "198.51.100.255"], &["198.51.99.255", "198.51.101.0"]),
            (["203.0.113.0", "203.0.113.255"], &["203.0.112.255", "203.0.114.0"]),
            (["224.0.0.0", "255.255.255.255"], &["223.255.255.255"]),
            (["168.63.129.16", "168.63.129.16"], &["168.63.129.15", "168.63.129.17"]),
            (["::", "::1"], &[]),
            (["100::", "1fff:ffff::"], &["2003::"]),
            (["2001::", "2001:1ff:ffff::"], &["2001:200::"]),
            (["2001:db8::", "2001:db8:ffff::"], &["2001:db7:ffff::", "2001:db9::"]),
            (["2002::", "2002:ffff::"], &["2001:ffff::", "2003::"]),
            (["3fff::", "3fff:fff:ffff::"], &["3ffe:ffff::", "3fff:1000::"]),
            (["4000::", "fc00::1"], &["2a00::1"]),
            (["fe80::1", "ff02::1"], &["2606:4700::1111"]),
        ] {
            for address in range {
                assert_eq!(judge(&rules, address), Access::Blocked, "{address}");
            }
            for address in neighbours {
                assert_eq!(judge(&rules, address), Access::Public, "{address}");
            }
        }
    }

    #[test]
    fn an_ipv4_address_may_be_written_as_ipv6() {
        let rules = AddressRules::default();
        for (address, access) in [
            ("::ffff:10.0.0.1", Access::Blocked),
            ("::ffff:8.8.8.8", Access::Public),
            ("64:ff9b::127.0.0.1", Access::Blocked),
            ("64:ff9b::a9fe:a9fe", Access::Blocked),
            ("64:ff9b::8.8.8.8", Access::Public),
            ("64:ff9b:1::8.8.8.8", Access::Blocked),
        ] {
            assert_eq!(judge(&rules, address), access, "{address}");
        }
    }

    #[test]
    fn the_operator_allows_and_denies_and_denying_wins() {
        let rules = AddressRules {
            allowed: "10.1.0.0/16,fd00::1".parse().unwrap(),
            denied: "8.8.8.0/24,10.1.1.1,2a00:1::/32".parse().unwrap(),
        };
        for (address, access) in [
            ("10.1.0.1", Access::Named),
            ("::ffff:10.1.0.1", Access::Named),
            ("64:ff9b::10.1.0.1", Access::Named),
            ("10.1.1.1", Access::Blocked),
            ("10.2.0.1", Access::Blocked),
            ("fd00::1", Access::Named),
            ("fd00::2", Access::Blocked),
            ("8.8.8.8", Access::Blocked),
            ("64:ff9b::8.8.8.8", Access::Blocked),
            ("8.8.4.4", Access::Public),
            ("2a00:1::5", Access::Blocked),
        ] {
            assert_eq!(judge(&rules, address), access, "{address}");
        }
    }
}
