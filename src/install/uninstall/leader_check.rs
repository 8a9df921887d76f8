//! Detects a running leader by its Lease.

use crate::{InstallError, Installer};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::ListParams;
use std::time::Duration;
use tokio::time::Instant;

/// Somebody who leads is waited for this long to stop: longer than a lease lasts.
const LEADER_STOP_TIMEOUT: Duration = Duration::from_secs(30);

const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Clocks are not further apart than this.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(15);

impl Installer {
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
    pub(super) async fn wait_until_no_leader(&self) -> Result<(), InstallError> {
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
