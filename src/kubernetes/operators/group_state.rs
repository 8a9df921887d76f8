//! The states of the groups of a LeaderWorkerSet.

use std::collections::{BTreeMap, HashMap, HashSet};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::DynamicObject;

use super::child_objects::{count, label};
use super::leader_worker_set::{GROUP_KEY, REVISION, leaders, ordinal};
use super::observed::Observed;
use kueue_lab_controller_utils::pods::{is_deleting, is_ready};

/// The state of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupState {
    /// Whether all its pods are ready.
    pub ready: bool,
    /// Whether its pods are of the current revision.
    pub updated: bool,
}

/// The states of the first groups; those without a leader pod are neither ready nor updated, and are not stored.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupStates {
    /// The number of groups.
    pub count: usize,
    /// The states of groups with a leader, by index.
    with_leader: BTreeMap<usize, GroupState>,
}

impl GroupStates {
    /// The states of all groups with a leader.
    pub(super) fn of(set: &Observed<'_>, revision: &str) -> Self {
        let size = count(&set.spec()["leaderWorkerTemplate"]["size"], 1);
        let mut ready_pods: HashMap<&str, usize> = HashMap::new();
        for pod in set
            .pods
            .iter()
            .filter(|pod| is_ready(pod) && !is_deleting(pod))
        {
            if let Some(key) = label(pod, GROUP_KEY) {
                *ready_pods.entry(key).or_default() += 1;
            }
        }
        let has_revision = |object: &&std::sync::Arc<DynamicObject>| {
            let own = object.labels().get(REVISION);
            own.is_some_and(|own| own == revision)
        };
        let workers = set.children_of_kind("StatefulSet").filter(has_revision);
        let updated_workers: HashSet<String> = workers.map(|workers| workers.name_any()).collect();
        let is_group_ready = |leader: &Pod| {
            let ready = label(leader, GROUP_KEY).and_then(|key| ready_pods.get(key));
            is_ready(leader) && (size <= 1 || ready.is_some_and(|ready| *ready >= size))
        };
        let state = |leader: &Pod| GroupState {
            ready: !is_deleting(leader) && is_group_ready(leader),
            updated: label(leader, REVISION) == Some(revision)
                && (size <= 1 || updated_workers.contains(&leader.name_any())),
        };
        let prefix = format!("{}-", set.name());
        let of_set = leaders(set).filter(|leader| leader.name_any().starts_with(&prefix));
        let with_leader: BTreeMap<usize, GroupState> = of_set
            .map(|leader| (ordinal(&leader.name_any()), state(leader)))
            .collect();
        Self {
            count: usize::MAX,
            with_leader,
        }
    }

    /// The states of the groups below `count`.
    pub(super) fn below(mut self, count: usize) -> Self {
        self.with_leader.split_off(&count);
        Self { count, ..self }
    }

    /// The state of a group.
    pub(super) fn get(&self, index: usize) -> GroupState {
        self.with_leader.get(&index).copied().unwrap_or_default()
    }

    /// The groups below `end` for which `is` holds, from the last one down; it must not hold for a group without
    /// a leader.
    pub(super) fn last_below<'a>(
        &'a self,
        end: usize,
        is: impl Fn(GroupState) -> bool + 'a,
    ) -> impl Iterator<Item = usize> + 'a {
        let states = self.with_leader.range(..end).rev();
        states
            .filter(move |(_, state)| is(**state))
            .map(|(index, _)| *index)
    }
}

#[cfg(test)]
impl From<&[GroupState]> for GroupStates {
    fn from(states: &[GroupState]) -> Self {
        Self {
            count: states.len(),
            with_leader: states.iter().copied().enumerate().collect(),
        }
    }
}
