//! The leader elector: acquires, renews and releases a Lease.

use super::leader_election_record::LeaderElectionRecord;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use kueue_lab_runtime::api_errors::{is_namespace_terminating, is_not_found};
use std::time::Duration;
use tokio::time::Instant;

/// How an election is held.
#[derive(Clone, Debug)]
pub struct LeaderElectionConfig {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who takes part; no two instances may have the same.
    pub identity: String,
    /// How long a leader may be silent.
    pub lease_duration: Duration,
    /// How long a leader tries to renew before it gives up; shorter than `lease_duration`.
    pub renew_deadline: Duration,
    /// How often is tried.
    pub retry_period: Duration,
}

impl LeaderElectionConfig {
    /// With the times of client-go: 15 s, 10 s and 2 s.
    pub fn new(
        namespace: impl Into<String>,
        name: impl Into<String>,
        identity: impl Into<String>,
    ) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// What came of a try.
#[derive(Debug, PartialEq, Eq)]
enum AcquireResult {
    /// The lease is ours.
    Acquired,
    /// It is somebody else's.
    HeldByOther,
    /// There is no telling: a conflict, or the cluster does not answer.
    Unknown,
    /// The namespace of the lease is not there, or about to go.
    NamespaceMissing,
}

/// There is no election, since the namespace of the Lease is not there, or about to go.
#[derive(Debug, PartialEq, Eq)]
pub struct NamespaceMissing;

/// A part in an election.
pub struct LeaderElector {
    api: Api<Lease>,
    clock: Clock,
    entropy: Entropy,
    config: LeaderElectionConfig,
    /// The Lease as last seen, and when it was seen to have changed.
    observed: Option<(Lease, Instant)>,
}

impl LeaderElector {
    /// Takes part.
    pub fn new(
        client: Client,
        clock: Clock,
        entropy: Entropy,
        config: LeaderElectionConfig,
    ) -> Self {
        Self {
            api: Api::namespaced(client, &config.namespace),
            clock,
            entropy,
            config,
            observed: None,
        }
    }

    /// Who leads, as far as was seen.
    pub fn leader(&self) -> Option<String> {
        let (lease, _) = self.observed.as_ref()?;
        LeaderElectionRecord::from_lease(lease).holder_identity
    }

    /// Whether this one leads, as far as was seen.
    pub fn is_leader(&self) -> bool {
        self.leader()
            .is_some_and(|leader| leader == self.config.identity)
    }

    /// Waits until this one leads. Calls `others` with the name whenever somebody else is seen to.
    ///
    /// # Errors
    /// The namespace is missing: there will be no election until somebody makes it.
    pub async fn acquire(&mut self, mut others: impl FnMut(&str)) -> Result<(), NamespaceMissing> {
        let mut told = None;
        loop {
            let deadline = Instant::now() + self.clock.to_wall(self.config.renew_deadline);
            match self.try_with_timeout(deadline).await {
                AcquireResult::Acquired => return Ok(()),
                AcquireResult::NamespaceMissing => return Err(NamespaceMissing),
                AcquireResult::HeldByOther | AcquireResult::Unknown => {}
            }
            let leader = self.leader().filter(|l| *l != self.config.identity);
            if leader != told {
                leader.iter().for_each(|leader| others(leader));
                told = leader;
            }
            // Spread out, so that those who wait do not all come at once.
            let pause = self
                .config
                .retry_period
                .mul_f64(1.0 + 1.2 * self.entropy.unit());
            self.clock.sleep(pause).await;
        }
    }

    /// Stays the leader; returns when it is not any more, in time before anybody else can be.
    pub async fn renew(&mut self) {
        let mut renewed = Instant::now();
        loop {
            self.clock.sleep(self.config.retry_period).await;
            let deadline = renewed + self.clock.to_wall(self.config.renew_deadline);
            let begun = Instant::now();
            match self.try_with_timeout(deadline).await {
                // What was asked for is good from when it was asked for.
                AcquireResult::Acquired => renewed = begun,
                AcquireResult::HeldByOther => return,
                AcquireResult::Unknown | AcquireResult::NamespaceMissing
                    if Instant::now() >= deadline =>
                {
                    return;
                }
                AcquireResult::Unknown | AcquireResult::NamespaceMissing => {}
            }
        }
    }

    /// Gives the lease up, if it is ours, so that the next one need not wait.
    pub async fn release(&mut self) {
        if !self.is_leader() {
            return;
        }
        let Some((lease, _)) = &self.observed else {
            return;
        };
        let released = LeaderElectionRecord::from_lease(lease)
            .released(self.clock.now())
            .apply_to(lease.clone());
        let patience = self.clock.to_wall(self.config.retry_period);
        let write = self.write(&released);
        match tokio::time::timeout(patience, write).await {
            Ok(Ok(lease)) => self.observed = Some((lease, Instant::now())),
            Ok(Err(error)) => tracing::debug!(%error, "the lease was not released"),
            Err(_) => tracing::debug!("the lease was not released in time"),
        }
    }

    /// Tries once to get or renew the lease. A request that hangs leaves time for another.
    async fn try_with_timeout(&mut self, deadline: Instant) -> AcquireResult {
        let patience = self.clock.to_wall(self.config.renew_deadline) / 2;
        let deadline = deadline.min(Instant::now() + patience);
        match tokio::time::timeout_at(deadline, self.try_acquire_or_renew()).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) if is_namespace_missing(&error) => AcquireResult::NamespaceMissing,
            Ok(Err(error)) => {
                tracing::debug!(%error, "no word on the lease");
                AcquireResult::Unknown
            }
            Err(_) => AcquireResult::Unknown,
        }
    }

    async fn try_acquire_or_renew(&mut self) -> kube::Result<AcquireResult> {
        let now = self.clock.now();
        let Some(lease) = self.api.get_opt(&self.config.name).await? else {
            let lease =
                LeaderElectionRecord::new_leader(&self.config, now).apply_to(self.new_lease());
            let params = PostParams::default();
            return self.observe_write(self.api.create(&params, &lease).await);
        };
        let record = LeaderElectionRecord::from_lease(&lease);
        let changed = match &self.observed {
            Some((before, _)) => LeaderElectionRecord::from_lease(before) != record,
            None => true,
        };
        let since = match &self.observed {
            Some((_, since)) if !changed => *since,
            _ => Instant::now(),
        };
        self.observed = Some((lease.clone(), since));
        let ours = record.holder_identity.as_deref() == Some(self.config.identity.as_str());
        let lasts = self
            .clock
            .to_wall(record.lease_duration.unwrap_or(self.config.lease_duration));
        if !ours && record.holder_identity.is_some() && since.elapsed() < lasts {
            return Ok(AcquireResult::HeldByOther);
        }
        let next = record.renewed(&self.config, ours, now).apply_to(lease);
        let written = self.write(&next).await;
        self.observe_write(written)
    }

    fn observe_write(&mut self, written: kube::Result<Lease>) -> kube::Result<AcquireResult> {
        match written {
            Ok(lease) => {
                self.observed = Some((lease, Instant::now()));
                Ok(AcquireResult::Acquired)
            }
            // Somebody else was quicker; who, the next look tells.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(AcquireResult::Unknown),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, lease: &Lease) -> kube::Result<Lease> {
        let params = PostParams::default();
        self.api.replace(&self.config.name, &params, lease).await
    }

    fn new_lease(&self) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.name = Some(self.config.name.clone());
        lease
    }
}

/// Whether the cluster says that the namespace is not there, or about to go.
fn is_namespace_missing(error: &kube::Error) -> bool {
    let kind = match error {
        kube::Error::Api(status) => status.details.as_ref().map(|details| details.kind.as_str()),
        _ => None,
    };
    (is_not_found(error) && kind == Some("namespaces")) || is_namespace_terminating(error)
}
