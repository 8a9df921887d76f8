//! How pods of a local cluster reach the host.

use std::net::IpAddr;

/// How a cluster's API server reaches the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostAccess {
    /// Through the gateway of its container network.
    NetworkGateway(IpAddr),
    /// By the name `host.docker.internal`.
    DockerDesktop,
    /// By the name `host.k3d.internal`.
    K3d,
    /// It cannot reach the host.
    Unreachable,
}
