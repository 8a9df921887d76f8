//! The controller of one managed job: launches and monitors its cluster, recovers or finishes the
//! job.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::managed_jobs::JobsControllerState;
use super::state::ManagedJobStatus;
use crate::clusters::{ClusterClient, PodExt};
use crate::naming::{cluster_name_on_cloud, managed_cluster_name};
use crate::{ClusterPlan, JobRecovery, SimulatedRun, SkyEnv, Task};

/// The delay between a failure of the job and the check of its cluster.
const FAILURE_GRACE: Duration = Duration::from_secs(5);
/// The maximum number of teardown attempts.
const MAX_TEARDOWN_ATTEMPTS: u32 = 6;

/// Runs one job to its end (SkyPilot's `JobController`).
pub(super) struct JobController {
    pub(super) inner: Arc<JobsControllerState>,
    pub(super) id: u64,
    pub(super) task: Task,
    /// The display name of the cluster.
    pub(super) cluster: String,
    /// The name of the cluster in Kubernetes.
    cluster_name_on_cloud: String,
    /// User and configuration at the submission.
    pub(super) env: SkyEnv,
    cancel: CancellationToken,
    restarts: u32,
}

/// A launched cluster with the job on it.
pub(super) struct LaunchedJob {
    recovery: JobRecovery,
    pods: usize,
    /// The end of the commands; `None` for never.
    ends_at: Option<Timestamp>,
}

/// The result of a status check.
enum JobCheck {
    Running,
    Exited(u8),
    /// No command can be run on the head.
    Unreachable,
}

impl JobController {
    pub(super) fn new(
        inner: Arc<JobsControllerState>,
        id: u64,
        name: String,
        task: Task,
        env: SkyEnv,
        cancel: CancellationToken,
    ) -> Self {
        let cluster = managed_cluster_name(&name, id);
        Self {
            cluster_name_on_cloud: cluster_name_on_cloud(&cluster, &env.user_hash),
            env,
            inner,
            id,
            task,
            cluster,
            cancel,
            restarts: 0,
        }
    }

    pub(super) async fn run(mut self) {
        let cancel = self.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = self.run_to_completion() => return,
        }
        // If the lab stops, the cluster stays. If the user cancelled, it is deleted.
        if !self.inner.stop.is_cancelled() {
            self.tear_down().await;
            self.set_status(ManagedJobStatus::Cancelled, "Job has been cancelled");
        }
    }

    async fn run_to_completion(&mut self) {
        {
            let _slot = self.inner.launches.acquire().await;
            self.set_status(ManagedJobStatus::Starting, "Job is starting");
        }
        let Some(mut job) = self.launch_with_retries(None, false).await else {
            return;
        };
        self.set_status(ManagedJobStatus::Running, "Job has started");
        loop {
            self.inner.clock.sleep(self.inner.timing.status_check).await;
            let check = self.check_job(&job).await;
            match check {
                JobCheck::Exited(0) => {
                    self.set_status(ManagedJobStatus::Succeeded, "Job succeeded");
                    self.tear_down().await;
                    return;
                }
                JobCheck::Running if self.task.num_nodes == 1 => continue,
                JobCheck::Exited(_) => self.inner.clock.sleep(FAILURE_GRACE).await,
                JobCheck::Running | JobCheck::Unreachable => {}
            }
            let Some(failure) = self.cluster_failure(&job).await else {
                continue;
            };
            match (failure, check) {
                (Some(reason), _) => self.set_status(ManagedJobStatus::Recovering, &reason),
                (None, JobCheck::Exited(code)) => {
                    if !self.should_restart(code, &job.recovery) {
                        self.tear_down().await;
                        return;
                    }
                }
                (None, _) => continue,
            }
            job = self.recover(job.recovery.strategy).await;
            self.inner
                .update(self.id, |record, _| record.increment_recoveries());
            self.set_status(ManagedJobStatus::Running, "Job has recovered");
        }
    }

    /// Checks the job's process on the head node.
    async fn check_job(&self, job: &LaunchedJob) -> JobCheck {
        let pods = self.remote().list().await.unwrap_or_default();
        let head = format!("{}-head", self.cluster_name_on_cloud);
        let can_exec = pods
            .iter()
            .any(|p| p.metadata.name.as_deref() == Some(&head) && p.can_exec());
        if !can_exec {
            return JobCheck::Unreachable;
        }
        match job.ends_at {
            Some(end) if self.inner.clock.now() >= end => {
                JobCheck::Exited(self.commands().exit_code)
            }
            _ => JobCheck::Running,
        }
    }

    /// The failure of the Pods: `None` if the cluster cannot be reached, `Some(None)` if there is no
    /// failure.
    async fn cluster_failure(&self, job: &LaunchedJob) -> Option<Option<String>> {
        let pods = self.remote().list().await.ok()?;
        let bad: Vec<String> = pods
            .iter()
            .filter(|p| !p.is_running())
            .map(|p| {
                let name = p.metadata.name.as_deref().unwrap_or_default();
                format!("{name} is not ready ({})", p.termination_reason())
            })
            .collect();
        if !bad.is_empty() {
            return Some(Some(format!(
                "Cluster is abnormal because {}",
                bad.join(", ")
            )));
        }
        let lost = pods.len() < job.pods;
        Some(lost.then(|| "Cluster preempted or failed, recovering".to_owned()))
    }

    /// Whether a failed job is restarted; otherwise it is final.
    fn should_restart(&mut self, code: u8, recovery: &JobRecovery) -> bool {
        let message = format!("Job exited with exit code {code}");
        let logs = format!("run: sky jobs logs --controller {}", self.id);
        if recovery.recover_on_exit_codes.contains(&code) {
            let detail = format!("exit code(s) [{code}] matched recover_on_exit_codes");
            let text = format!(
                "{message}. Restarting the job ({detail}). To see the job error output, {logs}"
            );
            self.set_status(ManagedJobStatus::Recovering, &text);
            return true;
        }
        if self.restarts < recovery.max_restarts_on_errors {
            self.restarts += 1;
            let detail = format!(
                "restart {} of {} on errors",
                self.restarts, recovery.max_restarts_on_errors
            );
            let text = format!(
                "{message}. Restarting the job ({detail}). To see the job error output, {logs}"
            );
            self.set_status(ManagedJobStatus::Recovering, &text);
            return true;
        }
        let text = format!("{message} (user program failure). To see the details, {logs}");
        self.set_status(ManagedJobStatus::Failed, &text);
        false
    }

    /// Starts the commands on the head node if all Pods still run.
    pub(super) async fn submit(&self, cluster: &ClusterPlan) -> Option<LaunchedJob> {
        let pods = self.remote().list().await.ok()?;
        let whole = pods.len() >= cluster.pod_names.len() && pods.iter().all(PodExt::is_running);
        let now = self.inner.clock.now();
        if whole {
            self.inner.update(self.id, |record, now| {
                record.set_output(&self.task, cluster, now);
            });
        }
        whole.then(|| LaunchedJob {
            recovery: cluster.recovery.clone(),
            pods: cluster.pod_names.len(),
            ends_at: self
                .commands()
                .duration
                .and_then(|takes| now.checked_add(SignedDuration::try_from(takes).ok()?).ok()),
        })
    }

    pub(super) async fn tear_down(&self) {
        let mut rest = self.inner.timing.status_check;
        for _ in 0..MAX_TEARDOWN_ATTEMPTS {
            match self.remote().tear_down().await {
                Ok(()) => return,
                Err(error) => tracing::info!(job = self.id, "teardown failed: {error}"),
            }
            self.inner.clock.sleep(rest).await;
            rest = rest.mul_f64(1.6);
        }
    }

    fn commands(&self) -> SimulatedRun {
        SimulatedRun::of(&self.task)
    }

    fn remote(&self) -> ClusterClient<'_> {
        ClusterClient {
            client: &self.inner.client,
            namespace: &self.env.namespace,
            cluster: &self.cluster_name_on_cloud,
        }
    }

    pub(super) fn set_status(&self, status: ManagedJobStatus, reason: &str) {
        self.inner.update(self.id, |record, now| {
            record.set_status(status, reason, now)
        });
    }
}
