//! The APIService of explanations, with the Service that leads to the leader.
//!
//! A process outside the cluster is reached by a Service of type `ExternalName`, from which the API server takes the
//! host, as it takes it from the URL of a webhook. A leader inside the cluster is the only endpoint of a Service without
//! selector: the engines of the other replicas do not decide.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Client;
use serde_json::{Value, json};

use super::{InstallError, WebhookRoute, cluster_roles, dynamic_objects};
use kueue_lab_api::explanation::{GROUP, VERSION};
use kueue_lab_clock::Clock;
use kueue_lab_json::ValueExt;

/// The name of the Service and of its EndpointSlice.
pub const EXPLANATION_SERVICE: &str = "kueue-lab-explanation-server";
/// The port of a Service with endpoints.
const SERVICE_PORT: u16 = 443;
/// The name of that port.
const PORT_NAME: &str = "https";
/// Attempts to see the APIService available.
const MAX_ATTEMPTS: u32 = 120;
/// The interval between two of them.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The server of explanations, as the API server reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplanationEndpoint {
    /// The route from the API server.
    pub route: WebhookRoute,
    /// The listen address of the server.
    pub address: SocketAddr,
    /// The address of the pod of this process, if the route is a Service.
    pub pod: Option<IpAddr>,
    /// The certificate authority (PEM), for `caBundle`.
    pub authority: String,
}

/// What the Service leads to.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// A host outside the cluster, by name or address.
    ExternalName(String),
    /// An endpoint of the Service.
    Endpoint(SocketAddr),
}

impl ExplanationEndpoint {
    fn target(&self) -> Option<Target> {
        let Some(host) = self.route.host() else {
            let pod = self.pod?;
            return Some(Target::Endpoint(SocketAddr::new(pod, self.address.port())));
        };
        Some(match host.parse() {
            // Not the name of a host.
            Ok(IpAddr::V6(address)) => {
                Target::Endpoint(SocketAddr::new(address.into(), self.address.port()))
            }
            _ => Target::ExternalName(host),
        })
    }
}

/// The DNS name that the certificate of the server must have.
pub(super) fn server_name(namespace: &str) -> String {
    format!("{EXPLANATION_SERVICE}.{namespace}.svc")
}

/// Registers the API, and waits until the API server reaches it. Unregisters it if it does not: an APIService that is
/// not available keeps namespaces from being deleted.
pub(super) async fn install(
    client: &Client,
    clock: &Clock,
    namespace: &str,
    endpoint: &ExplanationEndpoint,
) -> Result<(), InstallError> {
    let Some(target) = endpoint.target() else {
        return Err(InstallError::ExplanationsUnreachable {
            reason: "the address of this pod is not known".to_owned(),
        });
    };
    let role = cluster_roles::explanation_viewer();
    dynamic_objects::apply(
        client,
        &dynamic_objects::api_resource::<ClusterRole>(),
        None,
        role,
    )
    .await?;
    let kind = dynamic_objects::api_resource::<Service>();
    dynamic_objects::apply(client, &kind, Some(namespace), service(namespace, &target)).await?;
    if let Target::Endpoint(address) = target {
        let kind = dynamic_objects::api_resource::<EndpointSlice>();
        let slice = endpoint_slice(namespace, address);
        dynamic_objects::apply(client, &kind, Some(namespace), slice).await?;
    }
    let kind = dynamic_objects::api_resource::<APIService>();
    let object = api_service(namespace, &target, endpoint);
    dynamic_objects::apply(client, &kind, None, object).await?;
    let reached = wait_until_available(client, clock).await;
    if reached.is_err() {
        remove(client, namespace).await?;
    }
    reached
}

/// Unregisters the API. True if it was registered.
pub(super) async fn remove(client: &Client, namespace: &str) -> Result<bool, InstallError> {
    let kind = dynamic_objects::api_resource::<APIService>();
    let registered = dynamic_objects::delete(client, &kind, None, &api_service_name()).await?;
    for kind in [
        dynamic_objects::api_resource::<EndpointSlice>(),
        dynamic_objects::api_resource::<Service>(),
    ] {
        dynamic_objects::delete(client, &kind, Some(namespace), EXPLANATION_SERVICE).await?;
    }
    Ok(registered)
}

async fn wait_until_available(client: &Client, clock: &Clock) -> Result<(), InstallError> {
    let kind = dynamic_objects::api_resource::<APIService>();
    let mut reason = "its API server does not call it".to_owned();
    for _ in 0..MAX_ATTEMPTS {
        let object = dynamic_objects::get(client, &kind, None, &api_service_name()).await?;
        let object = object.map(|object| object.data).unwrap_or_default();
        if object.is_condition_true("Available") {
            return Ok(());
        }
        if let Some(condition) = object.condition("Available") {
            condition.text("/message").clone_into(&mut reason);
        }
        clock.sleep(POLL_INTERVAL).await;
    }
    Err(InstallError::ExplanationsUnreachable { reason })
}

fn api_service_name() -> String {
    format!("{VERSION}.{GROUP}")
}

fn service(namespace: &str, target: &Target) -> Value {
    let spec = match target {
        Target::ExternalName(host) => json!({"type": "ExternalName", "externalName": host}),
        Target::Endpoint(address) => json!({
            "type": "ClusterIP",
            "ports": [{"name": PORT_NAME, "port": SERVICE_PORT, "targetPort": address.port()}],
        }),
    };
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": EXPLANATION_SERVICE, "namespace": namespace},
        "spec": spec,
    })
}

fn endpoint_slice(namespace: &str, address: SocketAddr) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": EXPLANATION_SERVICE, "namespace": namespace,
            "labels": {
                "kubernetes.io/service-name": EXPLANATION_SERVICE,
                "endpointslice.kubernetes.io/managed-by": "kueue-lab.dev",
            },
        },
        "addressType": if address.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{"addresses": [address.ip()], "conditions": {"ready": true}}],
        "ports": [{"name": PORT_NAME, "protocol": "TCP", "port": address.port()}],
    })
}

fn api_service(namespace: &str, target: &Target, endpoint: &ExplanationEndpoint) -> Value {
    let port = match target {
        Target::ExternalName(_) => endpoint.address.port(),
        Target::Endpoint(_) => SERVICE_PORT,
    };
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": api_service_name()},
        "spec": {
            "group": GROUP, "version": VERSION,
            "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"namespace": namespace, "name": EXPLANATION_SERVICE, "port": port},
            "caBundle": STANDARD.encode(&endpoint.authority),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(route: WebhookRoute) -> ExplanationEndpoint {
        ExplanationEndpoint {
            route,
            address: "0.0.0.0:9444".parse().unwrap(),
            pod: Some("10.1.2.3".parse().unwrap()),
            authority: "PEM".into(),
        }
    }

    #[test]
    fn the_service_leads_to_a_host_or_to_the_pod_of_the_leader() {
        let outside = endpoint(WebhookRoute::K3d);
        let target = outside.target().unwrap();
        assert_eq!(
            service("ns", &target)["spec"],
            json!({"type": "ExternalName", "externalName": "host.k3d.internal"})
        );
        let port = &api_service("ns", &target, &outside)["spec"]["service"]["port"];
        assert_eq!(port, 9444);

        let inside = endpoint(WebhookRoute::Service {
            namespace: "ns".into(),
            name: "webhooks".into(),
            port: 443,
        });
        let target = inside.target().unwrap();
        let slice = endpoint_slice("ns", "10.1.2.3:9444".parse().unwrap());
        assert_eq!(target, Target::Endpoint("10.1.2.3:9444".parse().unwrap()));
        assert_eq!(slice["endpoints"][0]["addresses"], json!(["10.1.2.3"]));
        assert_eq!(
            slice["ports"][0]["name"],
            service("ns", &target)["spec"]["ports"][0]["name"]
        );
        let port = &api_service("ns", &target, &inside)["spec"]["service"]["port"];
        assert_eq!(port, 443);

        let v6 = endpoint(WebhookRoute::Host("fd00::1".into()));
        assert_eq!(
            v6.target(),
            Some(Target::Endpoint("[fd00::1]:9444".parse().unwrap()))
        );
        let unknown = ExplanationEndpoint {
            pod: None,
            ..inside
        };
        assert_eq!(unknown.target(), None);
    }
}
