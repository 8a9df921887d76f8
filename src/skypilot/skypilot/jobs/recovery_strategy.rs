//! Launch and recovery of a managed job, with SkyPilot's strategies EAGER_NEXT_REGION and FAILOVER.

use super::backoff::Backoff;
use super::job_controller::{JobController, LaunchedJob};
use super::provision::launch;
use super::state::{ManagedJobScheduleState, ManagedJobStatus};
use crate::RecoveryStrategy;

/// In-place launches at the start of a FAILOVER recovery.
const IN_PLACE_LAUNCHES: u32 = 3;

impl JobController {
    /// Relaunches until a launch succeeds.
    pub(super) async fn recover(&mut self, strategy: RecoveryStrategy) -> LaunchedJob {
        loop {
            if strategy == RecoveryStrategy::Failover
                && let Some(job) = self
                    .launch_with_retries(Some(IN_PLACE_LAUNCHES), true)
                    .await
            {
                return job;
            }
            self.tear_down().await;
            let most = self.inner.timing.recovery_launches;
            if let Some(job) = self.launch_with_retries(Some(most), true).await {
                return job;
            }
            self.inner
                .clock
                .sleep(self.inner.timing.retry_backoff)
                .await;
        }
    }

    /// Launches up to `max_launches` times with backoff; `None` if all launches failed.
    pub(super) async fn launch_with_retries(
        &mut self,
        max_launches: Option<u32>,
        recovering: bool,
    ) -> Option<LaunchedJob> {
        let mut backoff = Backoff::new(self.inner.timing.retry_backoff);
        let mut tried = 0;
        loop {
            tried += 1;
            {
                let inner = self.inner.clone();
                let _slot = inner.launches.acquire().await;
                if tried > 1 {
                    let status = match recovering {
                        true => ManagedJobStatus::Recovering,
                        false => ManagedJobStatus::Starting,
                    };
                    self.set_status(status, "Job is restarting");
                }
                match launch(&inner, self.id, &self.cluster, &self.task, &self.env).await {
                    Ok(cluster) => {
                        if let Some(job) = self.submit(&cluster).await {
                            return Some(job);
                        }
                    }
                    Err(error) => {
                        tracing::info!(job = self.id, "launch interrupted: {error}");
                        self.inner.update(self.id, |record, _| {
                            record.set_details(&format!("Launch interrupted: {error}"));
                        });
                    }
                }
                self.tear_down().await;
            }
            if max_launches.is_some_and(|most| tried >= most) {
                return None;
            }
            self.set_status(ManagedJobStatus::Pending, "Job is in backoff");
            self.inner.update(self.id, |record, _| {
                record.set_schedule_state(ManagedJobScheduleState::AliveBackoff)
            });
            let rest = backoff.next(&self.inner.entropy);
            self.inner.clock.sleep(rest).await;
        }
    }
}
