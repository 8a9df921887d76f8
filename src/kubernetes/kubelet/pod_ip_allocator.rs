//! Allocates pod IPs from the pod CIDRs of nodes.

use std::collections::{BTreeSet, HashMap};
use std::net::Ipv4Addr;

/// The used addresses of each node.
#[derive(Default)]
pub(super) struct PodIpAllocator {
    taken: HashMap<String, BTreeSet<u8>>,
    last: HashMap<String, u8>,
    /// CIDRs of nodes without `spec.podCIDR`.
    ranges: HashMap<String, String>,
}

/// The last octets of the first and last pod address.
const FIRST: u8 = 2;
const LAST: u8 = 254;

impl PodIpAllocator {
    /// A CIDR for a node without one.
    pub(super) fn node_cidr(&mut self, node: &str) -> String {
        let number = self.ranges.len() % 16_384;
        let range = self.ranges.entry(node.to_string());
        let range =
            range.or_insert_with(|| format!("10.{}.{}.0/24", 128 + number / 256, number % 256));
        range.clone()
    }

    /// Allocates a free address of `cidr`, round-robin; on a node with more pods than addresses
    /// some are shared.
    pub(super) fn allocate(&mut self, cidr: &str) -> String {
        let base = base(cidr);
        let taken = self.taken.entry(cidr.to_string()).or_default();
        let last = self.last.entry(cidr.to_string()).or_insert(FIRST - 1);
        let span = usize::from(LAST - FIRST) + 1;
        for _ in 0..span {
            *last = if *last >= LAST { FIRST } else { *last + 1 };
            if !taken.contains(last) {
                break;
            }
        }
        taken.insert(*last);
        let [a, b, c, _] = base.octets();
        Ipv4Addr::new(a, b, c, *last).to_string()
    }

    /// Reserves the address of a pod that existed before this process.
    pub(super) fn reserve(&mut self, cidr: &str, ip: &str) {
        if let Ok(ip) = ip.parse::<Ipv4Addr>() {
            let taken = self.taken.entry(cidr.to_string()).or_default();
            taken.insert(ip.octets()[3]);
        }
    }

    /// Releases an address.
    pub(super) fn release(&mut self, cidr: &str, ip: &str) {
        if let (Ok(ip), Some(taken)) = (ip.parse::<Ipv4Addr>(), self.taken.get_mut(cidr)) {
            taken.remove(&ip.octets()[3]);
        }
    }
}

fn base(cidr: &str) -> Ipv4Addr {
    let address = cidr.split('/').next().unwrap_or_default();
    address.parse().unwrap_or(Ipv4Addr::new(10, 244, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_unique_and_reused() {
        let mut addresses = PodIpAllocator::default();
        let all: BTreeSet<String> = (0..253)
            .map(|_| addresses.allocate("10.64.3.0/24"))
            .collect();
        assert_eq!(all.len(), 253);
        assert!(all.contains("10.64.3.2") && all.contains("10.64.3.254"));
        addresses.release("10.64.3.0/24", "10.64.3.77");
        assert_eq!(addresses.allocate("10.64.3.0/24"), "10.64.3.77");
    }
}
