//! Resolves a Service to the address of an endpoint, as `k8s.io/apiserver/pkg/util/proxy`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::Value;

use crate::registry::object_reader::ObjectReader;
use kueue_lab_host::HostAddresses;
use kueue_lab_json::ValueExt;

/// A port of a Service.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ServiceReference {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// The port.
    pub(crate) port: i64,
}

/// The address of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceEndpoint {
    /// Address and port.
    pub(crate) address: SocketAddr,
    /// Whether nothing listens there: it belongs to a Pod, which has no network, or to this machine, where it
    /// is not one of [`HostAddresses`].
    pub(crate) is_pod: bool,
}

/// The error of a Service without address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResolveError {
    /// It does not exist.
    #[error("service {0:?} not found")]
    NotFound(String),
    /// It is of a type without endpoints.
    #[error("unsupported service type {0:?}")]
    UnsupportedType(String),
    /// It does not have the port.
    #[error("no service port {port} found for service {service:?}")]
    NoPort {
        /// The port.
        port: i64,
        /// The Service.
        service: String,
    },
    /// No endpoint is ready.
    #[error("no endpoints available for service {0:?}")]
    NoEndpoints(String),
}

impl ServiceReference {
    /// The reference in a `clientConfig` or APIService; the default port is 443.
    pub(crate) fn of(service: &Value) -> Self {
        Self {
            namespace: service.text("/namespace").to_owned(),
            name: service.text("/name").to_owned(),
            port: match service.int("/port") {
                0 => 443,
                port => port,
            },
        }
    }

    /// The DNS name of the Service, which its certificate is valid for.
    pub(crate) fn server_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }

    /// The address of a Service of type `ExternalName`, as `ResolveCluster`; only of an address or `localhost`, since no
    /// names are resolved here.
    fn external(
        &self,
        reader: &dyn ObjectReader,
        name: &str,
    ) -> Result<ServiceEndpoint, ResolveError> {
        let address: Option<IpAddr> = match name {
            "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
            name => name.parse().ok(),
        };
        let address = address.zip(u16::try_from(self.port).ok());
        let Some((ip, port)) = address else {
            return Err(ResolveError::UnsupportedType("ExternalName".to_owned()));
        };
        let address = SocketAddr::new(ip, port);
        Ok(ServiceEndpoint {
            address,
            is_pod: !reader.host_addresses().permits(address),
        })
    }

    /// The address of a ready endpoint, or of a host outside the cluster.
    ///
    /// # Errors
    /// [`ResolveError`].
    pub(crate) fn resolve(
        &self,
        reader: &dyn ObjectReader,
    ) -> Result<ServiceEndpoint, ResolveError> {
        let service = reader.get("", "services", &self.namespace, &self.name);
        let service = service.ok_or_else(|| ResolveError::NotFound(self.name.clone()))?;
        match service.text("/spec/type") {
            "" | "ClusterIP" | "NodePort" | "LoadBalancer" => {}
            "ExternalName" => return self.external(reader, service.text("/spec/externalName")),
            other => return Err(ResolveError::UnsupportedType(other.to_owned())),
        }
        let mut ports = service.list("/spec/ports").iter();
        let port = ports.find(|port| port.int("/port") == self.port);
        let port = port.ok_or_else(|| ResolveError::NoPort {
            port: self.port,
            service: self.name.clone(),
        })?;
        let endpoints = endpoints(reader, &self.namespace, &self.name, port.text("/name"));
        // A manually registered address is that of a process outside the cluster.
        let first = endpoints.iter().find(|e| !e.is_pod).or(endpoints.first());
        first
            .copied()
            .ok_or_else(|| ResolveError::NoEndpoints(self.name.clone()))
    }
}

/// The EndpointSlices of a Service.
pub(crate) fn endpoint_slices(
    reader: &dyn ObjectReader,
    namespace: &str,
    name: &str,
) -> Vec<std::sync::Arc<Value>> {
    let mut slices = reader.list("discovery.k8s.io", "endpointslices", namespace);
    slices.retain(|slice| slice.label("kubernetes.io/service-name") == Some(name));
    slices
}

/// The ready endpoints of the port `port` of a Service: of its EndpointSlices, or of its Endpoints
/// if it has no slice.
pub(crate) fn endpoints(
    reader: &dyn ObjectReader,
    namespace: &str,
    name: &str,
    port: &str,
) -> Vec<ServiceEndpoint> {
    let slices = endpoint_slices(reader, namespace, name);
    if !slices.is_empty() {
        let all = slices.iter().flat_map(|s| of_slice(reader, s, port));
        return all.collect();
    }
    let endpoints = reader.get("", "endpoints", namespace, name);
    let subsets = endpoints.iter().flat_map(|e| e.list("/subsets"));
    subsets
        .flat_map(|subset| of_subset(reader, subset, port))
        .collect()
}

fn of_slice(reader: &dyn ObjectReader, slice: &Value, port: &str) -> Vec<ServiceEndpoint> {
    let number = port_number(slice.list("/ports"), port);
    let ready = |endpoint: &&Value| endpoint.at("/conditions/ready") != &Value::Bool(false);
    let ready = slice.list("/endpoints").iter().filter(ready);
    let all = ready.filter_map(|endpoint| {
        let address = endpoint.list("/addresses").first()?.as_str()?;
        address_of(reader, address, number?, endpoint)
    });
    all.collect()
}

fn of_subset(reader: &dyn ObjectReader, subset: &Value, port: &str) -> Vec<ServiceEndpoint> {
    let number = port_number(subset.list("/ports"), port);
    let addresses = subset.list("/addresses").iter();
    let all =
        addresses.filter_map(|address| address_of(reader, address.text("/ip"), number?, address));
    all.collect()
}

fn port_number(ports: &[Value], name: &str) -> Option<u16> {
    let port = ports.iter().find(|port| port.text("/name") == name)?;
    u16::try_from(port.int("/port")).ok().filter(|n| *n > 0)
}

fn address_of(
    reader: &dyn ObjectReader,
    address: &str,
    port: u16,
    endpoint: &Value,
) -> Option<ServiceEndpoint> {
    let address = SocketAddr::new(address.parse::<IpAddr>().ok()?, port);
    let is_pod = match HostAddresses::is_of_host(address.ip()) {
        true => !is_permitted(reader, address, endpoint),
        false => endpoint.text("/targetRef/kind") == "Pod",
    };
    Some(ServiceEndpoint { address, is_pod })
}

/// Whether an endpoint may have this address of this machine: the lab permits it, or it is that of a Pod in the
/// network of a node that is this machine.
pub(crate) fn is_permitted(
    reader: &dyn ObjectReader,
    address: SocketAddr,
    endpoint: &Value,
) -> bool {
    let addresses = reader.host_addresses();
    addresses.permits(address)
        || (addresses.is_node(address.ip()) && is_host_network_pod(reader, address.ip(), endpoint))
}

fn is_host_network_pod(reader: &dyn ObjectReader, address: IpAddr, endpoint: &Value) -> bool {
    let target = endpoint.at("/targetRef");
    if target.text("/kind") != "Pod" {
        return false;
    }
    let pod = reader.get("", "pods", target.text("/namespace"), target.text("/name"));
    pod.is_some_and(|pod| {
        let ip: Option<IpAddr> = pod.text("/status/podIP").parse().ok();
        pod.flag("/spec/hostNetwork") && ip == Some(address)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::plugins::fake::Objects;

    fn resolve(objects: &Objects, port: i64) -> Result<String, String> {
        let service = json!({"namespace": "ns", "name": "hook", "port": port});
        let resolved = ServiceReference::of(&service).resolve(objects);
        resolved
            .map(|e| e.address.to_string())
            .map_err(|e| e.to_string())
    }

    fn add(objects: &mut Objects, resource: &'static str, object: Value) {
        let group = match resource {
            "endpointslices" => "discovery.k8s.io",
            _ => "",
        };
        objects.0.push((group, resource, object));
    }

    #[test]
    fn a_service_resolves_through_its_slices_or_its_endpoints() {
        let mut objects = Objects::default();
        let not_found = Err("service \"hook\" not found".to_owned());
        assert_eq!(resolve(&objects, 443), not_found);
        let ports = json!([{"name": "https", "port": 443}, {"name": "other", "port": 80}]);
        let metadata = json!({"namespace": "ns", "name": "hook"});
        add(
            &mut objects,
            "services",
            json!({"metadata": metadata, "spec": {"ports": ports}}),
        );
        assert_eq!(
            resolve(&objects, 9),
            Err("no service port 9 found for service \"hook\"".to_owned())
        );
        let none = Err("no endpoints available for service \"hook\"".to_owned());
        assert_eq!(resolve(&objects, 443), none);

        let old_ports = json!([{"name": "https", "port": 1}]);
        let subset = json!({"addresses": [{"ip": "127.0.0.1"}], "ports": old_ports});
        add(
            &mut objects,
            "endpoints",
            json!({"metadata": metadata, "subsets": [subset]}),
        );
        assert_eq!(resolve(&objects, 443), Ok("127.0.0.1:1".to_owned()));

        let slice = |name: &str, endpoint: Value| {
            json!({
                "metadata": {
                    "namespace": "ns",
                    "name": name,
                    "labels": {"kubernetes.io/service-name": "hook"},
                },
                "ports": [{"name": "https", "port": 9443}],
                "endpoints": [endpoint],
            })
        };
        let unready = json!({"addresses": ["::2"], "conditions": {"ready": false}});
        add(&mut objects, "endpointslices", slice("a", unready));
        assert_eq!(resolve(&objects, 443), none);
        let pod = json!({"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod"}});
        add(&mut objects, "endpointslices", slice("b", pod));
        assert_eq!(resolve(&objects, 443), Ok("10.0.0.1:9443".to_owned()));
        let host_network = json!({"addresses": ["127.0.0.2"], "targetRef": {"kind": "Pod"}});
        add(&mut objects, "endpointslices", slice("host", host_network));
        assert_eq!(resolve(&objects, 443), Ok("127.0.0.2:9443".to_owned()));
        objects.0.pop();
        add(
            &mut objects,
            "endpointslices",
            slice("c", json!({"addresses": ["::1"]})),
        );
        assert_eq!(resolve(&objects, 443), Ok("[::1]:9443".to_owned()));
        assert_eq!(resolve(&objects, 80), none);
    }

    #[test]
    fn an_external_name_is_an_address_outside_the_cluster() {
        let external = |name: &str| {
            let mut objects = Objects::default();
            let metadata = json!({"namespace": "ns", "name": "hook"});
            let spec = json!({"type": "ExternalName", "externalName": name});
            add(
                &mut objects,
                "services",
                json!({"metadata": metadata, "spec": spec}),
            );
            objects
        };
        let resolved = |name: &str| resolve(&external(name), 9444);
        assert_eq!(resolved("172.18.0.1"), Ok("172.18.0.1:9444".to_owned()));
        assert_eq!(resolved("localhost"), Ok("127.0.0.1:9444".to_owned()));
        let unsupported = Err("unsupported service type \"ExternalName\"".to_owned());
        assert_eq!(resolved("host.k3d.internal"), unsupported);
        let service = json!({"namespace": "ns", "name": "hook", "port": 9444});
        let restricted = Restricted(external("127.0.0.1"), HostAddresses::default());
        let endpoint = ServiceReference::of(&service).resolve(&restricted).unwrap();
        assert!(
            endpoint.is_pod,
            "no process of this machine that the lab does not permit"
        );
    }

    struct Restricted(Objects, HostAddresses);

    impl ObjectReader for Restricted {
        fn host_addresses(&self) -> HostAddresses {
            self.1.clone()
        }

        fn get(
            &self,
            group: &str,
            resource: &str,
            ns: &str,
            name: &str,
        ) -> Option<std::sync::Arc<Value>> {
            self.0.get(group, resource, ns, name)
        }

        fn list(&self, group: &str, resource: &str, ns: &str) -> Vec<std::sync::Arc<Value>> {
            self.0.list(group, resource, ns)
        }
    }

    #[test]
    fn an_address_of_this_machine_is_that_of_a_permitted_process() {
        let metadata = json!({"namespace": "ns", "name": "p"});
        let pod = |network: bool| {
            json!({"metadata": metadata, "spec": {"hostNetwork": network},
                "status": {"podIP": "127.0.0.1"}})
        };
        let target = json!({"targetRef": {"kind": "Pod", "namespace": "ns", "name": "p"}});
        let address: SocketAddr = "127.0.0.1:9443".parse().unwrap();
        let permitted = |network: bool, addresses: &HostAddresses, endpoint: &Value| {
            let objects = Objects(vec![("", "pods", pod(network))]);
            is_permitted(&Restricted(objects, addresses.clone()), address, endpoint)
        };
        let none = HostAddresses::default();
        assert!(!permitted(true, &none, &target));
        assert!(permitted(
            true,
            &HostAddresses::with_ports([9443]),
            &json!({})
        ));
        none.set_nodes([address.ip()]);
        assert!(permitted(true, &none, &target));
        assert!(!permitted(false, &none, &target) && !permitted(true, &none, &json!({})));
        let objects = Restricted(Objects::default(), HostAddresses::default());
        let endpoint = address_of(&objects, "127.0.0.1", 9443, &json!({}));
        assert!(endpoint.unwrap().is_pod);
    }
}
