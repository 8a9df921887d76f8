//! The network of pods, Services and nodes: names, addresses and connections.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;
use kube::api::ListParams;
use kueue_lab_host::HostAddresses;
use kueue_lab_streaming::port_forward::{DialError, PodConnection};

use super::pod_server::{self, ServerContext, pod_server};
use super::pod_workers::Kubelet;
use super::running_instance::container_spec;
use super::simulated_container::ContainerPhase;
use kueue_lab_controller_runtime::{Api, ObjectKey};
use kueue_lab_controller_utils::pods::is_terminal;

/// The Service of the API server in the namespace default, and its EndpointSlice.
const API_SERVER: &str = "kubernetes";
/// The domain of the cluster.
const CLUSTER_DOMAIN: &str = ".cluster.local";

/// An endpoint of a Service.
#[derive(Clone, Copy)]
struct Endpoint {
    address: IpAddr,
    port: u16,
    is_api_server: bool,
}

fn pod_ip(pod: &Pod) -> Option<IpAddr> {
    pod.status.as_ref()?.pod_ip.as_deref()?.parse().ok()
}

fn no_route(address: IpAddr, port: u16) -> DialError {
    DialError::NoRoute(format!("{address}:{port}"))
}

fn refused(address: IpAddr, port: u16) -> DialError {
    DialError::Refused(format!("{address}:{port}"))
}

impl Kubelet {
    /// Connects to an address of the cluster: a pod, a Service, or a process of this machine that
    /// [`HostAddresses`] permits.
    ///
    /// # Errors
    /// Nothing listens at the address.
    pub async fn dial(&self, address: IpAddr, port: u16) -> Result<PodConnection, DialError> {
        self.dial_from(None, address, port).await
    }

    /// [`Self::dial`] of a pod with the address `client`, or of the API server.
    ///
    /// # Errors
    /// Nothing listens at the address.
    pub async fn dial_from(
        &self,
        client: Option<IpAddr>,
        address: IpAddr,
        port: u16,
    ) -> Result<PodConnection, DialError> {
        if HostAddresses::is_of_host(address) {
            return self.connect_to_process(address, port).await;
        }
        if let Some(connection) = self.connect_to_ip(address, port, client) {
            return connection.ok_or_else(|| refused(address, port));
        }
        match self.service_endpoint(address, port).await {
            Some(Some(Endpoint {
                address,
                port,
                is_api_server,
            })) if is_api_server || HostAddresses::is_of_host(address) => {
                self.connect_to_process(address, port).await
            }
            Some(Some(Endpoint { address, port, .. })) => {
                let connection = self.connect_to_ip(address, port, client).flatten();
                connection.ok_or_else(|| refused(address, port))
            }
            Some(None) => Err(refused(address, port)),
            None => Err(no_route(address, port)),
        }
    }

    /// Connects to a process on this machine: one that the lab permits, or a Pod in the network of a node
    /// that is this machine.
    async fn connect_to_process(
        &self,
        address: IpAddr,
        port: u16,
    ) -> Result<PodConnection, DialError> {
        let target = SocketAddr::new(address, port);
        let addresses = self.host_addresses();
        let is_permitted = addresses.permits(target)
            || (addresses.is_node(address) && self.is_host_network_pod(address));
        if !is_permitted {
            return Err(refused(address, port));
        }
        match kueue_lab_host::connect(&addresses, target).await {
            Ok(connection) => Ok(Box::new(connection)),
            Err(_) => Err(refused(address, port)),
        }
    }

    /// Whether a pod has this address of its node.
    fn is_host_network_pod(&self, address: IpAddr) -> bool {
        let pods = self.shared().pods.list();
        pods.iter().any(|pod| {
            let spec = pod.spec.as_ref();
            pod_ip(pod) == Some(address) && spec.and_then(|s| s.host_network) == Some(true)
        })
    }

    /// Connects to a pod by its address, which the pods of the host network share: `None` if there is
    /// no such pod, and `Some(None)` if none listens on the port.
    fn connect_to_ip(
        &self,
        address: IpAddr,
        port: u16,
        client: Option<IpAddr>,
    ) -> Option<Option<PodConnection>> {
        let pods = self.shared().pods.list();
        let with_ip = pods
            .iter()
            .filter(|pod| pod_ip(pod) == Some(address) && !is_terminal(pod));
        let mut with_ip = with_ip.map(|pod| ObjectKey::of(&**pod)).peekable();
        with_ip.peek()?;
        Some(with_ip.find_map(|key| self.connect_to_pod(&key, port, client)))
    }

    /// Connects to a server in a pod; `None` if no container listens on the port.
    pub fn connect_to_pod(
        &self,
        key: &ObjectKey,
        port: u16,
        client: Option<IpAddr>,
    ) -> Option<PodConnection> {
        let shared = self.shared();
        let pod = shared.pods.get(key)?;
        let uid = pod.metadata.uid.clone()?;
        let running: Vec<_> = {
            let simulated = shared.simulated_pods.lock();
            let simulated = simulated
                .get(key)
                .filter(|simulated| simulated.uid == uid)?;
            let running = simulated.containers.iter();
            let running = running.filter(|c| matches!(c.phase, ContainerPhase::Running { .. }));
            running
                .map(|c| (c.name.clone(), c.process.clone()))
                .collect()
        };
        for (name, process) in running {
            if let Some(process) = process {
                match process.connect(port, client) {
                    None => continue,
                    connection => return connection,
                }
            }
            let spec = container_spec(&pod, &name)?;
            let Some(server) = pod_server(&spec, port) else {
                continue;
            };
            let ended = shared.logs.ended(&uid, &name)?;
            let context = ServerContext {
                kubelet: self.clone(),
                key: key.clone(),
                uid: uid.clone(),
                container: name,
                client: client.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            };
            return Some(pod_server::serve(server, context, ended));
        }
        None
    }

    /// The endpoint of a Service with this cluster IP: `None` if there is no such Service, and
    /// `Some(None)` if it has no endpoint for the port.
    async fn service_endpoint(&self, address: IpAddr, port: u16) -> Option<Option<Endpoint>> {
        let client = self.shared().context.client.clone();
        let services: Api<Service> = Api::all(client.clone());
        let services = services.list(&ListParams::default()).await.ok()?;
        let text = address.to_string();
        let mut services = services.items.into_iter();
        let service = services.find(|service| {
            let spec = service.spec.as_ref();
            spec.and_then(|s| s.cluster_ip.as_deref()) == Some(&text)
        })?;
        let spec = service.spec.as_ref()?;
        let mut ports = spec.ports.iter().flatten();
        let Some(port) = ports.find(|known| known.port == i32::from(port)) else {
            return Some(None);
        };
        let namespace = service.namespace().unwrap_or_default();
        let slices: Api<EndpointSlice> = Api::namespaced(client, &namespace);
        let selector = format!("kubernetes.io/service-name={}", service.name_any());
        let slices = slices
            .list(&ListParams::default().labels(&selector))
            .await
            .ok()?;
        // The API server writes the slice of its Service.
        let is_api_server = namespace == "default" && service.name_any() == API_SERVER;
        let is_trusted = |slice: &&EndpointSlice| !is_api_server || slice.name_any() == API_SERVER;
        let mut endpoints = Vec::new();
        for slice in slices.items.iter().filter(is_trusted) {
            let mut ports = slice.ports.iter().flatten();
            let wanted = port.name.as_deref().unwrap_or_default();
            let target = ports.find(|known| known.name.as_deref().unwrap_or_default() == wanted);
            let target = target.and_then(|known| u16::try_from(known.port?).ok());
            let Some(target) = target else { continue };
            for endpoint in slice.endpoints.iter().flatten() {
                let ready = endpoint.conditions.as_ref().and_then(|c| c.ready);
                let address = endpoint.addresses.first().and_then(|a| a.parse().ok());
                if let (Some(address), true) = (address, ready != Some(false)) {
                    endpoints.push(Endpoint {
                        address,
                        port: target,
                        is_api_server,
                    });
                }
            }
        }
        let unit = self.shared().context.entropy.unit();
        let index = (unit * endpoints.len() as f64) as usize;
        Some(endpoints.get(index).copied())
    }

    /// Whether a host name and a port, as a pod of the namespace of `client` names them, lead to `pod`.
    pub async fn is_address_of(
        &self,
        client: &ObjectKey,
        host: &str,
        port: u16,
        pod: &ObjectKey,
    ) -> bool {
        let addresses = match host.parse() {
            Ok(address) => vec![address],
            Err(_) => match host.split_once('.') {
                None => self.service_addresses(&client.namespace, host).await,
                Some(_) => self.resolve(pod, host).await,
            },
        };
        let own = self.shared().pods.get(pod).and_then(|pod| pod_ip(&pod));
        for address in addresses {
            let target = match self.service_endpoint(address, port).await {
                Some(endpoint) => endpoint.map(|endpoint| endpoint.address),
                None => Some(address),
            };
            if target.is_some() && target == own {
                return true;
            }
        }
        false
    }

    /// The address of a pod.
    pub fn address(&self, key: &ObjectKey) -> Option<IpAddr> {
        self.shared().pods.get(key).and_then(|pod| pod_ip(&pod))
    }

    /// The addresses of a host name in a pod.
    pub async fn resolve(&self, key: &ObjectKey, host: &str) -> Vec<IpAddr> {
        let host = host.trim_end_matches('.');
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return vec![address];
        }
        let Some(pod) = self.shared().pods.get(key) else {
            return Vec::new();
        };
        let own = pod.spec.as_ref().and_then(|s| s.hostname.clone());
        let own = own.unwrap_or_else(|| pod.name_any());
        if host == "localhost" || host == own {
            return match host {
                "localhost" => vec![Ipv4Addr::LOCALHOST.into()],
                _ => pod_ip(&pod).into_iter().collect(),
            };
        }
        let name = host.strip_suffix(CLUSTER_DOMAIN).unwrap_or(host);
        let name = name.strip_suffix(".svc").unwrap_or(name);
        let parts: Vec<&str> = name.split('.').collect();
        let namespace = key.namespace.as_str();
        match parts[..] {
            [service] => self.service_addresses(namespace, service).await,
            [first, second] => {
                let addresses = self.service_addresses(second, first).await;
                match addresses.is_empty() {
                    true => {
                        // `POD.SERVICE` in the own namespace.
                        self.pod_of_service(namespace, second, first)
                    }
                    false => addresses,
                }
            }
            [pod, service, namespace] => self.pod_of_service(namespace, service, pod),
            _ => Vec::new(),
        }
    }

    async fn service_addresses(&self, namespace: &str, name: &str) -> Vec<IpAddr> {
        let client = self.shared().context.client.clone();
        let api: Api<Service> = Api::namespaced(client.clone(), namespace);
        let Some(service) = api.get_opt(name).await.ok().flatten() else {
            return Vec::new();
        };
        let ip = service.spec.and_then(|s| s.cluster_ip);
        if let Some(address) = ip.as_deref().and_then(|ip| ip.parse().ok()) {
            return vec![address];
        }
        let slices: Api<EndpointSlice> = Api::namespaced(client, namespace);
        let selector = format!("kubernetes.io/service-name={name}");
        let slices = slices.list(&ListParams::default().labels(&selector)).await;
        let slices = slices.map(|list| list.items).unwrap_or_default();
        let endpoints = slices
            .iter()
            .flat_map(|slice| slice.endpoints.iter().flatten());
        let addresses = endpoints.flat_map(|endpoint| &endpoint.addresses);
        addresses
            .filter_map(|address| address.parse().ok())
            .collect()
    }

    /// A pod by its host name in the subdomain of a headless Service.
    fn pod_of_service(&self, namespace: &str, service: &str, hostname: &str) -> Vec<IpAddr> {
        let pods = self.shared().pods.list_namespace(namespace);
        let found = pods.iter().find(|pod: &&Arc<Pod>| {
            pod.spec.as_ref().is_some_and(|spec| {
                spec.subdomain.as_deref() == Some(service)
                    && spec.hostname.as_deref() == Some(hostname)
            })
        });
        found.and_then(|pod| pod_ip(pod)).into_iter().collect()
    }
}
