//! An APIService whose group version another process serves.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::openapi::ExtensionOpenApi;
use crate::service_client::client_manager::{ClientIdentity, ServerAddress};
use crate::service_client::service_resolver::{ServiceEndpoint, ServiceReference};
use kueue_lab_json::ValueExt;

/// An APIService with a Service.
#[derive(Debug)]
pub(crate) struct RemoteApiService {
    /// The name of the APIService.
    pub(crate) name: String,
    /// The API group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The Service.
    pub(crate) service: ServiceReference,
    /// `spec.groupPriorityMinimum`.
    pub(crate) group_priority: i64,
    /// `spec.versionPriority`.
    pub(crate) version_priority: i64,
    /// Woken when the Service or its endpoints change.
    pub(crate) changed: Notify,
    ca_bundle: String,
    insecure_skip_tls_verify: bool,
    checked: Mutex<CheckResults>,
}

/// The discovery of a server in the group version.
#[derive(Clone, Debug, Default)]
pub(crate) struct DiscoveredResources {
    /// The resources in aggregated discovery.
    pub(crate) resources: Value,
    /// The URL of its OpenAPI v3 document, relative to the server.
    pub(crate) openapi_url: Option<String>,
    /// Its OpenAPI v2 document.
    pub(crate) openapi_v2: Option<Arc<ExtensionOpenApi>>,
}

/// The results of the availability checks.
#[derive(Debug, Default)]
struct CheckResults {
    available: bool,
    /// The result of the last check that succeeded.
    discovered: DiscoveredResources,
}

impl RemoteApiService {
    /// The extension API server of an APIService; `None` for a local one.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let spec = object.at("/spec");
        let service = spec.has("/service").then(|| spec.at("/service"))?;
        Some(Self {
            name: object.name().to_owned(),
            group: spec.text("/group").to_owned(),
            version: spec.text("/version").to_owned(),
            service: ServiceReference::of(service),
            group_priority: spec.int("/groupPriorityMinimum"),
            version_priority: spec.int("/versionPriority"),
            changed: Notify::new(),
            ca_bundle: spec.text("/caBundle").to_owned(),
            insecure_skip_tls_verify: spec.flag("/insecureSkipTLSVerify"),
            checked: Mutex::default(),
        })
    }

    /// Whether `other` reaches the same server in the same way.
    pub(crate) fn is_same_target(&self, other: &Self) -> bool {
        self.service == other.service
            && self.ca_bundle == other.ca_bundle
            && self.insecure_skip_tls_verify == other.insecure_skip_tls_verify
            && self.group_priority == other.group_priority
            && self.version_priority == other.version_priority
    }

    /// The server at an endpoint of the Service.
    pub(crate) fn server(
        &self,
        endpoint: &ServiceEndpoint,
        identity: &Arc<ClientIdentity>,
    ) -> ServerAddress {
        ServerAddress {
            base: format!("https://{}", endpoint.address),
            server_name: Some(self.service.server_name()),
            ca_bundle: self.ca_bundle.clone(),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            identity: Some(identity.clone()),
        }
    }

    /// `GROUP/VERSION`.
    pub(crate) fn group_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// Whether the last check succeeded.
    pub(crate) fn is_available(&self) -> bool {
        self.checked.lock().available
    }

    /// The version in aggregated discovery: stale unless the last check succeeded.
    pub(crate) fn discovery(&self) -> Value {
        let checked = self.checked.lock();
        let mut version = json!({
            "version": self.version,
            "freshness": if checked.available { "Current" } else { "Stale" },
        });
        if checked.discovered.resources.is_array() {
            version["resources"] = checked.discovered.resources.clone();
        }
        version
    }

    /// The URL of the OpenAPI v3 document, relative to the server.
    pub(crate) fn openapi_url(&self) -> Option<String> {
        self.checked.lock().discovered.openapi_url.clone()
    }

    /// The OpenAPI v2 document.
    pub(crate) fn openapi_v2(&self) -> Option<Arc<ExtensionOpenApi>> {
        self.checked.lock().discovered.openapi_v2.clone()
    }

    /// Sets the result of a check; `None` if it failed.
    pub(crate) fn set_discovered(&self, discovered: Option<DiscoveredResources>) {
        let mut checked = self.checked.lock();
        checked.available = discovered.is_some();
        if let Some(discovered) = discovered {
            checked.discovered = discovered;
        }
    }
}
