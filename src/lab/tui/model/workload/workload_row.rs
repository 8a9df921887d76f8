//! A Workload as a row.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{AdmissionRow, PodSetAssignmentRow, TopologyAssignmentRow, WorkloadState};
use crate::model::condition::Conditions;
use crate::model::meta::{Meta, Requests, add_requests, requests_of};
use crate::model::pod::pod_template_requests;
use crate::model::{ObjectKey, Row};
use crate::text::sanitize;
use kueue_lab_api::constants::PRIORITY_BOOST_ANNOTATION;
use kueue_lab_api::v1beta2::{CheckState, DelayedTopologyRequestState, PodSet, Workload};

/// A Workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadRow {
    /// Name, labels, age.
    pub meta: Meta,
    /// Name of its LocalQueue.
    pub queue: String,
    /// Namespace and name of its LocalQueue.
    pub queue_key: ObjectKey,
    /// The effective priority, with the priority boost.
    pub priority: i64,
    /// The priority class.
    pub priority_class: Option<String>,
    /// spec.active.
    pub active: bool,
    /// Its owners, the controller first.
    pub owners: Vec<Owner>,
    /// Its pod sets.
    pub pod_sets: Vec<PodSetRow>,
    /// Its quota reservation.
    pub admission: Option<AdmissionRow>,
    /// Conditions.
    pub conditions: Conditions,
    /// The states of its AdmissionChecks.
    pub admission_checks: Vec<AdmissionCheckRow>,
    /// When it is requeued after an eviction.
    pub requeue_at: Option<Timestamp>,
    /// Counts of evictions by reason.
    pub evictions: BTreeMap<String, i64>,
    /// Reclaimable pods by pod set.
    pub reclaimable_pods: i32,
    /// MultiKueue: the worker cluster it runs in, or the nominated ones.
    pub worker_clusters: Vec<String>,
    /// Failed nodes of its topology assignment that have to be replaced.
    pub unhealthy_nodes: Vec<String>,
    /// Total requests in the status, while it is pending.
    pub resource_requests: Requests,
    /// Its state.
    pub(super) state: WorkloadState,
}

/// An owner of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

/// A pod set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodSetRow {
    /// Name of the pod set.
    pub name: String,
    /// The number of pods.
    pub count: i32,
    /// The minimum count, for partial admission.
    pub min_count: Option<i32>,
    /// Requests of one pod.
    pub per_pod: Requests,
}

/// The state of an AdmissionCheck.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionCheckRow {
    /// Name of the check.
    pub name: String,
    /// The state.
    pub state: CheckState,
    /// The message of its controller.
    pub message: String,
    /// The number of retries.
    pub retries: i32,
}

impl WorkloadRow {
    /// Converts a Workload.
    pub fn of(wl: &Workload) -> Self {
        let (spec, status) = (&wl.spec, &wl.status);
        let boost: i64 = wl
            .metadata
            .annotations
            .as_ref()
            .and_then(|a| a.get(PRIORITY_BOOST_ANNOTATION))
            .and_then(|text| text.parse::<i32>().ok())
            .unwrap_or(0)
            .into();
        let mut counted = Requests::new();
        for set in &status.resource_requests {
            add_requests(&mut counted, &requests_of(&set.resources), 1);
        }
        let meta = Meta::of(&wl.metadata);
        let queue = sanitize(&spec.queue_name);
        let mut row = Self {
            queue_key: ObjectKey::new(&meta.key.namespace, &queue),
            meta,
            queue,
            priority: i64::from(spec.priority.unwrap_or(0)) + boost,
            priority_class: spec.priority_class_ref.as_ref().map(|r| sanitize(&r.name)),
            active: spec.is_active(),
            owners: owners_of(wl),
            pod_sets: spec.pod_sets.iter().map(pod_set_row).collect(),
            admission: status.admission.as_ref().map(|a| AdmissionRow {
                cluster_queue: sanitize(&a.cluster_queue),
                pod_sets: a
                    .pod_set_assignments
                    .iter()
                    .map(|p| PodSetAssignmentRow {
                        name: sanitize(&p.name),
                        flavors: p
                            .flavors
                            .iter()
                            .map(|(r, f)| (sanitize(r), sanitize(f)))
                            .collect(),
                        usage: requests_of(&p.resource_usage),
                        topology_assignment: p
                            .topology_assignment
                            .as_ref()
                            .map(TopologyAssignmentRow::of),
                        delayed_topology_request: p.delayed_topology_request
                            == Some(DelayedTopologyRequestState::Pending),
                        count: p.count.unwrap_or_else(|| count_of(&spec.pod_sets, &p.name)),
                    })
                    .collect(),
            }),
            conditions: Conditions::of(&status.conditions),
            admission_checks: status
                .admission_checks
                .iter()
                .map(|c| AdmissionCheckRow {
                    name: sanitize(&c.name),
                    state: c.state,
                    message: sanitize(&c.message),
                    retries: c.retry_count.unwrap_or(0),
                })
                .collect(),
            requeue_at: status
                .requeue_state
                .as_ref()
                .and_then(|r| r.requeue_at.as_ref())
                .map(|t| t.0),
            evictions: evictions_of(wl),
            worker_clusters: match &status.cluster_name {
                Some(name) => vec![sanitize(name)],
                None => status
                    .nominated_cluster_names
                    .iter()
                    .map(|n| sanitize(n))
                    .collect(),
            },
            unhealthy_nodes: status
                .unhealthy_nodes
                .iter()
                .map(|n| sanitize(&n.name))
                .collect(),
            reclaimable_pods: status
                .reclaimable_pods
                .iter()
                .fold(0, |sum, r| r.count.saturating_add(sum)),
            resource_requests: counted,
            state: WorkloadState::default(),
        };
        row.state = row.compute_state();
        row
    }

    /// Total requests of all its pods.
    pub fn requests(&self) -> Requests {
        if let Some(admission) = &self.admission {
            let mut total = Requests::new();
            for set in &admission.pod_sets {
                add_requests(&mut total, &set.usage, 1);
            }
            return total;
        }
        if !self.resource_requests.is_empty() {
            return self.resource_requests.clone();
        }
        let mut total = Requests::new();
        for set in &self.pod_sets {
            add_requests(&mut total, &set.per_pod, i64::from(set.count));
        }
        total
    }

    /// The number of pods it runs with.
    pub fn pod_count(&self) -> i32 {
        let admitted = self.admission.as_ref().map(|a| {
            a.pod_sets
                .iter()
                .fold(0i32, |n, s| n.saturating_add(s.count))
        });
        admitted.unwrap_or_else(|| {
            self.pod_sets
                .iter()
                .fold(0i32, |n, s| n.saturating_add(s.count))
        })
    }

    /// Its controller, or else its first owner.
    pub fn owner(&self) -> Option<&Owner> {
        self.owners.first()
    }

    /// The owner as `kind/name` in lower case.
    pub(crate) fn owner_text(&self) -> String {
        match (self.owner(), self.owners.len()) {
            (None, _) => "-".to_owned(),
            (Some(o), 1) => format!("{}/{}", o.kind.to_lowercase(), o.name),
            (Some(o), n) => format!("{n} {}s", o.kind.to_lowercase()),
        }
    }

    /// The number of evictions.
    pub(crate) fn eviction_count(&self) -> i64 {
        self.evictions.values().sum()
    }
}

impl Row for WorkloadRow {
    fn key(&self) -> &ObjectKey {
        &self.meta.key
    }
}

/// Owners, the controller first.
fn owners_of(wl: &Workload) -> Vec<Owner> {
    let mut refs: Vec<_> = wl.metadata.owner_references.iter().flatten().collect();
    refs.sort_by_key(|r| !r.controller.unwrap_or(false));
    refs.into_iter()
        .map(|r| Owner {
            api_version: sanitize(&r.api_version),
            kind: sanitize(&r.kind),
            name: sanitize(&r.name),
            uid: sanitize(&r.uid),
        })
        .collect()
}

fn pod_set_row(set: &PodSet) -> PodSetRow {
    PodSetRow {
        name: sanitize(&set.name),
        count: set.count,
        min_count: set.min_count,
        per_pod: set
            .template
            .spec
            .as_ref()
            .map(pod_template_requests)
            .unwrap_or_default(),
    }
}

fn count_of(sets: &[PodSet], name: &str) -> i32 {
    sets.iter().find(|s| s.name == name).map_or(0, |s| s.count)
}

fn evictions_of(wl: &Workload) -> BTreeMap<String, i64> {
    let mut out = BTreeMap::new();
    let stats = wl.status.scheduling_stats.as_ref();
    for eviction in stats.into_iter().flat_map(|s| &s.evictions) {
        *out.entry(sanitize(&eviction.reason)).or_default() += i64::from(eviction.count);
    }
    out
}
