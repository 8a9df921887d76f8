//! The life of one job: launch, look after, recover, end.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::Inner;
use super::backoff::Backoff;
use super::cluster::{PodFacts, Remote};
use super::launching::launch;
use super::state::{SchedState, Status};
use crate::naming::{cluster_name_on_cloud, managed_cluster_name};
use crate::{Cluster, Recovery, Run, Strategy, Task};

/// Launches the first part of a FAILOVER recovery tries in place.
const IN_PLACE_LAUNCHES: u32 = 3;
/// What a job that failed by itself is given before the cluster is looked at.
const FAILURE_GRACE: Duration = Duration::from_secs(5);
/// Teardowns tried before one is given up.
const TEARDOWNS: u32 = 6;

/// Drives one job to its end.
pub(super) struct Driver {
    inner: Arc<Inner>,
    id: u64,
    task: Task,
    /// The cluster's name as SkyPilot's commands show it.
    cluster: String,
    /// The same in Kubernetes.
    on_cloud: String,
    cancel: CancellationToken,
    restarts: u32,
}

/// A launched cluster with the job on it.
struct OnCluster {
    recovery: Recovery,
    pods: usize,
    /// When the commands end; `None` for never.
    ends: Option<Timestamp>,
}

/// What a look at a running job says.
enum Look {
    Runs,
    Ended(u8),
    /// No command can be run on the head.
    Silent,
}

impl Driver {
    pub(super) fn new(
        inner: Arc<Inner>,
        id: u64,
        name: String,
        task: Task,
        cancel: CancellationToken,
    ) -> Self {
        let cluster = managed_cluster_name(&name, id);
        Self {
            on_cloud: cluster_name_on_cloud(&cluster, &inner.env.user_hash),
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
            () = self.live() => return,
        }
        // The lab stops: what runs stays as it is. A person cancelled: it goes.
        if !self.inner.stop.is_cancelled() {
            self.tear_down().await;
            self.go(Status::Cancelled, "Job has been cancelled");
        }
    }

    async fn live(&mut self) {
        {
            let _slot = self.inner.launches.acquire().await;
            self.go(Status::Starting, "Job is starting");
        }
        let Some(mut job) = self.launch_until(None, false).await else {
            return;
        };
        self.go(Status::Running, "Job has started");
        loop {
            self.inner.clock.sleep(self.inner.timing.status_check).await;
            let look = self.look(&job).await;
            match look {
                Look::Ended(0) => {
                    self.go(Status::Succeeded, "Job succeeded");
                    self.tear_down().await;
                    return;
                }
                Look::Runs if self.task.num_nodes == 1 => continue,
                Look::Ended(_) => self.inner.clock.sleep(FAILURE_GRACE).await,
                Look::Runs | Look::Silent => {}
            }
            let Some(trouble) = self.trouble(&job).await else {
                continue;
            };
            match (trouble, look) {
                (Some(reason), _) => self.go(Status::Recovering, &reason),
                (None, Look::Ended(code)) => {
                    if !self.restart_after(code, &job.recovery) {
                        self.tear_down().await;
                        return;
                    }
                }
                (None, _) => continue,
            }
            job = self.recover(job.recovery.strategy).await;
            self.inner.update(self.id, |record, _| record.recovered());
            self.go(Status::Running, "Job has recovered");
        }
    }

    /// What the job's own commands say, asked on the head.
    async fn look(&self, job: &OnCluster) -> Look {
        let pods = self.remote().list().await.unwrap_or_default();
        let head = format!("{}-head", self.on_cloud);
        let answers = pods
            .iter()
            .any(|p| p.metadata.name.as_deref() == Some(&head) && p.answers_exec());
        if !answers {
            return Look::Silent;
        }
        match job.ends {
            Some(end) if self.inner.clock.now() >= end => Look::Ended(self.commands().exit_code),
            _ => Look::Runs,
        }
    }

    /// What is wrong with the Pods: `None` when the cluster could not be asked, `Some(None)` when
    /// nothing is.
    async fn trouble(&self, job: &OnCluster) -> Option<Option<String>> {
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

    /// Whether a job that failed by itself is started again; otherwise it is over.
    fn restart_after(&mut self, code: u8, recovery: &Recovery) -> bool {
        let said = format!("Job exited with exit code {code}");
        let logs = format!("run: sky jobs logs --controller {}", self.id);
        if recovery.recover_on_exit_codes.contains(&code) {
            let detail = format!("exit code(s) [{code}] matched recover_on_exit_codes");
            let text = format!(
                "{said}. Restarting the job ({detail}). To see the job error output, {logs}"
            );
            self.go(Status::Recovering, &text);
            return true;
        }
        if self.restarts < recovery.max_restarts_on_errors {
            self.restarts += 1;
            let detail = format!(
                "restart {} of {} on errors",
                self.restarts, recovery.max_restarts_on_errors
            );
            let text = format!(
                "{said}. Restarting the job ({detail}). To see the job error output, {logs}"
            );
            self.go(Status::Recovering, &text);
            return true;
        }
        let text = format!("{said} (user program failure). To see the details, {logs}");
        self.go(Status::Failed, &text);
        false
    }

    /// Launches again until it works.
    async fn recover(&mut self, strategy: Strategy) -> OnCluster {
        loop {
            if strategy == Strategy::Failover
                && let Some(job) = self.launch_until(Some(IN_PLACE_LAUNCHES), true).await
            {
                return job;
            }
            self.tear_down().await;
            let most = self.inner.timing.recovery_launches;
            if let Some(job) = self.launch_until(Some(most), true).await {
                return job;
            }
            self.inner
                .clock
                .sleep(self.inner.timing.retry_backoff)
                .await;
        }
    }

    /// Launches up to `most` times, with a rest after each failure; `None` when none worked.
    async fn launch_until(&mut self, most: Option<u32>, recovering: bool) -> Option<OnCluster> {
        let mut backoff = Backoff::new(self.inner.timing.retry_backoff);
        let mut tried = 0;
        loop {
            tried += 1;
            {
                let inner = self.inner.clone();
                let _slot = inner.launches.acquire().await;
                if tried > 1 {
                    let status = match recovering {
                        true => Status::Recovering,
                        false => Status::Starting,
                    };
                    self.go(status, "Job is restarting");
                }
                match launch(&inner, self.id, &self.cluster, &self.task).await {
                    Ok(cluster) => {
                        if let Some(job) = self.submit(&cluster).await {
                            return Some(job);
                        }
                    }
                    Err(error) => {
                        tracing::info!(job = self.id, "launch interrupted: {error}");
                        self.inner.update(self.id, |record, _| {
                            record.details(&format!("Launch interrupted: {error}"));
                        });
                    }
                }
                self.tear_down().await;
            }
            if most.is_some_and(|most| tried >= most) {
                return None;
            }
            self.go(Status::Pending, "Job is in backoff");
            self.inner
                .update(self.id, |record, _| record.sched(SchedState::AliveBackoff));
            let rest = backoff.next(&self.inner.entropy);
            self.inner.clock.sleep(rest).await;
        }
    }

    /// Hands the commands to the head, if the cluster is still whole.
    async fn submit(&self, cluster: &Cluster) -> Option<OnCluster> {
        let pods = self.remote().list().await.ok()?;
        let whole = pods.len() >= cluster.pod_names.len() && pods.iter().all(PodFacts::is_running);
        let now = self.inner.clock.now();
        whole.then(|| OnCluster {
            recovery: cluster.recovery.clone(),
            pods: cluster.pod_names.len(),
            ends: self
                .commands()
                .takes
                .and_then(|takes| now.checked_add(SignedDuration::try_from(takes).ok()?).ok()),
        })
    }

    async fn tear_down(&self) {
        let mut rest = self.inner.timing.status_check;
        for _ in 0..TEARDOWNS {
            match self.remote().tear_down().await {
                Ok(()) => return,
                Err(error) => tracing::info!(job = self.id, "teardown failed: {error}"),
            }
            self.inner.clock.sleep(rest).await;
            rest = rest.mul_f64(1.6);
        }
    }

    fn commands(&self) -> Run {
        Run::of(self.task.setup.as_deref(), self.task.run.as_deref())
    }

    fn remote(&self) -> Remote<'_> {
        Remote {
            client: &self.inner.client,
            namespace: &self.inner.env.namespace,
            cluster: &self.on_cloud,
        }
    }

    fn go(&self, status: Status, reason: &str) {
        self.inner
            .update(self.id, |record, now| record.go(status, reason, now));
    }
}
