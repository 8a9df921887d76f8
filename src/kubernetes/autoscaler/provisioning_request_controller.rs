//! The ProvisioningRequest controller: reconciles the requests of the known classes, one at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, PodTemplate};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::conditions::{ConditionUpdate, RequestState};
use super::scale_down::ScaleDown;
use super::{capacity, conditions};
use kueue_lab_api::provisioning_request::{
    BEST_EFFORT_ATOMIC_SCALE_UP, CHECK_CAPACITY, ProvisioningRequest,
};
use kueue_lab_component_helpers::conditions::set_condition;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};
use kueue_lab_nodes::{VirtualNodeController, is_managed};

/// GKE's provisioning class that queues requests until capacity is available.
pub(crate) const QUEUED_PROVISIONING: &str = "queued-provisioning.gke.io";
/// One worker, so that no two requests count on the same capacity.
const WORKERS: usize = 1;

/// A running autoscaler. Clones share it.
#[derive(Clone)]
pub struct Autoscaler {
    worker: Arc<ProvisioningRequestController>,
    queue: WorkQueue<ObjectKey>,
}

impl Autoscaler {
    /// Pauses reconciliation, or resumes it and requeues all requests.
    pub fn set_paused(&self, paused: bool) {
        if self.worker.paused.swap(paused, Ordering::SeqCst) && !paused {
            for request in self.worker.requests.list() {
                self.queue.add(ObjectKey::of(&*request));
            }
        }
    }
}

struct ProvisioningRequestController {
    context: Context,
    /// Whether reconciliation is paused.
    paused: AtomicBool,
    requests: Informer<ProvisioningRequest>,
    pods: Informer<Pod>,
    nodes: Informer<Node>,
    virtual_nodes: Option<VirtualNodeController>,
    /// Whether requests without capacity stay open while there are no pools.
    imported_nodes: bool,
}

/// Starts the autoscaler; without `virtual_nodes` it never scales up. With `imported_nodes` requests without
/// capacity stay open while there are no pools: the node groups of the cluster are not known.
pub fn start(
    context: &Context,
    pods: &Informer<Pod>,
    nodes: &Informer<Node>,
    virtual_nodes: Option<VirtualNodeController>,
    imported_nodes: bool,
) -> Autoscaler {
    let requests: Informer<ProvisioningRequest> =
        Informer::builder(Api::all(context.client.clone())).start(context);
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let wake = queue.clone();
    requests.add_event_handler(move |change| {
        if !matches!(change, Change::Deleted(_)) {
            wake.add(ObjectKey::of(&**change.object()));
        }
    });
    // A request may wait for a node that became ready.
    let (ready, waiting) = (queue.clone(), requests.clone());
    nodes.add_event_handler(move |change| {
        if !matches!(change, Change::Deleted(_)) && is_managed(change.object()) {
            let waiting = waiting.list();
            let waiting = waiting.iter().filter(|r| conditions::is_waiting(r));
            waiting.for_each(|request| ready.add(ObjectKey::of(request.as_ref())));
        }
    });
    if let Some(virtual_nodes) = virtual_nodes.clone() {
        let scale_down = ScaleDown {
            context: context.clone(),
            requests: requests.clone(),
            pods: pods.clone(),
            virtual_nodes,
        };
        context.tasks.spawn("scale-down", scale_down.run());
    }
    let worker = Arc::new(ProvisioningRequestController {
        context: context.clone(),
        paused: AtomicBool::new(false),
        requests,
        pods: pods.clone(),
        nodes: nodes.clone(),
        virtual_nodes,
        imported_nodes,
    });
    let shared = worker.clone();
    queue.run(context, "autoscaler", WORKERS, move |key| {
        let worker = shared.clone();
        async move { worker.reconcile(key).await }
    });
    Autoscaler { worker, queue }
}

impl ProvisioningRequestController {
    async fn reconcile(&self, key: ObjectKey) -> kube::Result<ReconcileResult> {
        let Some(request) = self.requests.get(&key) else {
            return Ok(ReconcileResult::Done);
        };
        if self.paused.load(Ordering::SeqCst) {
            return Ok(ReconcileResult::Done);
        }
        let class = request.spec.provisioning_class_name.as_str();
        let known = [
            CHECK_CAPACITY,
            BEST_EFFORT_ATOMIC_SCALE_UP,
            QUEUED_PROVISIONING,
        ];
        if !known.contains(&class) || request.metadata.deletion_timestamp.is_some() {
            return Ok(ReconcileResult::Done);
        }
        let now = self.context.clock.now();
        let result = match conditions::request_state(&request, now) {
            RequestState::Finished => return Ok(ReconcileResult::Done),
            RequestState::Wait(time) => return Ok(ReconcileResult::RequeueAfter(time)),
            RequestState::SetConditions(update) => {
                return self.set_conditions(&key, &request, update).await;
            }
            RequestState::CheckCapacity => self.check_capacity(&key, &request).await?,
        };
        if matches!(result, capacity::CapacityResult::NotFound) && self.has_unknown_groups() {
            return Ok(ReconcileResult::RequeueAfter(conditions::RETRY_INTERVAL));
        }
        let update = conditions::conditions_for(&request, &result);
        if let (capacity::CapacityResult::ScaleUp(pools), Some(virtual_nodes)) =
            (&result, &self.virtual_nodes)
        {
            for (pool, count) in pools {
                virtual_nodes.scale_up(pool, *count).await;
            }
        }
        self.set_conditions(&key, &request, update).await
    }

    /// Whether only an autoscaler that the lab does not know could add nodes.
    fn has_unknown_groups(&self) -> bool {
        let pools = self
            .virtual_nodes
            .as_ref()
            .map(VirtualNodeController::sizes);
        self.imported_nodes && pools.is_none_or(|pools| pools.is_empty())
    }

    /// Checks whether the pods of a request fit, now or after a scale-up.
    async fn check_capacity(
        &self,
        key: &ObjectKey,
        request: &ProvisioningRequest,
    ) -> kube::Result<capacity::CapacityResult> {
        let templates: Api<PodTemplate> =
            Api::namespaced(self.context.client.clone(), &key.namespace);
        let mut requested = Vec::new();
        for set in &request.spec.pod_sets {
            let Some(template) = templates.get_opt(&set.pod_template_ref.name).await? else {
                return Ok(capacity::CapacityResult::TemplateNotFound(
                    set.pod_template_ref.name.clone(),
                ));
            };
            let template = template.template.unwrap_or_default();
            let pod = Pod {
                metadata: template.metadata.unwrap_or_default(),
                spec: template.spec,
                status: None,
            };
            requested.push((pod, usize::try_from(set.count).unwrap_or(0)));
        }
        let grows = request.spec.provisioning_class_name != CHECK_CAPACITY;
        let pools = self
            .virtual_nodes
            .as_ref()
            .filter(|_| grows)
            .map(VirtualNodeController::sizes);
        let (nodes, pods) = (self.nodes.list(), self.pods.list());
        let others = self.requests.list();
        let booked = capacity::BookedCapacity {
            request: key,
            others: &others,
        };
        Ok(capacity::check_capacity(
            &key.namespace,
            &requested,
            &nodes,
            &pods,
            &booked,
            &pools.unwrap_or_default(),
        ))
    }

    async fn set_conditions(
        &self,
        key: &ObjectKey,
        request: &ProvisioningRequest,
        update: ConditionUpdate,
    ) -> kube::Result<ReconcileResult> {
        let time = self.context.clock.time();
        let mut conditions = request.status.conditions.clone();
        for (kind, status, reason, message) in update.conditions {
            let new = Condition {
                type_: kind.into(),
                status: status.into(),
                reason: reason.into(),
                message,
                last_transition_time: time.clone(),
                observed_generation: request.metadata.generation,
            };
            set_condition(&mut conditions, new);
        }
        if conditions != request.status.conditions {
            let api: Api<ProvisioningRequest> =
                Api::namespaced(self.context.client.clone(), &key.namespace);
            let patch = json!({
                "metadata": {"resourceVersion": request.metadata.resource_version},
                "status": {"conditions": conditions},
            });
            let params = PatchParams::default();
            match api
                .patch_status(&key.name, &params, &Patch::Merge(&patch))
                .await
            {
                Ok(request) => self.requests.observe_write(Arc::new(request)),
                Err(error) if is_not_found(&error) => {
                    return Ok(ReconcileResult::Done);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(update
            .requeue_after
            .map_or(ReconcileResult::Done, |time: Duration| {
                ReconcileResult::RequeueAfter(time)
            }))
    }
}
