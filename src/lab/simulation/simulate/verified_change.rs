//! [`VerifiedChange`]: a change that admits workloads, and whom they preempt with it.

use serde::{Deserialize, Serialize};

use super::admitting_change::AdmittingChange;
use super::preempted_workload::PreemptedWorkload;
use kueue_lab_api::list_names;

/// The most preempted workloads that the text of a change names.
const MAX_NAMED: usize = 3;

/// A change that admits workloads, with the results of the run in which the engine verified it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedChange {
    /// The change.
    #[serde(flatten)]
    pub change: AdmittingChange,
    /// The preemptions until the workloads are admitted, in order. Of a priority with a class they are those with
    /// the class.
    pub preemptions: Vec<PreemptedWorkload>,
}

impl std::fmt::Display for VerifiedChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.change)?;
        let mut workloads: Vec<String> = Vec::new();
        let mut reasons: Vec<&str> = Vec::new();
        for preemption in &self.preemptions {
            let workload = preemption.workload.to_string();
            if !workloads.contains(&workload) {
                workloads.push(workload);
            }
            let reason = preemption.reason.as_str();
            if !reason.is_empty() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        if workloads.is_empty() {
            return Ok(());
        }
        write!(f, "; preempts {}", list_names(&workloads, MAX_NAMED))?;
        match reasons.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", reasons.join(", ")),
        }
    }
}
