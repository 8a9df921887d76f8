//! The pod termination controller: force deletes pods that are stuck in termination on an unreachable
//! node, if their annotation permits it.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch};
use serde_json::json;

use crate::ControllerContext;
use crate::event_recorder::EventSpec;
use crate::informers::BY_NODE;
use crate::object_meta;
use crate::pod_util::is_terminated;
use crate::update::patch_params;
use kueue_lab_api::constants as c;
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Change, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::messages::EventType;

/// The time of termination after which a pod is force deleted.
const FORCEFUL_TERMINATION_GRACE_PERIOD: Duration = Duration::from_secs(60);
const REPORTING_CONTROLLER: &str = "kueue-pod-termination-controller";
/// The type of the condition of a force deleted pod.
const CONDITION_TYPE: &str = "KueueFailureRecovery";
/// The reason of that condition and of the Event.
const REASON: &str = "KueueForcefullyDeleted";
/// The taint of an unreachable node.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Starts the controller. The informers have to be synced.
pub(crate) fn start(shared: &ControllerContext) {
    let queue = WorkQueue::new(&shared.ctx);
    let of_pods = queue.clone();
    shared.informers.pods.add_event_handler(move |change| {
        let pod = match change {
            Change::Added(pod) => pod,
            Change::Updated { old, new } if !is_eligible(old) => new,
            _ => return,
        };
        if is_eligible(pod) {
            of_pods.add(ObjectKey::of(pod.as_ref()));
        }
    });
    let (of_nodes, s) = (queue.clone(), shared.clone());
    shared.informers.nodes.add_event_handler(move |change| {
        let node = match change {
            Change::Added(node) => node,
            Change::Updated { old, new } if !is_unreachable(old) => new,
            _ => return,
        };
        if is_unreachable(node) {
            let name = object_meta::name(&node.metadata);
            let pods = s.informers.pods.by_index(BY_NODE, name);
            for pod in pods.iter().filter(|pod| is_eligible(pod)) {
                of_nodes.add(ObjectKey::of(pod.as_ref()));
            }
        }
    });
    shared.start_workers(
        &queue,
        "pod-termination",
        ("Pod", 1),
        |shared, key| async move { reconcile(&shared, &key).await },
    );
}

/// Whether a pod terminates and permits a forced deletion.
fn is_eligible(pod: &Pod) -> bool {
    let key = c::SAFE_TO_FORCEFULLY_DELETE_ANNOTATION;
    object_meta::annotation(&pod.metadata, key) == Some(c::SAFE_TO_FORCEFULLY_DELETE_VALUE)
        && pod.metadata.deletion_timestamp.is_some()
}

fn is_unreachable(node: &Node) -> bool {
    let mut taints = node.spec.iter().flat_map(|spec| &spec.taints).flatten();
    taints.any(|taint| taint.key == UNREACHABLE)
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let Some(pod) = shared
        .informers
        .pods
        .get(key)
        .filter(|pod| is_eligible(pod))
    else {
        return Ok(ReconcileResult::Done);
    };
    let Some(deletion) = &pod.metadata.deletion_timestamp else {
        return Ok(ReconcileResult::Done);
    };
    let terminating = shared.now().duration_since(deletion.0);
    let grace =
        SignedDuration::try_from(FORCEFUL_TERMINATION_GRACE_PERIOD).unwrap_or(SignedDuration::MAX);
    let remaining = grace.saturating_sub(terminating);
    if remaining.is_positive() {
        return Ok(ReconcileResult::RequeueAfter(remaining.unsigned_abs()));
    }
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let node = ObjectKey::cluster(node.unwrap_or_default());
    let node = shared.informers.nodes.get(&node);
    if let Some(node) = node.filter(|node| is_unreachable(node)) {
        force_delete(shared, &pod, &node).await?;
    }
    Ok(ReconcileResult::Done)
}

/// Sets the pod to Failed with the reason, and deletes it without a grace period.
async fn force_delete(shared: &ControllerContext, pod: &Pod, node: &Node) -> kube::Result<()> {
    let message = message(pod, object_meta::name(&node.metadata));
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.clone());
    let mut conditions = json!(conditions.unwrap_or_default());
    if let Some(list) = conditions.as_array_mut() {
        list.push(json!({
            "type": CONDITION_TYPE, "status": "True", "reason": REASON, "message": message,
        }));
    }
    let mut body = json!({
        "metadata": {"resourceVersion": pod.metadata.resource_version},
        "status": {"conditions": conditions},
    });
    if !is_terminated(pod) {
        body["status"]["phase"] = "Failed".into();
    }
    let namespace = object_meta::namespace(&pod.metadata);
    let name = object_meta::name(&pod.metadata);
    let api = Api::<Pod>::namespaced(shared.ctx.client.clone(), namespace);
    let patch = Patch::Merge(&body);
    api.patch_status(name, &patch_params(), &patch).await?;
    let event = EventSpec {
        action: "ForcefulTermination",
        ..EventSpec::new(REPORTING_CONTROLLER, EventType::Warning, REASON, message)
    };
    shared.recorder.record(pod, event);
    ignore_not_found(
        api.delete(name, &DeleteParams::default().grace_period(0))
            .await,
    )?;
    Ok(())
}

/// The message of the condition and the Event. Upstream reads the seconds of the pod's grace period as
/// nanoseconds.
fn message(pod: &Pod, node: &str) -> String {
    let nanoseconds = pod
        .metadata
        .deletion_grace_period_seconds
        .unwrap_or_default();
    let fraction = match nanoseconds {
        0 => String::new(),
        n => format!(".{n:09}").trim_end_matches('0').to_owned(),
    };
    format!(
        "Pod forcefully terminated after 1m0{fraction}s grace period due to unreachable node `{node}` (triggered by `{}` annotation)",
        c::SAFE_TO_FORCEFULLY_DELETE_ANNOTATION
    )
}
