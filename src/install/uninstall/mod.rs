//! The way back: everything that was installed goes, and what Kueue held back can run.
//!
//! The order matters. Webhooks go first, since nobody may answer them any more; then whoever runs
//! the controller, since it would hold everything back again; then jobs and pods are let go, while
//! their Workloads still tell which ones somebody stopped on purpose; then finalizers, which only
//! the controller would take off; then the kinds, and all objects of them.

mod delete_resources;
mod resume_jobs;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kueue_lab_runtime::Api;
use tokio::time::Instant;

use super::{InstallError, Installer, webhook_configurations};

/// Somebody who leads is waited for this long to stop: longer than a lease lasts.
const LEADER_STOP_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Clocks are not further apart than this.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);

/// What was done, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UninstallReport {
    /// Webhook configurations removed.
    pub webhooks: usize,
    /// Jobs that can run again, as `kind namespace/name`.
    pub jobs: Vec<String>,
    /// Pods that can be scheduled again, as `namespace/name`.
    pub pods: Vec<String>,
    /// Objects whose finalizer was taken off.
    pub finalizers: usize,
    /// Definitions removed, with all objects of the kind.
    pub definitions: Vec<String>,
    /// Further objects removed, as `kind name`.
    pub objects: Vec<String>,
    /// What stays as it is, and why.
    pub kept: Vec<String>,
}

impl UninstallReport {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The report for people, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut count = |n: usize, what: &str| {
            if n > 0 {
                lines.push(format!("{what}: {n}"));
            }
        };
        count(self.webhooks, "webhook configurations removed");
        count(self.finalizers, "finalizers taken off");
        lines.extend(self.jobs.iter().map(|job| format!("can run: {job}")));
        lines.extend(
            self.pods
                .iter()
                .map(|pod| format!("can be scheduled: pod {pod}")),
        );
        lines.extend(
            self.definitions
                .iter()
                .map(|d| format!("removed: kind {d}")),
        );
        lines.extend(self.objects.iter().map(|o| format!("removed: {o}")));
        lines.extend(self.kept.iter().map(|left| format!("left: {left}")));
        lines
    }
}

impl Installer {
    /// Removes everything that was installed and lets go of what was held back. Can be repeated
    /// after it failed half-way.
    ///
    /// # Errors
    /// Somebody runs the controller, rights are missing, or the cluster does not answer.
    pub async fn uninstall(&self) -> Result<UninstallReport, InstallError> {
        let (client, clock) = (&self.client, &self.clock);
        let mut report = UninstallReport::default();
        // Whoever runs outside the cluster has to be asked before anything is taken from under it.
        delete_resources::delete_controller_deployment(client, &self.namespace, &mut report)
            .await?;
        self.wait_until_no_leader().await?;
        report.webhooks = webhook_configurations::remove(client).await?;
        resume_jobs::resume_jobs_and_pods(client, &mut report).await?;
        delete_resources::delete_crds(client, clock, &mut report).await?;
        delete_resources::delete_managed_objects(client, clock, &self.namespace, &mut report)
            .await?;
        Ok(report)
    }

    /// Who leads, if anybody does: whoever is seen to renew their lease before it is over.
    ///
    /// # Errors
    /// Rights are missing or the cluster does not answer.
    pub async fn leader(&self) -> Result<Option<String>, InstallError> {
        let mut first = None;
        let begun = Instant::now();
        loop {
            let led = self.held_leases().await?;
            let Some(leading) = led.into_iter().next() else {
                return Ok(None);
            };
            let before = first.get_or_insert_with(|| leading.clone());
            if !before.is_same_record(&leading) {
                return Ok(Some(leading.holder));
            }
            if begun.elapsed() > self.clock.to_wall(before.lease_duration) {
                return Ok(None);
            }
            self.clock.sleep(POLL_INTERVAL).await;
        }
    }

    /// The leases that somebody holds.
    async fn held_leases(&self) -> Result<Vec<HeldLease>, InstallError> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), &self.namespace);
        let leases = match api.list(&ListParams::default()).await {
            Ok(leases) => leases.items,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
            Err(error) => {
                let what = "leases.coordination.k8s.io".to_owned();
                return Err(InstallError::of("list", what, error));
            }
        };
        let now = self.clock.now();
        let led = leases.iter().filter_map(|lease| HeldLease::of(lease, now));
        Ok(led.collect())
    }

    /// Waits until nobody leads. Somebody whose lease was not seen to be renewed for as long as it
    /// lasts does not, whatever the clocks say.
    async fn wait_until_no_leader(&self) -> Result<(), InstallError> {
        let mut seen: Vec<HeldLease> = Vec::new();
        let begun = Instant::now();
        loop {
            let led = self.held_leases().await?;
            let led: Vec<HeldLease> = led
                .into_iter()
                .map(
                    |leading| match seen.iter().find(|s| s.is_same_record(&leading)) {
                        Some(before) => before.clone(),
                        None => leading,
                    },
                )
                .filter(|leading| {
                    leading.since.elapsed() <= self.clock.to_wall(leading.lease_duration)
                })
                .collect();
            let Some(leader) = led.first() else {
                return Ok(());
            };
            if begun.elapsed()
                > self
                    .clock
                    .to_wall(LEADER_STOP_TIMEOUT.max(leader.lease_duration * 2))
            {
                return Err(InstallError::ControllerRunning(leader.holder.clone()));
            }
            seen = led;
            self.clock.sleep(POLL_INTERVAL).await;
        }
    }
}

/// A lease that somebody holds, as it was seen.
#[derive(Clone, Debug)]
struct HeldLease {
    name: Option<String>,
    holder: String,
    renewed: Timestamp,
    lease_duration: Duration,
    /// Since when it looks like this.
    since: Instant,
}

impl HeldLease {
    /// Nothing where nobody holds it, or nobody can have renewed it for a long time.
    fn of(lease: &Lease, now: Timestamp) -> Option<Self> {
        let spec = lease.spec.as_ref()?;
        let holder = spec.holder_identity.clone().filter(|h| !h.is_empty())?;
        let renewed = spec.renew_time.as_ref()?.0;
        let seconds = spec.lease_duration_seconds.unwrap_or(15);
        let lasts = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        if now.duration_since(renewed) > MAX_CLOCK_SKEW {
            return None;
        }
        Some(Self {
            name: lease.metadata.name.clone(),
            holder,
            renewed,
            lease_duration: lasts,
            since: Instant::now(),
        })
    }

    fn is_same_record(&self, other: &Self) -> bool {
        let key = |l: &Self| (l.name.clone(), l.holder.clone(), l.renewed);
        key(self) == key(other)
    }
}
