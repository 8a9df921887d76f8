//! The Available condition of APIServices with a Service, as kube-aggregator's
//! `remote_available_controller.go`.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use http::{Method, Uri};
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};

use super::super::stored_update::update_stored;
use super::proxy::{ProxiedRequest, server_address};
use crate::aggregator::{DiscoveredResources, RemoteApiService, version_discovery};
use crate::auth::user::{SYSTEM_MASTERS, User};
use crate::openapi::ExtensionOpenApi;
use crate::registry::ServedResource;
use crate::registry::object_reader::ObjectReader;
use crate::server_state::ServerState;
use crate::service_client::client_manager::ServerAddress;
use crate::service_client::service_resolver::endpoint_slices;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_json::ValueExt;

const GROUP: &str = "apiregistration.k8s.io";
const PLURAL: &str = "apiservices";

/// The interval of the checks of a server that is available.
const RESYNC_INTERVAL: Duration = Duration::from_secs(30);
/// The first interval of the checks of one that is not; it doubles up to [`RESYNC_INTERVAL`].
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The timeout of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of a discovery document.
const DISCOVERY_LIMIT: usize = 4 << 20;

/// An Available condition that is not true.
struct Unavailable {
    reason: &'static str,
    message: String,
}

/// Updates the proxy of an APIService that was written or deleted.
pub(in crate::endpoints) fn sync_api_service(
    core: &Arc<ServerState>,
    served: &ServedResource,
    name: &str,
) {
    if !is_api_service(served) {
        return;
    }
    let object = core.objects().get(GROUP, PLURAL, "", name);
    let in_process = |service: &RemoteApiService| {
        let table = core.registry.table();
        let group = table.group(&service.group);
        let version = group.and_then(|g| g.version(&service.version));
        version.is_some_and(|v| v.resources.iter().any(|r| r.aggregated.is_some()))
    };
    let service = object.as_deref().and_then(RemoteApiService::of);
    let service = service.filter(|service| !in_process(service));
    if let Some(service) = core.remote_api_services.set(name, service) {
        tokio::spawn(check_periodically(Arc::downgrade(core), service));
    } else if let Some(object) = object.filter(|o| !o.has("/spec/service")) {
        set_local_condition(core, &object);
    }
}

/// Updates the proxies of all APIServices, if that is the resource.
pub(in crate::endpoints) fn sync_api_services(core: &Arc<ServerState>, served: &ServedResource) {
    let Some(storage) = served.storage.as_ref().filter(|_| is_api_service(served)) else {
        return;
    };
    let proxied = core.remote_api_services.all();
    let proxied = proxied.iter().map(|s| format!("{}.{}", s.version, s.group));
    let mut names: BTreeSet<String> = proxied.collect();
    let stored = core.store.snapshot(storage);
    names.extend(stored.scan("", None).map(|o| o.key().to_owned()));
    for name in names {
        sync_api_service(core, served, &name);
    }
}

fn is_api_service(served: &ServedResource) -> bool {
    &*served.kind.plural == PLURAL && &*served.kind.group == GROUP
}

/// Checks the APIServices of a Service again after a write to it or to its endpoints.
pub(in crate::endpoints) fn check_services(core: &ServerState, served: &ServedResource) {
    let related = matches!(
        (&*served.kind.group, &*served.kind.plural),
        ("", "services" | "endpoints") | ("discovery.k8s.io", "endpointslices")
    );
    if related {
        let services = core.remote_api_services.all();
        services.iter().for_each(|s| s.changed.notify_one());
    }
}

/// A local APIService is always available.
fn set_local_condition(core: &ServerState, object: &Value) {
    if object.list("/status/conditions").is_empty() {
        let condition = condition("True", "Local", "Local APIServices are always available");
        update_status(core, object.name(), &condition);
    }
}

/// Checks a server until its APIService is deleted or replaced.
async fn check_periodically(core: Weak<ServerState>, service: Arc<RemoteApiService>) {
    let mut retry = RETRY_INTERVAL;
    loop {
        let delay = {
            let Some(core) = core.upgrade() else { return };
            if !core.remote_api_services.contains(&service) {
                return;
            }
            match check(&core, &service).await {
                Ok(()) => {
                    retry = RETRY_INTERVAL;
                    RESYNC_INTERVAL
                }
                Err(()) => {
                    retry = (retry * 2).min(RESYNC_INTERVAL);
                    retry
                }
            }
        };
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = service.changed.notified() => {}
        }
    }
}

/// Checks a server once and sets the condition.
async fn check(core: &ServerState, service: &RemoteApiService) -> Result<(), ()> {
    let checked = match check_endpoints(core, service) {
        Ok(()) => discover(core, service)
            .await
            .map_err(|message| Unavailable {
                reason: "FailedDiscoveryCheck",
                message,
            }),
        Err(unavailable) => Err(unavailable),
    };
    let (discovered, condition) = match checked {
        Ok(discovered) => (
            Some(discovered),
            condition("True", "Passed", "all checks passed"),
        ),
        Err(Unavailable { reason, message }) => (None, condition("False", reason, &message)),
    };
    let outcome = discovered.as_ref().map(|_| ()).ok_or(());
    service.set_discovered(discovered);
    update_status(core, &service.name, &condition);
    outcome
}

/// Whether the Service has endpoints for the port.
fn check_endpoints(core: &ServerState, service: &RemoteApiService) -> Result<(), Unavailable> {
    let objects = core.objects();
    let target = &service.service;
    let (namespace, name) = (&target.namespace, &target.name);
    let unavailable = |reason, message| Err(Unavailable { reason, message });
    let Some(object) = objects.get("", "services", namespace, name) else {
        let message = format!("service/{name} in {namespace:?} is not present");
        return unavailable("ServiceNotFound", message);
    };
    if !matches!(object.text("/spec/type"), "" | "ClusterIP") {
        return Ok(());
    }
    let mut ports = object.list("/spec/ports").iter();
    let Some(port) = ports.find(|port| port.int("/port") == target.port) else {
        let number = target.port;
        let message = format!("service/{name} in {namespace:?} is not listening on port {number}");
        return unavailable("ServicePortError", message);
    };
    let port = port.text("/name");
    let slices = endpoint_slices(&objects, namespace, name);
    if slices.is_empty() && objects.get("", "endpoints", namespace, name).is_none() {
        let message = format!("cannot find endpointslices for service/{name} in {namespace:?}");
        return unavailable("EndpointsNotFound", message);
    }
    if target.resolve(&objects).is_err() {
        let message = format!(
            "endpointslices for service/{name} in {namespace:?} have no addresses with port name {port:?}"
        );
        return unavailable("MissingEndpoints", message);
    }
    Ok(())
}

/// The resources of a server in the group version, and its OpenAPI document.
async fn discover(
    core: &ServerState,
    service: &RemoteApiService,
) -> Result<DiscoveredResources, String> {
    let server = server_address(core, service).map_err(|error| error.to_string())?;
    let path = format!("apis/{}", service.group_version());
    // A server whose discovery has another format is available, without resources.
    let list = get_json(core, &server, &format!("/{path}")).await?;
    // OpenAPI is optional.
    let index = get_json(core, &server, "/openapi/v3").await;
    let document = index.unwrap_or_default();
    let document = &document["paths"][path.as_str()]["serverRelativeURL"];
    let version_two = get_json(core, &server, "/openapi/v2").await;
    let version_two = version_two.unwrap_or_default();
    let openapi_v2 = ExtensionOpenApi::of(&version_two, &service.group_version());
    Ok(DiscoveredResources {
        resources: version_discovery(&list),
        openapi_v2: openapi_v2.map(Arc::new),
        openapi_url: document.as_str().map(str::to_owned),
    })
}

/// The JSON at a path of a server; null if it is none.
///
/// # Errors
/// The server does not respond in time, or with an error.
async fn get_json(core: &ServerState, server: &ServerAddress, path: &str) -> Result<Value, String> {
    let url = format!("{}{path}", server.base);
    let missing = |reason: String| format!("failing or missing response from {url}: {reason}");
    let uri: Uri = path.parse().map_err(|e| missing(format!("{e}")))?;
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let user = User {
        name: "system:kube-aggregator".into(),
        groups: vec![SYSTEM_MASTERS.into()],
        ..User::default()
    };
    let request = ProxiedRequest {
        method: &Method::GET,
        uri: &uri,
        headers: &headers,
        body: Bytes::new(),
        user: &user,
    };
    let request = request.into_client_request();
    let request = request.map_err(|e| missing(e.to_string()))?;
    let call = async {
        let response = core.webhook_clients.send(server, request).await;
        let response = response.map_err(|reason| missing(format!("Get {url:?}: {reason}")))?;
        let status = response.status();
        if !(200..300).contains(&status.as_u16()) {
            let status = status.as_u16();
            return Err(missing(format!("bad status from {url}: {status}")));
        }
        let body = Limited::new(response.into_body(), DISCOVERY_LIMIT).collect();
        let body = body.await.map_err(|e| missing(e.to_string()))?.to_bytes();
        Ok(serde_json::from_slice(&body).unwrap_or_default())
    };
    let response = tokio::time::timeout(CHECK_TIMEOUT, call).await;
    response.unwrap_or_else(|_| Err(format!("timed out waiting for {url}")))
}

fn condition(status: &str, reason: &str, message: &str) -> Value {
    json!({"type": "Available", "status": status, "reason": reason, "message": message})
}

/// Sets the condition of an APIService, unless it is there already.
fn update_status(core: &ServerState, name: &str, condition: &Value) {
    update_stored(core, (GROUP, "v1", PLURAL), name, |old| {
        let conditions = old.list("/status/conditions");
        let before = old.condition(condition.text("/type"));
        let mut condition = condition.clone();
        let same_status = before.filter(|c| c["status"] == condition["status"]);
        condition["lastTransitionTime"] = match same_status {
            Some(before) => before["lastTransitionTime"].clone(),
            None => object_meta::metav1_time(core.clock.now()),
        };
        if before == Some(&condition) {
            return None;
        }
        let mut new = old.clone();
        let others = conditions.iter().filter(|c| c["type"] != "Available");
        let conditions: Vec<Value> = others.cloned().chain([condition]).collect();
        new["status"]["conditions"] = conditions.into();
        Some(new)
    });
}
