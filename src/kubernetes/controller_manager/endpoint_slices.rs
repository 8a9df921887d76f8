//! The EndpointSlice controller: EndpointSlices of Services with a selector, and their legacy
//! Endpoints.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Endpoints, ObjectReference, Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use kube::api::{DeleteParams, ObjectMeta, PostParams};

use crate::workload_controllers::SharedInformers;
use kueue_lab_controller_runtime::api_errors::{
    is_conflict, is_namespace_terminating, is_not_found,
};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_reference,
};
use kueue_lab_controller_utils::pods;

const WORKERS: usize = 5;
/// Batch period for changes of pods.
const ENDPOINT_UPDATES_BATCH_PERIOD: Duration = Duration::from_millis(500);
/// Maximum number of endpoints per slice.
const SLICE: usize = 100;
const SERVICE: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGER: &str = "endpointslice-controller.k8s.io";
const BY_SERVICE: &str = "service";

/// Starts the controller in the tasks of `context`.
pub(super) fn start(context: &Context, shared: &SharedInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let client = context.client.clone();
    let controller = Arc::new(EndpointSliceController {
        services: Informer::builder(Api::all(client.clone())).start(context),
        slices: Informer::builder(Api::all(client.clone()))
            .index(BY_SERVICE, service_of)
            .start(context),
        endpoints: Informer::builder(Api::all(client.clone())).start(context),
        pods: shared.pods.clone(),
        client,
    });
    let on_service = queue.clone();
    controller
        .services
        .add_event_handler(move |change| on_service.add(ObjectKey::of(change.object().as_ref())));
    let (on_pod, services) = (queue.clone(), controller.services.clone());
    controller.pods.add_event_handler(move |change| {
        for key in services_for_pod_change(&services, change) {
            on_pod.add_after(key, ENDPOINT_UPDATES_BATCH_PERIOD);
        }
    });
    let on_slice = queue.clone();
    controller.slices.add_event_handler(move |change| {
        if let (Change::Deleted(slice), Some(service)) =
            (change, change.object().labels().get(SERVICE))
        {
            let namespace = slice.namespace().unwrap_or_default();
            on_slice.add(ObjectKey::new(namespace, service.as_str()));
        }
    });
    let run = context.clone();
    context.tasks.spawn("endpoints", async move {
        controller.services.wait_for_cache_sync().await;
        controller.slices.wait_for_cache_sync().await;
        controller.endpoints.wait_for_cache_sync().await;
        controller.pods.wait_for_cache_sync().await;
        queue.run(&run, "endpoints", WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(&key).await }
        });
    });
}

/// Index of slices managed by this controller, by `namespace/service`.
fn service_of(slice: &EndpointSlice) -> Vec<String> {
    let labels = slice.labels();
    let ours = labels.get(MANAGED_BY).is_some_and(|m| m == MANAGER);
    let service = labels.get(SERVICE).filter(|_| ours);
    let key_of = |name: &String| format!("{}/{name}", slice.namespace().unwrap_or_default());
    service.map(key_of).into_iter().collect()
}

/// The Services whose endpoints a change of a pod affects.
fn services_for_pod_change(services: &Informer<Service>, change: &Change<Pod>) -> Vec<ObjectKey> {
    let (old, new) = match change {
        Change::Updated { old, new }
            if endpoint_relevant_fields(old) == endpoint_relevant_fields(new) =>
        {
            return Vec::new();
        }
        Change::Updated { old, new } => (Some(old), new),
        Change::Added(pod) | Change::Deleted(pod) => (None, pod),
    };
    let namespace = new.namespace().unwrap_or_default();
    let known = services.list_namespace(&namespace).into_iter();
    known
        .filter(|service| selects(service, new) || old.is_some_and(|old| selects(service, old)))
        .map(|service| ObjectKey::of(service.as_ref()))
        .collect()
}

/// The fields of a pod that its endpoint depends on.
fn endpoint_relevant_fields(pod: &Pod) -> impl PartialEq + '_ {
    let node = pod.spec.as_ref().and_then(|s| s.node_name.as_ref());
    let ready = (
        pods::is_ready(pod),
        pods::is_deleting(pod),
        pods::phase(pod),
    );
    (&pod.metadata.labels, address(pod), node, ready)
}

fn selects(service: &Service, pod: &Pod) -> bool {
    let selector = service.spec.as_ref().and_then(|s| s.selector.as_ref());
    selector.is_some_and(|wanted| {
        !wanted.is_empty()
            && wanted
                .iter()
                .all(|(key, value)| pod.labels().get(key) == Some(value))
    })
}

pub(super) fn address(pod: &Pod) -> Option<&str> {
    let ip = pod.status.as_ref().and_then(|s| s.pod_ip.as_deref());
    ip.filter(|ip| !ip.is_empty())
}

pub(super) struct EndpointSliceController {
    pub(super) client: kube::Client,
    services: Informer<Service>,
    slices: Informer<EndpointSlice>,
    pub(super) endpoints: Informer<Endpoints>,
    pods: Informer<Pod>,
}

impl EndpointSliceController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let service = self.services.get(key);
        let Some(service) = service.filter(|s| s.metadata.deletion_timestamp.is_none()) else {
            let gone = self.delete_endpoints(key).await;
            return gone.map(|()| ReconcileResult::Done);
        };
        let selector = service.spec.as_ref().and_then(|s| s.selector.as_ref());
        if selector.is_none_or(BTreeMap::is_empty) {
            // The user manages the endpoints of Services without a selector.
            return Ok(ReconcileResult::Done);
        }
        let pods = self.pods.list_namespace(&key.namespace).into_iter();
        let endpoint_pods: Vec<Arc<Pod>> = pods
            .filter(|pod| {
                selects(&service, pod) && address(pod).is_some() && !pods::is_terminal(pod)
            })
            .collect();
        let written = match self
            .sync_endpoint_slices(key, &service, &endpoint_pods)
            .await
        {
            Ok(()) => self.sync_endpoints(key, &service, &endpoint_pods).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => Ok(ReconcileResult::Done),
            Err(error) if is_not_found(&error) || is_namespace_terminating(&error) => {
                Ok(ReconcileResult::Done)
            }
            Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
            Err(error) => Err(error),
        }
    }

    async fn sync_endpoint_slices(
        &self,
        key: &ObjectKey,
        service: &Service,
        endpoint_pods: &[Arc<Pod>],
    ) -> Result<(), kube::Error> {
        let wanted = desired_slices(service, endpoint_pods);
        let mut known = self.slices.by_index(BY_SERVICE, &key.to_string());
        known.retain(|slice| slice.metadata.deletion_timestamp.is_none());
        let api: Api<EndpointSlice> = Api::namespaced(self.client.clone(), &key.namespace);
        let mut known = known.into_iter();
        for wanted in wanted {
            let written = match known.next() {
                Some(present) => {
                    let next = EndpointSlice {
                        metadata: present.metadata.clone(),
                        ..wanted
                    };
                    let mut known = present.as_ref().clone();
                    known.endpoints.get_or_insert_default();
                    if next == known {
                        continue;
                    }
                    api.replace(&present.name_any(), &PostParams::default(), &next)
                        .await?
                }
                None => api.create(&PostParams::default(), &wanted).await?,
            };
            self.slices.observe_write(Arc::new(written));
        }
        for surplus in known {
            match api
                .delete(&surplus.name_any(), &DeleteParams::default())
                .await
            {
                Err(error) if !is_not_found(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The slices of a Service: at least one, even without endpoints.
fn desired_slices(service: &Service, endpoint_pods: &[Arc<Pod>]) -> Vec<EndpointSlice> {
    let name = service.name_any();
    let headless = service.spec.as_ref().and_then(|s| s.cluster_ip.as_deref()) == Some("None");
    let mut labels = service.labels().clone();
    labels.insert(SERVICE.to_string(), name.clone());
    labels.insert(MANAGED_BY.to_string(), MANAGER.to_string());
    if headless {
        labels.insert("service.kubernetes.io/headless".to_string(), String::new());
    }
    let slice = |pods: &[Arc<Pod>]| EndpointSlice {
        metadata: ObjectMeta {
            generate_name: Some(format!("{name}-")),
            namespace: service.namespace(),
            labels: Some(labels.clone()),
            owner_references: Some(vec![controller_reference(service)]),
            ..ObjectMeta::default()
        },
        address_type: "IPv4".to_string(),
        endpoints: Some(pods.iter().map(|pod| endpoint(service, pod)).collect()),
        ports: pods.first().map(|pod| ports(service, pod)),
    };
    if endpoint_pods.is_empty() {
        return vec![slice(&[])];
    }
    // Pods that resolve a named port differently need another slice.
    let mut by_ports: BTreeMap<Vec<i32>, Vec<Arc<Pod>>> = BTreeMap::new();
    for pod in endpoint_pods {
        let numbers = ports(service, pod)
            .iter()
            .map(|p| p.port.unwrap_or(0))
            .collect();
        by_ports.entry(numbers).or_default().push(pod.clone());
    }
    by_ports
        .values()
        .flat_map(|pods| pods.chunks(SLICE))
        .map(slice)
        .collect()
}

fn endpoint(service: &Service, pod: &Pod) -> Endpoint {
    let spec = service.spec.as_ref();
    let serving = pods::is_ready(pod);
    let terminating = pods::is_deleting(pod);
    let always = spec.and_then(|s| s.publish_not_ready_addresses) == Some(true);
    let pod_spec = pod.spec.as_ref();
    let in_domain = pod_spec.and_then(|s| s.subdomain.as_ref()) == Some(&service.name_any());
    Endpoint {
        addresses: address(pod).map(str::to_string).into_iter().collect(),
        conditions: Some(EndpointConditions {
            ready: Some(always || serving && !terminating),
            serving: Some(always || serving),
            terminating: Some(terminating),
        }),
        hostname: pod_spec
            .and_then(|s| s.hostname.clone())
            .filter(|_| in_domain),
        node_name: pod_spec.and_then(|s| s.node_name.clone()),
        target_ref: Some(target(pod)),
        ..Endpoint::default()
    }
}

pub(super) fn target(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".to_string()),
        namespace: pod.namespace(),
        name: Some(pod.name_any()),
        uid: pod.uid(),
        ..ObjectReference::default()
    }
}

pub(super) fn ports(service: &Service, pod: &Pod) -> Vec<EndpointPort> {
    let ports = service.spec.iter().flat_map(|s| s.ports.iter().flatten());
    ports
        .filter_map(|port| {
            Some(EndpointPort {
                name: Some(port.name.clone().unwrap_or_default()),
                port: Some(find_port(port, pod)?),
                protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_string())),
                app_protocol: port.app_protocol.clone(),
            })
        })
        .collect()
}

/// The port number in a pod for a port of the Service.
fn find_port(port: &ServicePort, pod: &Pod) -> Option<i32> {
    match &port.target_port {
        None => Some(port.port),
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(name)) => {
            let containers = pod.spec.iter().flat_map(|s| &s.containers);
            let mut ports = containers.flat_map(|c| c.ports.iter().flatten());
            let found = ports.find(|p| p.name.as_ref() == Some(name));
            found.map(|p| p.container_port)
        }
    }
}
