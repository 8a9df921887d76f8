//! [`ServiceAllocations`]: the cluster IPs and node ports of a Service.

use serde_json::Value;

use kueue_lab_json::ValueExt;

/// The allocations of a Service in the ranges of the cluster.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServiceAllocations {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// `spec.clusterIPs`.
    pub(crate) addresses: Vec<String>,
    /// Node ports by protocol, and the health check port; 0 for one that is not allocated.
    pub(crate) ports: Vec<(String, i64)>,
}

impl ServiceAllocations {
    /// The allocations of a Service.
    pub(crate) fn of(service: &Value) -> Self {
        let addresses = service.list("/spec/clusterIPs").iter();
        let ports = service.list("/spec/ports").iter();
        let ports = ports.map(|port| (port.text("/protocol").to_owned(), port.int("/nodePort")));
        let health_check = ("TCP".to_owned(), service.int("/spec/healthCheckNodePort"));
        Self {
            namespace: service.text("/metadata/namespace").to_owned(),
            name: service.name().to_owned(),
            addresses: addresses.map(|a| a.text("").to_owned()).collect(),
            ports: ports.chain([health_check]).collect(),
        }
    }
}
