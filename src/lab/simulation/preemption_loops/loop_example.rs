//! [`LoopExample`]: jobs of which one preempts another repeatedly.

use std::fmt;

use serde_json::Value;

/// The cause of the repeated preemptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopKind {
    /// The shares are compared without a target of the preemptor's ClusterQueue that is not needed in the
    /// end, so the order of admission is another one than that of the comparison.
    FairSharing,
    /// A workload reclaims quota, and is preempted in its ClusterQueue by one that has to borrow; the quota that
    /// gets free goes back to the one that it was reclaimed from.
    WithinClusterQueue,
    /// A workload preempts with fewer pods, and is ordered with all of them.
    PartialAdmission,
}

/// A job of an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopJob {
    /// Its ClusterQueue.
    pub cluster_queue: String,
    /// The request of each pod.
    pub amount: String,
    /// The number of pods.
    pub pods: i64,
    /// The least number of pods, with partial admission.
    pub min_pods: Option<i64>,
    /// Its priority.
    pub priority: i32,
}

/// A flavor whose nodes all jobs of an example select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedFlavor {
    /// Its name.
    pub name: String,
    /// Its node labels, the node selector of the jobs.
    pub node_labels: Value,
}

/// Jobs of which one preempts another repeatedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopExample {
    /// The cause.
    pub kind: LoopKind,
    /// The requested resource.
    pub resource: String,
    /// The flavor whose nodes the jobs select, if there are others.
    pub selected: Option<SelectedFlavor>,
    /// The jobs in the order of their submission.
    pub jobs: Vec<LoopJob>,
    /// The index of the preemptor.
    pub preemptor: usize,
    /// The index of the job that is preempted, and admitted again.
    pub target: usize,
}

impl LoopExample {
    /// The preemptor and its target, such as `the third preempts the first`.
    pub fn repetition(&self) -> String {
        let ordinal = |index: usize| ["first", "second", "third", "fourth"].get(index).copied();
        let (by, of) = (ordinal(self.preemptor), ordinal(self.target));
        format!(
            "the {} preempts the {}",
            by.unwrap_or_default(),
            of.unwrap_or_default()
        )
    }
}

impl fmt::Display for LoopExample {
    /// The jobs, such as `5 cpu in heavy with priority 0, then …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, job) in self.jobs.iter().enumerate() {
            let then = if index == 0 { "" } else { ", then " };
            let LoopJob { amount, pods, .. } = job;
            let amount = match (job.pods, job.min_pods) {
                (1, None) => format!("{amount} {}", self.resource),
                (_, None) => format!("{pods} pods of {amount} {}", self.resource),
                (_, Some(min)) => format!("{min} to {pods} pods of {amount} {}", self.resource),
            };
            let (queue, priority) = (&job.cluster_queue, job.priority);
            write!(f, "{then}{amount} in {queue} with priority {priority}")?;
        }
        match &self.selected {
            Some(flavor) => write!(f, ", all with the nodeSelector of flavor {}", flavor.name),
            None => Ok(()),
        }
    }
}
