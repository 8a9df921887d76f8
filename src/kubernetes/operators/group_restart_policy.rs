//! The restart policies of a LeaderWorkerSet's groups.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::child_objects::label;
use super::leader_worker_set::{GROUP_KEY, REVISION, is_owned_by};
use super::observed::Observed;
use kueue_lab_controller_runtime::controller_of;
use kueue_lab_controller_utils::pods::is_deleting;

/// The name of the pod because of which the group of a leader restarts as a whole, upstream's
/// `handleRestartPolicy`.
pub(super) fn failed_pod(set: &Observed<'_>, leader: &Pod, size: usize) -> Option<String> {
    let policy = &set.spec()["leaderWorkerTemplate"]["restartPolicy"];
    let key = label(leader, GROUP_KEY)?;
    // An earlier leader of the same name has workers with the same key.
    let workers = set.child("StatefulSet", &leader.name_any());
    let workers = workers.filter(|workers| is_owned_by(workers, leader));
    let of_group = |pod: &Pod| {
        let is_worker = workers.is_some_and(|workers| {
            controller_of(&pod.metadata).map(|owner| &owner.uid) == workers.metadata.uid.as_ref()
        });
        label(pod, GROUP_KEY) == Some(key)
            && label(pod, REVISION) == label(leader, REVISION)
            && (pod.metadata.uid == leader.metadata.uid || is_worker)
    };
    let group: Vec<&Arc<Pod>> = set.pods.iter().filter(|pod| of_group(pod)).collect();
    let phase = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.clone());
    let waits_for_start = || {
        group.len() != size
            || group
                .iter()
                .any(|pod| phase(pod).as_deref() == Some("Pending"))
    };
    match policy.as_str()? {
        "RecreateGroupOnPodRestart" => {}
        "RecreateGroupAfterStart" if !waits_for_start() => {}
        _ => return None,
    }
    let failed = group
        .iter()
        .find(|pod| is_deleting(pod) || has_restarted(pod))?;
    Some(failed.name_any())
}

/// Whether a container of the pod was restarted.
fn has_restarted(pod: &Pod) -> bool {
    let statuses = pod.status.as_ref().into_iter().flat_map(|status| {
        let init = status.init_container_statuses.iter().flatten();
        init.chain(status.container_statuses.iter().flatten())
    });
    statuses.into_iter().any(|status| status.restart_count > 0)
}
