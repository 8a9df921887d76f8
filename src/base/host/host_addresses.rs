//! [`HostAddresses`]: the addresses of this machine that objects of a simulated cluster may name.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::RwLock;

/// The addresses of this machine that objects of a simulated cluster, such as EndpointSlices and kubeconfigs in
/// Secrets, may name. Clones share them.
///
/// Loopback, unspecified and link-local addresses are those of this machine: servers that listen only there
/// are for its user. Others are reached over the network by everybody.
#[derive(Clone, Debug)]
pub struct HostAddresses {
    /// Whether all are permitted.
    all: bool,
    /// The ports that the command line names.
    ports: Arc<BTreeSet<u16>>,
    /// The ports of servers of the lab, with the number of servers.
    servers: Arc<RwLock<BTreeMap<u16, usize>>>,
    /// The addresses of nodes that node pools declare as this machine.
    nodes: Arc<RwLock<BTreeSet<IpAddr>>>,
}

impl Default for HostAddresses {
    /// None but the servers of the lab.
    fn default() -> Self {
        Self::with_ports([])
    }
}

impl HostAddresses {
    /// All addresses.
    pub fn all() -> Self {
        Self {
            all: true,
            ..Self::default()
        }
    }

    /// These ports, and the servers of the lab.
    pub fn with_ports(ports: impl IntoIterator<Item = u16>) -> Self {
        Self {
            all: false,
            ports: Arc::new(ports.into_iter().collect()),
            servers: Arc::default(),
            nodes: Arc::default(),
        }
    }

    /// The same ports and servers, for a cluster with nodes of its own.
    #[must_use]
    pub fn of_another_cluster(&self) -> Self {
        Self {
            nodes: Arc::default(),
            ..self.clone()
        }
    }

    /// Permits the port of a server of the lab, or of a cluster that a file of this machine names.
    pub fn add_server(&self, port: u16) {
        *self.servers.write().entry(port).or_default() += 1;
    }

    /// Takes back one [`add_server`](Self::add_server).
    pub fn remove_server(&self, port: u16) {
        let mut servers = self.servers.write();
        if let Some(number) = servers.get_mut(&port) {
            *number -= 1;
            servers.retain(|_, number| *number > 0);
        }
    }

    /// Sets the addresses of nodes that are this machine: Pods with their network are processes here.
    pub fn set_nodes(&self, nodes: impl IntoIterator<Item = IpAddr>) {
        *self.nodes.write() = nodes.into_iter().collect();
    }

    /// Whether Pods with the network of their node are processes of this machine at this address.
    pub fn is_node(&self, address: IpAddr) -> bool {
        self.all || self.nodes.read().contains(&address.to_canonical())
    }

    /// Whether an address may be connected to.
    pub fn permits(&self, address: SocketAddr) -> bool {
        !Self::is_of_host(address.ip()) || self.permits_port(address.port())
    }

    /// Whether a port may be connected to at each address of this machine.
    pub(crate) fn permits_port(&self, port: u16) -> bool {
        self.all || self.ports.contains(&port) || self.servers.read().contains_key(&port)
    }

    /// Whether this is an address of this machine, or of its link: loopback, unspecified or link-local.
    pub fn is_of_host(address: IpAddr) -> bool {
        let is_link_local = match address.to_canonical() {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        };
        let address = address.to_canonical();
        address.is_loopback() || address.is_unspecified() || is_link_local
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_machine_need_a_permission() {
        let addresses = HostAddresses::with_ports([9443]);
        let permits = |address: &str| addresses.permits(address.parse().unwrap());
        for own in [
            "127.0.0.1:80",
            "127.9.9.9:80",
            "[::1]:80",
            "[::ffff:127.0.0.1]:80",
            "0.0.0.0:80",
            "[::]:80",
            "169.254.169.254:80",
            "[fe80::1]:80",
        ] {
            assert!(!permits(own), "{own}");
        }
        assert!(permits("127.0.0.1:9443") && permits("10.0.0.1:80") && permits("[2001:db8::1]:80"));
        addresses.add_server(6443);
        addresses.add_server(6443);
        addresses.remove_server(6443);
        assert!(permits("127.0.0.1:6443"));
        addresses.remove_server(6443);
        assert!(!permits("127.0.0.1:6443"));
        let node = "127.0.0.1".parse().unwrap();
        assert!(!addresses.is_node(node));
        addresses.set_nodes([node]);
        assert!(addresses.is_node(node) && !permits("127.0.0.1:80"));
        let all = HostAddresses::all();
        assert!(all.permits("127.0.0.1:80".parse().unwrap()) && all.is_node(node));
    }
}
