//! Keeps the Service `kubernetes`, its Endpoints and its EndpointSlice,
//! `pkg/controlplane/controller/kubernetesservice` and `pkg/controlplane/reconcilers`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bootstrap_object::{BootstrapObject, create_object};
use super::system_objects::kubernetes_service;
use crate::server_state::ServerState;
use crate::storage::PendingObject;
use crate::storage::key::storage_key;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
/// The time between two reconciliations, upstream's `EndpointInterval`.
const INTERVAL: Duration = Duration::from_secs(10);

const SERVICES: (&str, &str, &str) = ("", "v1", "services");
const ENDPOINTS: (&str, &str, &str) = ("", "v1", "endpoints");
const ENDPOINT_SLICES: (&str, &str, &str) = ("discovery.k8s.io", "v1", "endpointslices");

/// The endpoint of the server, for as long as it listens.
pub(crate) struct KubernetesServiceController {
    core: Arc<ServerState>,
    address: SocketAddr,
}

impl KubernetesServiceController {
    /// The controller of a server that listens at an address.
    pub(crate) fn new(core: Arc<ServerState>, listening: SocketAddr) -> Self {
        let ip = match listening.ip() {
            ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            ip => ip,
        };
        Self {
            core,
            address: SocketAddr::new(ip, listening.port()),
        }
    }

    /// Reconciles until the server stops, then removes the endpoint.
    pub(crate) async fn run(self, stop: CancellationToken) {
        loop {
            self.reconcile(true);
            tokio::select! {
                () = self.core.clock.sleep(INTERVAL) => {}
                () = stop.cancelled() => break,
            }
        }
        self.reconcile(false);
    }

    /// Writes the objects that are missing or changed.
    pub(crate) fn reconcile(&self, is_serving: bool) {
        let port = self.address.port();
        kubernetes_service().for_each(|service| create_object(&self.core, service));
        self.ensure(SERVICES, |service| {
            service["spec"]["ports"][0]["targetPort"] = port.into();
        });
        let ports = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
        let ip = self.address.ip().to_string();
        let (subsets, endpoints) = match is_serving {
            true => (
                json!([{"addresses": [{"ip": ip}], "ports": ports}]),
                json!([{"addresses": [ip], "conditions": {"ready": true}}]),
            ),
            false => (Value::Null, json!([])),
        };
        let skip_mirror = "endpointslice.kubernetes.io/skip-mirror";
        self.create(ENDPOINTS, "Endpoints", (skip_mirror, "true"), json!({}));
        self.ensure(ENDPOINTS, |object| {
            object["metadata"]["labels"][skip_mirror] = "true".into();
            match &subsets {
                Value::Null => {
                    object
                        .as_object_mut()
                        .map(|fields| fields.remove("subsets"));
                }
                subsets => object["subsets"] = subsets.clone(),
            }
        });
        let address_type = match self.address.ip() {
            IpAddr::V4(_) => "IPv4",
            IpAddr::V6(_) => "IPv6",
        };
        let of_service = "kubernetes.io/service-name";
        let fields = json!({"addressType": address_type, "endpoints": [], "ports": ports});
        self.create(ENDPOINT_SLICES, "EndpointSlice", (of_service, NAME), fields);
        self.ensure(ENDPOINT_SLICES, |slice| {
            slice["metadata"]["labels"][of_service] = NAME.into();
            slice["addressType"] = address_type.into();
            slice["endpoints"].clone_from(&endpoints);
            slice["ports"].clone_from(&ports);
        });
    }

    fn create(
        &self,
        resource: (&'static str, &'static str, &'static str),
        kind: &str,
        label: (&str, &str),
        fields: Value,
    ) {
        let mut object = BootstrapObject::new(resource, kind, NAME, &[label], fields);
        object.object["metadata"]["namespace"] = NAMESPACE.into();
        create_object(&self.core, object);
    }

    /// Replaces an object by its desired state.
    fn ensure(&self, resource: (&str, &str, &str), desired: impl Fn(&mut Value)) {
        let (group, version, plural) = resource;
        let served = self.core.registry.find(group, version, plural);
        let Some(storage) = served.as_ref().and_then(|served| served.storage.as_ref()) else {
            return;
        };
        let Some(present) = storage.get(&storage_key(NAMESPACE, NAME)) else {
            return;
        };
        let before = present.value();
        let mut object = (*before).clone();
        desired(&mut object);
        if object == *before {
            return;
        }
        if let Some(generation) = before["metadata"]["generation"].as_i64() {
            object["metadata"]["generation"] = (generation + 1).into();
        }
        if let Ok(pending) = PendingObject::new(object) {
            // The next reconciliation follows a concurrent write.
            let store = &self.core.store;
            let _ = store.replace(storage, present.key(), present.revision(), pending);
        }
    }
}
