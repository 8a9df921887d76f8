//! The input of a Job's sync: its status and its pods. Pure.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use super::backoff::{self, Backoff};
use super::indexes::Indexes;
use super::{
    COMPLETION_INDEX, INDEX_FAILURES, INDEX_IGNORED_FAILURES, JOB_TRACKING_FINALIZER,
    pod_failure_policy,
};
use kueue_lab_controller_utils::pods;

/// The state of a Job during one sync.
pub(super) struct SyncJobContext<'a> {
    pub(super) job: &'a Job,
    pub(super) spec: &'a JobSpec,
    /// The status to write.
    pub(super) status: JobStatus,
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) active: Vec<Arc<Pod>>,
    pub(super) ready: i32,
    pub(super) terminating: i32,
    /// Succeeded and failed pods, including those not yet in the status.
    pub(super) succeeded: i32,
    pub(super) failed: i32,
    pub(super) uncounted: UncountedPods,
    pub(super) prev_succeeded_indexes: Indexes,
    pub(super) succeeded_indexes: Indexes,
    /// Only with `backoffLimitPerIndex`.
    pub(super) failed_indexes: Option<Indexes>,
    /// Failed pods that are kept until a new pod of their index inherits their failure count.
    pub(super) pods_with_delayed_deletion: BTreeMap<i32, Arc<Pod>>,
    pub(super) backoff: Backoff,
}

/// UIDs in `status.uncountedTerminatedPods`.
#[derive(Default)]
pub(super) struct UncountedPods {
    pub(super) succeeded: HashSet<String>,
    pub(super) failed: HashSet<String>,
}

impl<'a> SyncJobContext<'a> {
    /// Computes the state. `None` for a Job without a spec.
    pub(super) fn new(job: &'a Job, pods: &[Arc<Pod>], before: Backoff) -> Option<Self> {
        let spec = job.spec.as_ref()?;
        let mut status = job.status.clone().unwrap_or_default();
        let recorded = status.uncounted_terminated_pods.get_or_insert_default();
        let uncounted = UncountedPods {
            succeeded: recorded.succeeded.iter().flatten().cloned().collect(),
            failed: recorded.failed.iter().flatten().cloned().collect(),
        };
        let mut pods = pods.to_vec();
        if is_indexed(spec) {
            pods.sort_by_key(|p| completion_index(p).unwrap_or(-1));
        }
        let active: Vec<_> = pods
            .iter()
            .filter(|p| pods::is_active(p))
            .cloned()
            .collect();
        let count = |pods: &[Arc<Pod>], which: fn(&Pod) -> bool| {
            pods.iter().filter(|p| which(p)).count() as i32
        };
        let mut ctx = Self {
            ready: count(&active, pods::is_ready),
            terminating: count(&pods, pods::is_terminating),
            succeeded: 0,
            failed: 0,
            prev_succeeded_indexes: Indexes::default(),
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            pods_with_delayed_deletion: BTreeMap::new(),
            backoff: before,
            job,
            spec,
            status,
            pods,
            active,
            uncounted,
        };
        ctx.count();
        Some(ctx)
    }

    fn count(&mut self) {
        let uncounted = &self.uncounted;
        let succeeded =
            self.valid_pods_with_finalizer(&uncounted.succeeded, |p| pods::phase(p) == "Succeeded");
        let failed =
            self.valid_pods_with_finalizer(&uncounted.failed, |p| is_pod_failed(self.spec, p));
        let counted_failures = failed
            .iter()
            .filter(|p| !pod_failure_policy::match_pod_failure_policy(self.spec, p).ignored)
            .count();
        let counted = |before: Option<i32>, new: usize, recorded: usize| {
            let new = i32::try_from(new.saturating_add(recorded)).unwrap_or(i32::MAX);
            before.unwrap_or(0).saturating_add(new)
        };
        let status = &self.status;
        self.failed = counted(status.failed, counted_failures, uncounted.failed.len());
        self.succeeded = counted(status.succeeded, succeeded.len(), uncounted.succeeded.len());
        self.backoff = self.backoff.after(&succeeded, &failed);
        if is_indexed(self.spec) {
            self.count_indexes();
        }
    }

    fn count_indexes(&mut self) {
        let limit = self.completions();
        let text = self.status.completed_indexes.as_deref().unwrap_or_default();
        self.prev_succeeded_indexes = Indexes::parse(text, limit);
        let new =
            self.valid_pods_with_finalizer(&HashSet::new(), |p| pods::phase(p) == "Succeeded");
        let new: Indexes = new.iter().filter_map(|p| completion_index(p)).collect();
        self.succeeded_indexes = self.prev_succeeded_indexes.union(&new);
        self.succeeded = self.succeeded_indexes.len();
        let Some(limit_per_index) = self.spec.backoff_limit_per_index else {
            return;
        };
        let text = self.status.failed_indexes.as_deref().unwrap_or_default();
        let failed =
            self.valid_pods_with_finalizer(&HashSet::new(), |p| is_pod_failed(self.spec, p));
        let newly_failed = failed.iter().filter(|p| {
            let matched = pod_failure_policy::match_pod_failure_policy(self.spec, p);
            let too_often = number(p, INDEX_FAILURES) >= limit_per_index;
            matched.fails_index || !matched.ignored && too_often
        });
        let newly_failed: Indexes = newly_failed.filter_map(|p| completion_index(p)).collect();
        let failed_indexes = Indexes::parse(text, limit).union(&newly_failed);
        self.pods_with_delayed_deletion = self.delayed_deletion_pods(&failed, &failed_indexes);
        self.failed_indexes = Some(failed_indexes);
    }

    /// For each index that needs a new pod, the pod that failed last.
    fn delayed_deletion_pods(
        &self,
        failed: &[Arc<Pod>],
        newly_failed: &Indexes,
    ) -> BTreeMap<i32, Arc<Pod>> {
        let active: HashSet<i32> = self
            .active
            .iter()
            .filter_map(|p| completion_index(p))
            .collect();
        let mut last: BTreeMap<i32, Arc<Pod>> = BTreeMap::new();
        for pod in failed {
            let Some(index) = completion_index(pod) else {
                continue;
            };
            let settled = self.succeeded_indexes.contains(index) || newly_failed.contains(index);
            if settled || active.contains(&index) {
                continue;
            }
            let newer = last.get(&index).is_none_or(|known| {
                failures(known) <= failures(pod)
                    && pods::finished_at(pod) >= pods::finished_at(known)
            });
            if newer {
                last.insert(index, pod.clone());
            }
        }
        last
    }

    /// Pods to count: with the tracking finalizer, not in `uncountedTerminatedPods`, and with a
    /// valid index.
    fn valid_pods_with_finalizer(
        &self,
        recorded: &HashSet<String>,
        which: impl Fn(&Pod) -> bool,
    ) -> Vec<Arc<Pod>> {
        let indexed = is_indexed(self.spec);
        let counts = |p: &&Arc<Pod>| {
            pods::has_finalizer(p.as_ref(), JOB_TRACKING_FINALIZER)
                && !recorded.contains(uid(p))
                && (!indexed || self.valid_index(p).is_some())
                && which(p)
        };
        self.pods.iter().filter(counts).cloned().collect()
    }

    /// The index of a pod, if it is valid.
    pub(super) fn valid_index(&self, pod: &Pod) -> Option<i32> {
        completion_index(pod).filter(|index| *index < self.completions())
    }

    /// `spec.completions`; Indexed Jobs always have it.
    pub(super) fn completions(&self) -> i32 {
        self.spec.completions.unwrap_or(0)
    }

    /// The remaining backoff of `index`.
    pub(super) fn remaining_time_per_index(
        &self,
        index: i32,
        now: Timestamp,
    ) -> std::time::Duration {
        let Some(pod) = self.pods_with_delayed_deletion.get(&index) else {
            return std::time::Duration::ZERO;
        };
        let count = u32::try_from(failures(pod).saturating_add(1)).unwrap_or(u32::MAX);
        backoff::remaining(count, Some(pods::finished_at(pod)), now)
    }

    /// The counted and ignored failures that a new pod of `index` inherits.
    pub(super) fn inherited_failures(&self, index: i32) -> (i32, i32) {
        let Some(pod) = self.pods_with_delayed_deletion.get(&index) else {
            return (0, 0);
        };
        let (counted, ignored) = (
            number(pod, INDEX_FAILURES),
            number(pod, INDEX_IGNORED_FAILURES),
        );
        if pod_failure_policy::match_pod_failure_policy(self.spec, pod).ignored {
            (counted, ignored.saturating_add(1))
        } else {
            (counted.saturating_add(1), ignored)
        }
    }
}

/// Whether the completion mode is Indexed.
pub(super) fn is_indexed(spec: &JobSpec) -> bool {
    spec.completion_mode.as_deref() == Some("Indexed")
}

/// Whether `spec.suspend` is set.
pub(super) fn is_suspended(spec: &JobSpec) -> bool {
    spec.suspend == Some(true)
}

/// Whether pods are replaced only once they have failed (`podReplacementPolicy: Failed`).
pub(super) fn only_replace_failed_pods(spec: &JobSpec) -> bool {
    spec.pod_replacement_policy.as_deref() == Some("Failed") || spec.pod_failure_policy.is_some()
}

/// Whether the pod counts as failed: it has failed, or is terminating and counts by the policy.
pub(super) fn is_pod_failed(spec: &JobSpec, pod: &Pod) -> bool {
    match pods::phase(pod) {
        "Failed" => true,
        "Succeeded" => false,
        _ => pods::is_deleting(pod) && !only_replace_failed_pods(spec),
    }
}

/// The UID of a pod.
pub(super) fn uid(pod: &Pod) -> &str {
    pod.metadata.uid.as_deref().unwrap_or_default()
}

/// The completion index of a pod.
pub(super) fn completion_index(pod: &Pod) -> Option<i32> {
    let text = pod.annotations().get(COMPLETION_INDEX)?;
    text.parse().ok().filter(|index| *index >= 0)
}

fn failures(pod: &Pod) -> i32 {
    number(pod, INDEX_FAILURES).saturating_add(number(pod, INDEX_IGNORED_FAILURES))
}

/// The number in an annotation; 0 if it is missing or invalid.
fn number(pod: &Pod, annotation: &str) -> i32 {
    let text = pod.annotations().get(annotation);
    text.and_then(|t| t.parse().ok()).unwrap_or(0).max(0)
}
