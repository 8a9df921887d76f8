//! The state of a group of a LeaderWorkerSet.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::DynamicObject;

use super::child_objects::{count, label};
use super::leader_worker_set::{GROUP_KEY, REVISION, leaders};
use super::observed::Observed;
use crate::pods::{is_deleting, is_ready};

/// The state of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupState {
    /// Whether all its pods are ready.
    pub ready: bool,
    /// Whether its pods are of the current revision.
    pub updated: bool,
}

/// The state of the group with an index.
pub(super) fn group_state(set: &Observed<'_>, index: usize, revision: &str) -> GroupState {
    let size = count(&set.spec()["leaderWorkerTemplate"]["size"], 1);
    let name = format!("{}-{index}", set.name());
    let Some(leader) = leaders(set).find(|leader| leader.name_any() == name) else {
        return GroupState::default();
    };
    let workers = set.child("StatefulSet", &name);
    let has_revision = |object: &DynamicObject| {
        let own = object.labels().get(REVISION);
        own.is_some_and(|own| own == revision)
    };
    GroupState {
        ready: !is_deleting(leader) && is_group_ready(set, leader, size),
        updated: label(leader, REVISION) == Some(revision)
            && (size <= 1 || workers.is_some_and(|workers| has_revision(workers))),
    }
}

/// Whether the leader and all workers are ready.
fn is_group_ready(set: &Observed<'_>, leader: &Pod, size: usize) -> bool {
    let key = label(leader, GROUP_KEY);
    let group = set
        .pods
        .iter()
        .filter(|pod| label(pod, GROUP_KEY) == key && !is_deleting(pod));
    is_ready(leader)
        && (size <= 1 || key.is_some() && group.filter(|pod| is_ready(pod)).count() >= size)
}
