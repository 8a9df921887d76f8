//! Properties of Jobs: each pod is counted once and the Job finishes.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus};
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodStatus, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::ObjectMeta;
use proptest::prelude::*;

use super::backoff::Backoff;
use super::sync_job::sync_job;
use super::track_job_status::ManagedPods;
use super::*;
use kueue_lab_controller_utils::pods;

/// A Job with its pods; plans are applied at once.
struct SimulatedJob {
    job: Job,
    pods: Vec<Arc<Pod>>,
    backoff: Backoff,
    now: Timestamp,
    created_count: usize,
    succeeded: i32,
    failed: i32,
}

impl SimulatedJob {
    fn new(spec: JobSpec) -> Self {
        Self {
            job: Job {
                metadata: ObjectMeta {
                    name: Some("j".into()),
                    namespace: Some("n".into()),
                    uid: Some("job".into()),
                    ..ObjectMeta::default()
                },
                spec: Some(spec),
                status: None,
            },
            pods: Vec::new(),
            backoff: Backoff::default(),
            now: "2026-03-02T12:00:00Z".parse().unwrap(),
            created_count: 0,
            succeeded: 0,
            failed: 0,
        }
    }

    fn status(&self) -> JobStatus {
        self.job.status.clone().unwrap_or_default()
    }

    /// One sync; returns whether anything changed.
    fn sync(&mut self) -> bool {
        let job = self.job.clone();
        let Some(mut decision) = sync_job(&job, &self.pods, self.backoff, 500, self.now) else {
            return false;
        };
        let requeue_after = decision.requeue_after;
        let mut acted = ManagedPods {
            created: decision.creations.len(),
            deleted: decision.deletions.len(),
            deleted_ready: 0,
        };
        acted.deleted_ready = decision
            .deletions
            .iter()
            .filter(|p| pods::is_ready(p))
            .count();
        for mut pod in std::mem::take(&mut decision.creations) {
            self.created_count += 1;
            pod.metadata.name = Some(format!("p{}", self.created_count));
            pod.metadata.uid = Some(format!("p{}", self.created_count));
            pod.metadata.creation_timestamp = Some(Time(self.now));
            self.pods.push(Arc::new(pod));
        }
        let deletions = std::mem::take(&mut decision.deletions);
        for pod in &deletions {
            if decision.remove_finalizers_on_delete {
                self.pods.retain(|p| p.name_any() != pod.name_any());
            } else {
                self.change(pod, |p| {
                    p.metadata.deletion_timestamp = Some(Time(self_now(p)))
                });
            }
        }
        let settled = decision.track_job_status(acted, self.now);
        let mut changed = acted.created + acted.deleted > 0 || settled.status.is_some();
        if let Some(status) = &settled.status {
            self.job.status = Some(status.clone());
            self.backoff = settled.backoff;
        }
        let mut released = Vec::new();
        for pod in settled.pods_to_remove_finalizer.clone() {
            released.extend(pod.uid());
            self.change(&pod, |p| p.metadata.finalizers = None);
        }
        // A terminating pod is deleted with its last finalizer.
        self.pods
            .retain(|p| !pods::is_deleting(p) || !p.finalizers().is_empty());
        if let Some((status, _)) = settled.finish(&released, self.now) {
            self.job.status = Some(status);
            changed = true;
        }
        if !changed && let Some(wait) = requeue_after {
            self.now = self
                .now
                .checked_add(SignedDuration::try_from(wait).unwrap())
                .unwrap();
            changed = true;
        }
        changed
    }

    fn change(&mut self, pod: &Pod, how: impl Fn(&mut Pod)) {
        for known in &mut self.pods {
            if known.name_any() == pod.name_any() {
                how(Arc::make_mut(known));
            }
        }
    }

    fn sync_until_stable(&mut self) {
        for _ in 0..500 {
            if !self.sync() {
                return;
            }
        }
        panic!("the controller does not become idle: {:?}", self.status());
    }

    /// Terminates the `nth` active pod.
    fn finish_pod(&mut self, nth: usize, well: bool) {
        let active: Vec<_> = self
            .pods
            .iter()
            .filter(|p| pods::is_active(p))
            .cloned()
            .collect();
        let Some(pod) = active.get(nth % active.len().max(1)) else {
            return;
        };
        let phase = if well { "Succeeded" } else { "Failed" };
        self.change(pod, |p| {
            p.status = Some(PodStatus {
                phase: Some(phase.into()),
                ..PodStatus::default()
            });
        });
        if well {
            self.succeeded += 1;
        } else {
            self.failed += 1;
        }
    }
}

fn self_now(pod: &Pod) -> Timestamp {
    pods::created(pod).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn spec(indexed: bool, completions: i32, parallelism: i32, limit: i32) -> JobSpec {
    JobSpec {
        completion_mode: Some(if indexed { "Indexed" } else { "NonIndexed" }.into()),
        completions: Some(completions),
        parallelism: Some(parallelism),
        backoff_limit: Some(limit),
        template: PodTemplateSpec {
            metadata: None,
            spec: Some(PodSpec {
                restart_policy: Some("Never".into()),
                ..PodSpec::default()
            }),
        },
        ..JobSpec::default()
    }
}

fn check(simulated: &SimulatedJob) -> Result<(), TestCaseError> {
    let status = simulated.status();
    let active = simulated.pods.iter().filter(|p| pods::is_active(p)).count() as i32;
    prop_assert_eq!(status.active.unwrap_or(0), active);
    let Some(spec) = &simulated.job.spec else {
        return Ok(());
    };
    prop_assert!(active <= spec.parallelism.unwrap_or(1));
    if spec.suspend == Some(true) {
        prop_assert_eq!(active, 0);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_pod_is_counted_once(
        indexed in any::<bool>(),
        completions in 1..12i32,
        parallelism in 1..8i32,
        limit in 0..4i32,
        story in prop::collection::vec((0..10usize, 0..20u8), 1..60),
    ) {
        let mut simulated = SimulatedJob::new(spec(indexed, completions, parallelism, limit));
        for (nth, what) in story {
            let suspended = simulated.job.spec.as_ref().unwrap().suspend == Some(true);
            match what {
                0 => simulated.job.spec.as_mut().unwrap().suspend = Some(!suspended),
                1..=3 => simulated.finish_pod(nth, false),
                _ => simulated.finish_pod(nth, true),
            }
            simulated.sync_until_stable();
            check(&simulated)?;
        }
        simulated.job.spec.as_mut().unwrap().suspend = Some(false);
        for _ in 0..200 {
            simulated.sync_until_stable();
            simulated.finish_pod(0, true);
        }
        let status = simulated.status();
        prop_assert!(conditions::is_finished(&simulated.job), "{status:?}");
        let failed = conditions::find_true(&status, conditions::FAILED).is_some();
        prop_assert_eq!(failed, status.failed.unwrap_or(0) > limit);
        if failed {
            // Pods that were active when the Job failed count as failed.
            prop_assert!(status.failed.unwrap_or(0) >= simulated.failed);
            prop_assert_eq!(status.succeeded.unwrap_or(0), simulated.succeeded);
        } else {
            prop_assert_eq!(status.failed.unwrap_or(0), simulated.failed);
            prop_assert_eq!(status.succeeded, Some(completions));
        }
        prop_assert_eq!((status.active, status.terminating), (None, Some(0)));
        prop_assert_eq!(status.uncounted_terminated_pods, Some(Default::default()));
        prop_assert!(simulated.pods.iter().all(|p| p.finalizers().is_empty()));
    }
}

#[test]
fn a_failed_index_does_not_stop_the_others() {
    let mut spec = spec(true, 3, 3, 100);
    spec.backoff_limit_per_index = Some(1);
    let mut simulated = SimulatedJob::new(spec);
    simulated.sync_until_stable();
    for _ in 0..2 {
        let second = simulated
            .pods
            .iter()
            .position(|p| pods::is_active(p) && p.annotations()[COMPLETION_INDEX] == "1");
        let active = simulated.pods[..second.unwrap()]
            .iter()
            .filter(|p| pods::is_active(p))
            .count();
        simulated.finish_pod(active, false);
        simulated.sync_until_stable();
    }
    assert_eq!(simulated.status().failed_indexes.as_deref(), Some("1"));
    simulated.finish_pod(0, true);
    simulated.finish_pod(0, true);
    simulated.sync_until_stable();
    let status = simulated.status();
    assert_eq!(status.completed_indexes.as_deref(), Some("0,2"));
    let failed = conditions::find_true(&status, conditions::FAILED).unwrap();
    assert_eq!(failed.reason.as_deref(), Some("FailedIndexes"));
    let retried = simulated
        .pods
        .iter()
        .filter(|p| p.annotations()[COMPLETION_INDEX] == "1");
    let counts: Vec<&str> = retried
        .map(|p| p.annotations()[INDEX_FAILURES].as_str())
        .collect();
    assert_eq!(counts, ["0", "1"]);
}

#[test]
fn success_policy_finishes_a_job_early() {
    let mut spec = spec(true, 4, 4, 6);
    spec.success_policy = serde_json::from_value(serde_json::json!({
        "rules": [{"succeededIndexes": "0,2"}, {"succeededCount": 3}]
    }))
    .unwrap();
    let mut simulated = SimulatedJob::new(spec);
    simulated.sync_until_stable();
    simulated.finish_pod(0, true);
    simulated.sync_until_stable();
    assert!(!conditions::is_finished(&simulated.job));
    simulated.finish_pod(1, true);
    simulated.sync_until_stable();
    let status = simulated.status();
    let complete = conditions::find_true(&status, conditions::COMPLETE).unwrap();
    assert_eq!(complete.reason.as_deref(), Some("SuccessPolicy"));
    assert_eq!(
        complete.message.as_deref(),
        Some("Matched rules at index 0")
    );
    assert_eq!(status.completed_indexes.as_deref(), Some("0,2"));
    // Active pods do not count as failed.
    assert_eq!(status.failed, None);
}
