//! The leader elector: acquires, renews and releases a Lease.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::PostParams;
use kueue_lab_controller_runtime::Api;
use tokio::time::Instant;

use super::leader_election_record::LeaderElectionRecord;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller_runtime::api_errors::{
    is_conflict, is_namespace_terminating, is_not_found,
};

/// The configuration of an election.
#[derive(Clone, Debug)]
pub struct LeaderElectionConfig {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// The identity of this candidate; unique among candidates.
    pub identity: String,
    /// The time for which followers wait after the last renewal that they observed.
    pub lease_duration: Duration,
    /// The time for which the leader retries a renewal before it loses the leadership; less than
    /// `lease_duration`.
    pub renew_deadline: Duration,
    /// The interval between attempts.
    pub retry_period: Duration,
    /// Whether the durations are wall-clock time while the clock is faster than it: the Lease is
    /// then renewed as often as in a real cluster, regardless of the speed.
    pub keeps_wall_time: bool,
}

impl LeaderElectionConfig {
    /// The defaults of client-go: 15 s, 10 s and 2 s.
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
            keeps_wall_time: false,
        }
    }

    /// The configuration with the durations of an attempt in lab time, at a speed of the clock.
    fn at_speed(&self, speed: f64) -> Self {
        let factor = match self.keeps_wall_time {
            true => speed.max(1.0),
            false => 1.0,
        };
        Self {
            lease_duration: self.lease_duration.mul_f64(factor),
            renew_deadline: self.renew_deadline.mul_f64(factor),
            retry_period: self.retry_period.mul_f64(factor),
            ..self.clone()
        }
    }
}

/// The result of an attempt.
#[derive(Debug, PartialEq, Eq)]
enum AcquireResult {
    /// The Lease is held by this candidate.
    Acquired,
    /// The Lease is held by another candidate.
    HeldByOther,
    /// Unknown: a Conflict, or no response.
    Unknown,
    /// The namespace of the Lease is missing or terminating.
    NamespaceMissing,
}

/// No election is possible: the namespace of the Lease is missing or terminating.
#[derive(Debug, PartialEq, Eq)]
pub struct NamespaceMissing;

/// A candidate.
pub struct LeaderElector {
    api: Api<Lease>,
    clock: Clock,
    entropy: Entropy,
    /// The configuration with durations as they were given.
    given: LeaderElectionConfig,
    /// The configuration at the speed of the last attempt.
    config: LeaderElectionConfig,
    /// The Lease as last observed, and when it was observed to change.
    observed: Option<(Lease, Moment)>,
}

/// A moment in wall-clock time and in lab time, which stands still while the clock is paused.
#[derive(Clone, Copy, Debug)]
struct Moment {
    wall: Instant,
    lab: Timestamp,
}

impl Moment {
    fn now(clock: &Clock) -> Self {
        Self {
            wall: Instant::now(),
            lab: clock.now(),
        }
    }

    /// How long the clock was paused since.
    fn paused(self, clock: &Clock) -> Duration {
        if !clock.is_adjustable() {
            return Duration::ZERO;
        }
        let lab = clock.now().duration_since(self.lab).unsigned_abs();
        self.wall.elapsed().saturating_sub(clock.to_wall(lab))
    }

    /// Whether a duration in lab time has passed since. Wall-clock time counts too: the speed of the clock may have
    /// been raised.
    fn is_older_than(self, duration: Duration, clock: &Clock) -> bool {
        let lab = clock.now().duration_since(self.lab);
        let lab_passed = SignedDuration::try_from(duration).is_ok_and(|d| lab >= d);
        // Only an adjustable clock is paused; others are not trusted to be monotonic.
        (lab_passed || !clock.is_adjustable()) && self.wall.elapsed() >= clock.to_wall(duration)
    }
}

impl LeaderElector {
    /// Creates a candidate.
    pub fn new(
        client: Client,
        clock: Clock,
        entropy: Entropy,
        config: LeaderElectionConfig,
    ) -> Self {
        Self {
            api: Api::namespaced(client, &config.namespace),
            entropy,
            config: config.at_speed(clock.speed()),
            given: config,
            clock,
            observed: None,
        }
    }

    /// The identity of this candidate.
    pub fn identity(&self) -> &str {
        &self.config.identity
    }

    /// The leader, as last observed.
    pub fn leader(&self) -> Option<String> {
        let (lease, _) = self.observed.as_ref()?;
        LeaderElectionRecord::from_lease(lease).holder_identity
    }

    /// Whether this candidate is the leader, as last observed.
    pub fn is_leader(&self) -> bool {
        self.leader()
            .is_some_and(|leader| leader == self.config.identity)
    }

    /// Waits until this candidate is the leader. Calls `others` with the identity of each other
    /// leader observed.
    ///
    /// # Errors
    /// The namespace of the Lease is missing.
    pub async fn acquire(&mut self, mut others: impl FnMut(&str)) -> Result<(), NamespaceMissing> {
        let mut last_leader = None;
        loop {
            let deadline = Instant::now() + self.clock.to_wall(self.config.renew_deadline);
            match self.try_with_timeout(deadline).await {
                AcquireResult::Acquired => return Ok(()),
                AcquireResult::NamespaceMissing => return Err(NamespaceMissing),
                AcquireResult::HeldByOther | AcquireResult::Unknown => {}
            }
            let leader = self.leader().filter(|l| *l != self.config.identity);
            if leader != last_leader {
                leader.iter().for_each(|leader| others(leader));
                last_leader = leader;
            }
            // Jitter, so that candidates do not retry at the same time.
            let delay = self
                .config
                .retry_period
                .mul_f64(1.0 + 1.2 * self.entropy.unit());
            self.clock.sleep(delay).await;
        }
    }

    /// Makes one attempt to become the leader. Returns whether this candidate is the leader.
    pub async fn try_acquire(&mut self) -> bool {
        let deadline = Instant::now() + self.clock.to_wall(self.config.renew_deadline);
        self.try_with_timeout(deadline).await == AcquireResult::Acquired
    }

    /// Continues the leadership under another identity. Returns whether this candidate is still the
    /// leader; the identity changes in any case.
    pub async fn change_identity(&mut self, identity: String) -> bool {
        self.given.identity.clone_from(&identity);
        let was_leader = self.is_leader();
        self.config.identity = identity;
        let Some((lease, _)) = self.observed.clone().filter(|_| was_leader) else {
            return false;
        };
        let record = LeaderElectionRecord::from_lease(&lease);
        let next = record.renewed(&self.config, true, self.clock.now());
        let written = self.write(&next.apply_to(lease)).await;
        matches!(self.observe_write(written), Ok(AcquireResult::Acquired))
    }

    /// Renews the Lease; returns when leadership is lost, before another candidate can acquire it.
    pub async fn renew(&mut self) {
        // Fixed at each renewal: a later change of the clock's speed does not end the leadership.
        let mut deadline = Instant::now() + self.clock.to_wall(self.config.renew_deadline);
        loop {
            let asleep = Moment::now(&self.clock);
            self.clock.sleep(self.config.retry_period).await;
            let start = Instant::now();
            // Lab time does not pass in a pause.
            deadline += asleep.paused(&self.clock);
            match self.try_with_timeout(deadline).await {
                // The renewal counts from the time of its request.
                AcquireResult::Acquired => {
                    deadline = start + self.clock.to_wall(self.config.renew_deadline);
                }
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

    /// Releases the Lease, if this candidate holds it, so that the next leader need not wait.
    ///
    /// Reads the Lease first, as client-go does: a cancelled attempt may have reached the API
    /// server without a response, so the last observed Lease may be outdated.
    pub async fn release(&mut self) {
        let timeout = self.clock.to_wall(self.config.renew_deadline) / 2;
        match tokio::time::timeout(timeout, self.try_release()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "cannot release the Lease"),
            Err(_) => tracing::debug!("cannot release the Lease: timeout"),
        }
    }

    async fn try_release(&mut self) -> kube::Result<()> {
        loop {
            let Some(lease) = self.api.get_opt(&self.config.name).await? else {
                return Ok(());
            };
            let record = LeaderElectionRecord::from_lease(&lease);
            self.observed = Some((lease.clone(), Moment::now(&self.clock)));
            if !self.is_leader() {
                return Ok(());
            }
            let released = record.released(self.clock.now()).apply_to(lease);
            match self.write(&released).await {
                Ok(lease) => {
                    self.observed = Some((lease, Moment::now(&self.clock)));
                    return Ok(());
                }
                // The cancelled attempt was written between the two requests.
                Err(error) if is_conflict(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// One attempt to acquire or renew. A hanging request is cancelled in time for another attempt.
    async fn try_with_timeout(&mut self, deadline: Instant) -> AcquireResult {
        self.config = self.given.at_speed(self.clock.speed());
        let timeout = self.clock.to_wall(self.config.renew_deadline) / 2;
        let deadline = deadline.min(Instant::now() + timeout);
        match tokio::time::timeout_at(deadline, self.try_acquire_or_renew()).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) if is_namespace_missing(&error) => AcquireResult::NamespaceMissing,
            Ok(Err(error)) => {
                tracing::debug!(%error, "cannot get or update the Lease");
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
            _ => Moment::now(&self.clock),
        };
        self.observed = Some((lease.clone(), since));
        let is_holder = record.holder_identity.as_deref() == Some(self.config.identity.as_str());
        let lease_duration = record.lease_duration.unwrap_or(self.config.lease_duration);
        let is_expired = since.is_older_than(lease_duration, &self.clock);
        if !is_holder && record.holder_identity.is_some() && !is_expired {
            return Ok(AcquireResult::HeldByOther);
        }
        let next = record.renewed(&self.config, is_holder, now).apply_to(lease);
        let written = self.write(&next).await;
        self.observe_write(written)
    }

    fn observe_write(&mut self, written: kube::Result<Lease>) -> kube::Result<AcquireResult> {
        match written {
            Ok(lease) => {
                self.observed = Some((lease, Moment::now(&self.clock)));
                Ok(AcquireResult::Acquired)
            }
            // Another candidate was faster; the next attempt reads its record.
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

/// Whether the error means that the namespace is missing or terminating.
fn is_namespace_missing(error: &kube::Error) -> bool {
    let kind = match error {
        kube::Error::Api(status) => status.details.as_ref().map(|details| details.kind.as_str()),
        _ => None,
    };
    (is_not_found(error) && kind == Some("namespaces")) || is_namespace_terminating(error)
}
