//! Who of several instances leads, by a Lease, as Kubernetes' own controllers settle it.
//!
//! Nobody trusts anybody's clock: a lease is over when its holder was not *seen* to renew it for as
//! long as it lasts. A leader that cannot renew stops leading before others may think so.
//!
//! Knows the cluster only through a `kube::Client`, and nothing of what the leader does.

mod record;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::Instant;

use kueue_lab_clock::Clock;
use kueue_lab_entropy::Entropy;
use kueue_lab_runtime::refusals::{is_namespace_going, is_not_found};
use record::Record;

/// How an election is held.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who takes part; no two instances may have the same.
    pub identity: String,
    /// How long a leader may be silent.
    pub lease: Duration,
    /// How long a leader tries to renew before it gives up; shorter than `lease`.
    pub renew_deadline: Duration,
    /// How often is tried.
    pub retry: Duration,
}

impl Rules {
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
            lease: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// What came of a try.
#[derive(Debug, PartialEq, Eq)]
enum Try {
    /// The lease is ours.
    Ours,
    /// It is somebody else's.
    Theirs,
    /// There is no telling: a conflict, or the cluster does not answer.
    Unknown,
    /// The namespace of the lease is not there, or about to go.
    NoNamespace,
}

/// There is no election, since the namespace of the Lease is not there, or about to go.
#[derive(Debug, PartialEq, Eq)]
pub struct NoNamespace;

/// A part in an election.
pub struct Candidate {
    api: Api<Lease>,
    clock: Clock,
    entropy: Entropy,
    rules: Rules,
    /// The Lease as last seen, and when it was seen to have changed.
    seen: Option<(Lease, Instant)>,
}

impl Candidate {
    /// Takes part.
    pub fn new(client: Client, clock: Clock, entropy: Entropy, rules: Rules) -> Self {
        Self {
            api: Api::namespaced(client, &rules.namespace),
            clock,
            entropy,
            rules,
            seen: None,
        }
    }

    /// Who leads, as far as was seen.
    pub fn leader(&self) -> Option<String> {
        let (lease, _) = self.seen.as_ref()?;
        Record::of(lease).holder
    }

    /// Whether this one leads, as far as was seen.
    pub fn leads(&self) -> bool {
        self.leader()
            .is_some_and(|leader| leader == self.rules.identity)
    }

    /// Waits until this one leads. Calls `others` with the name whenever somebody else is seen to.
    ///
    /// # Errors
    /// The namespace is missing: there will be no election until somebody makes it.
    pub async fn lead(&mut self, mut others: impl FnMut(&str)) -> Result<(), NoNamespace> {
        let mut told = None;
        loop {
            let deadline = Instant::now() + self.clock.to_wall(self.rules.renew_deadline);
            match self.attempt(deadline).await {
                Try::Ours => return Ok(()),
                Try::NoNamespace => return Err(NoNamespace),
                Try::Theirs | Try::Unknown => {}
            }
            let leader = self.leader().filter(|l| *l != self.rules.identity);
            if leader != told {
                leader.iter().for_each(|leader| others(leader));
                told = leader;
            }
            // Spread out, so that those who wait do not all come at once.
            let pause = self.rules.retry.mul_f64(1.0 + 1.2 * self.entropy.unit());
            self.clock.sleep(pause).await;
        }
    }

    /// Stays the leader; returns when it is not any more, in time before anybody else can be.
    pub async fn stay(&mut self) {
        let mut renewed = Instant::now();
        loop {
            self.clock.sleep(self.rules.retry).await;
            let deadline = renewed + self.clock.to_wall(self.rules.renew_deadline);
            let begun = Instant::now();
            match self.attempt(deadline).await {
                // What was asked for is good from when it was asked for.
                Try::Ours => renewed = begun,
                Try::Theirs => return,
                Try::Unknown | Try::NoNamespace if Instant::now() >= deadline => return,
                Try::Unknown | Try::NoNamespace => {}
            }
        }
    }

    /// Gives the lease up, if it is ours, so that the next one need not wait.
    pub async fn release(&mut self) {
        if !self.leads() {
            return;
        }
        let Some((lease, _)) = &self.seen else { return };
        let released = Record::of(lease)
            .released(self.clock.now())
            .onto(lease.clone());
        let patience = self.clock.to_wall(self.rules.retry);
        let write = self.write(&released);
        match tokio::time::timeout(patience, write).await {
            Ok(Ok(lease)) => self.seen = Some((lease, Instant::now())),
            Ok(Err(error)) => tracing::debug!(%error, "the lease was not released"),
            Err(_) => tracing::debug!("the lease was not released in time"),
        }
    }

    /// Tries once to get or renew the lease. A request that hangs leaves time for another.
    async fn attempt(&mut self, deadline: Instant) -> Try {
        let patience = self.clock.to_wall(self.rules.renew_deadline) / 2;
        let deadline = deadline.min(Instant::now() + patience);
        match tokio::time::timeout_at(deadline, self.acquire_or_renew()).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) if wants_namespace(&error) => Try::NoNamespace,
            Ok(Err(error)) => {
                tracing::debug!(%error, "no word on the lease");
                Try::Unknown
            }
            Err(_) => Try::Unknown,
        }
    }

    async fn acquire_or_renew(&mut self) -> kube::Result<Try> {
        let now = self.clock.now();
        let Some(lease) = self.api.get_opt(&self.rules.name).await? else {
            let lease = Record::first(&self.rules, now).onto(self.empty());
            let params = PostParams::default();
            return self.took(self.api.create(&params, &lease).await);
        };
        let record = Record::of(&lease);
        let changed = match &self.seen {
            Some((before, _)) => Record::of(before) != record,
            None => true,
        };
        let since = match &self.seen {
            Some((_, since)) if !changed => *since,
            _ => Instant::now(),
        };
        self.seen = Some((lease.clone(), since));
        let ours = record.holder.as_deref() == Some(self.rules.identity.as_str());
        let lasts = self.clock.to_wall(record.lasts.unwrap_or(self.rules.lease));
        if !ours && record.holder.is_some() && since.elapsed() < lasts {
            return Ok(Try::Theirs);
        }
        let next = record.renewed(&self.rules, ours, now).onto(lease);
        let written = self.write(&next).await;
        self.took(written)
    }

    fn took(&mut self, written: kube::Result<Lease>) -> kube::Result<Try> {
        match written {
            Ok(lease) => {
                self.seen = Some((lease, Instant::now()));
                Ok(Try::Ours)
            }
            // Somebody else was quicker; who, the next look tells.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Try::Unknown),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, lease: &Lease) -> kube::Result<Lease> {
        let params = PostParams::default();
        self.api.replace(&self.rules.name, &params, lease).await
    }

    fn empty(&self) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.name = Some(self.rules.name.clone());
        lease
    }
}

/// Whether the cluster says that the namespace is not there, or about to go.
fn wants_namespace(error: &kube::Error) -> bool {
    let kind = match error {
        kube::Error::Api(status) => status.details.as_ref().map(|details| details.kind.as_str()),
        _ => None,
    };
    (is_not_found(error) && kind == Some("namespaces")) || is_namespace_going(error)
}

#[cfg(test)]
mod tests;
