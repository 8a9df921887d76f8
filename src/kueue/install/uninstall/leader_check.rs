//! Detects a running leader by its Lease.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use tokio::time::Instant;

use crate::{InstallError, Installer};

/// Timeout for a leader to stop; longer than a lease duration.
const LEADER_STOP_TIMEOUT: Duration = Duration::from_secs(30);

const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The largest clock skew that is tolerated.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);

impl Installer {
    /// The current leader, if any: the holder that renews its Lease within the lease duration.
    ///
    /// # Errors
    /// Permissions are missing or the API server is unavailable.
    pub async fn leader(&self) -> Result<Option<String>, InstallError> {
        let mut first = None;
        let start = Instant::now();
        loop {
            let leases = self.held_leases().await?;
            let Some(lease) = leases.into_iter().next() else {
                return Ok(None);
            };
            let before = first.get_or_insert_with(|| lease.clone());
            if !before.is_same_record(&lease) {
                return Ok(Some(lease.holder));
            }
            if start.elapsed() > self.clock.to_wall(before.lease_duration) {
                return Ok(None);
            }
            self.clock.sleep(POLL_INTERVAL).await;
        }
    }

    /// The Leases with a holder.
    async fn held_leases(&self) -> Result<Vec<HeldLease>, InstallError> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), &self.namespace);
        let leases = match api.list(&ListParams::default()).await {
            Ok(leases) => leases.items,
            Err(error) if is_not_found(&error) => return Ok(Vec::new()),
            Err(error) => {
                let what = "leases.coordination.k8s.io".to_owned();
                return Err(InstallError::of("list", what, error));
            }
        };
        let now = self.clock.now();
        let leases = leases.iter().filter_map(|lease| HeldLease::of(lease, now));
        Ok(leases.collect())
    }

    /// Waits until there is no leader. A holder that did not renew its Lease for a lease duration,
    /// measured locally, does not count.
    pub(super) async fn wait_until_no_leader(&self) -> Result<(), InstallError> {
        let mut seen: Vec<HeldLease> = Vec::new();
        let start = Instant::now();
        loop {
            let leases = self.held_leases().await?;
            let leases: Vec<HeldLease> = leases
                .into_iter()
                .map(
                    |lease| match seen.iter().find(|s| s.is_same_record(&lease)) {
                        Some(before) => before.clone(),
                        None => lease,
                    },
                )
                .filter(|lease| lease.since.elapsed() <= self.clock.to_wall(lease.lease_duration))
                .collect();
            let Some(leader) = leases.first() else {
                return Ok(());
            };
            if start.elapsed()
                > self
                    .clock
                    .to_wall(LEADER_STOP_TIMEOUT.max(leader.lease_duration * 2))
            {
                return Err(InstallError::ControllerRunning(leader.holder.clone()));
            }
            seen = leases;
            self.clock.sleep(POLL_INTERVAL).await;
        }
    }
}

/// A Lease with a holder, as observed.
#[derive(Clone, Debug)]
struct HeldLease {
    name: Option<String>,
    holder: String,
    renewed: Timestamp,
    lease_duration: Duration,
    /// The time at which this record was first observed.
    since: Instant,
}

impl HeldLease {
    /// None without a holder, or if the last renewal is older than [`MAX_CLOCK_SKEW`].
    fn of(lease: &Lease, now: Timestamp) -> Option<Self> {
        let spec = lease.spec.as_ref()?;
        let holder = spec.holder_identity.clone().filter(|h| !h.is_empty())?;
        let renewed = spec.renew_time.as_ref()?.0;
        let seconds = spec.lease_duration_seconds.unwrap_or(15);
        let lease_duration = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        if now.duration_since(renewed) > MAX_CLOCK_SKEW {
            return None;
        }
        Some(Self {
            name: lease.metadata.name.clone(),
            holder,
            renewed,
            lease_duration,
            since: Instant::now(),
        })
    }

    fn is_same_record(&self, other: &Self) -> bool {
        let key = |l: &Self| (l.name.clone(), l.holder.clone(), l.renewed);
        key(self) == key(other)
    }
}
