//! [`IdleConnections`]: connections that make no progress, by client address and time.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use tokio::time::Instant;

/// The bits of an IPv6 address that one client has for itself.
const IPV6_HOST_BITS: u32 = 64;

/// The address that connections are counted for: the network of an IPv6 address, as a client has
/// all addresses of it.
pub(crate) fn client_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = address.to_bits() >> IPV6_HOST_BITS << IPV6_HOST_BITS;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address => address,
    }
}

/// A connection and the time of its last progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdleConnection {
    pub(crate) id: u64,
    pub(crate) address: IpAddr,
    pub(crate) since: Instant,
}

/// Connections without progress.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    by_address: HashMap<IpAddr, BTreeSet<(Instant, u64)>>,
    /// The addresses by the number of their connections.
    ranking: BTreeSet<(usize, IpAddr)>,
}

impl IdleConnections {
    pub(crate) fn insert(&mut self, connection: IdleConnection) {
        let all = self.by_address.entry(connection.address).or_default();
        self.ranking.remove(&(all.len(), connection.address));
        all.insert((connection.since, connection.id));
        self.ranking.insert((all.len(), connection.address));
    }

    pub(crate) fn remove(&mut self, connection: IdleConnection) {
        let Some(all) = self.by_address.get_mut(&connection.address) else {
            return;
        };
        self.ranking.remove(&(all.len(), connection.address));
        all.remove(&(connection.since, connection.id));
        match all.len() {
            0 => drop(self.by_address.remove(&connection.address)),
            length => drop(self.ranking.insert((length, connection.address))),
        }
    }

    /// Of the address with the most connections that has one without progress for `patience`, the
    /// one that makes none for longest.
    ///
    /// # Errors
    /// There is none; the time of the last progress of the one that is next, if there is one.
    pub(crate) fn longest(
        &self,
        now: Instant,
        patience: Duration,
    ) -> Result<IdleConnection, Option<Instant>> {
        let mut next = None;
        for &(_, address) in self.ranking.iter().rev() {
            let first = self.by_address.get(&address).and_then(BTreeSet::first);
            let Some(&(since, id)) = first else { continue };
            if since + patience <= now {
                return Ok(IdleConnection { id, address, since });
            }
            next = next.min(Some(since)).or(Some(since));
        }
        Err(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(id: u64, address: [u8; 4], since: Instant) -> IdleConnection {
        IdleConnection {
            id,
            address: address.into(),
            since,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_address_with_the_most_connections_loses_the_oldest_one() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut idle = IdleConnections::default();
        let single = connection(0, [127, 0, 0, 1], at(0));
        let first = connection(1, [127, 0, 0, 2], at(1));
        let second = connection(2, [127, 0, 0, 2], at(2));
        for each in [single, second, first] {
            idle.insert(each);
        }
        let patience = Duration::from_secs(10);
        assert_eq!(idle.longest(at(9), patience), Err(Some(at(0))));
        assert_eq!(idle.longest(at(10), patience), Ok(single));
        assert_eq!(idle.longest(at(11), patience), Ok(first));
        idle.remove(first);
        idle.remove(second);
        assert_eq!(idle.longest(at(20), patience), Ok(single));
        idle.remove(single);
        assert_eq!(idle.longest(at(20), patience), Err(None));
    }

    #[test]
    fn the_addresses_of_an_ipv6_network_count_together() {
        let address = |text: &str| client_address(text.parse().unwrap());
        assert_eq!(address("2001:db8::1"), address("2001:db8::2"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("::ffff:127.0.0.1"), address("127.0.0.1"));
    }
}
