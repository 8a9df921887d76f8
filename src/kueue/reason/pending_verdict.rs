//! [`PendingVerdict`]: whether a pending workload can ever be admitted as it is, and its reason.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::PendingReason;
use crate::resources::ResourceFormatter;

/// The kind of a [`PendingVerdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PendingVerdictKind {
    /// Not admissible unless the workload or the queue changes, even without any usage.
    Never,
    /// Held until a user or a controller releases it.
    Held,
    /// Waits for quota, for workloads before it in the queue, or for preempted workloads.
    Waits,
}

impl PendingVerdictKind {
    /// The word in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            PendingVerdictKind::Never => "never",
            PendingVerdictKind::Held => "held",
            PendingVerdictKind::Waits => "waits",
        }
    }
}

/// The verdict on a pending workload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingVerdict {
    /// Its kind.
    pub kind: PendingVerdictKind,
    /// Why it is pending.
    pub reason: PendingReason,
}

impl PendingReason {
    /// Whether a workload with this reason can be admitted as it is.
    pub fn kind(&self) -> PendingVerdictKind {
        match self {
            PendingReason::NoQueueName
            | PendingReason::LocalQueueNotFound { .. }
            | PendingReason::ClusterQueueNotFound { .. }
            | PendingReason::Inadmissible { .. }
            | PendingReason::NeverFits { .. } => PendingVerdictKind::Never,
            PendingReason::Deactivated
            | PendingReason::LocalQueueInactive { .. }
            | PendingReason::ClusterQueueInactive { .. }
            | PendingReason::AdmissionGated { .. }
            | PendingReason::PreemptionGated
            | PendingReason::OnHold
            | PendingReason::WaitingForReplacementPods
            | PendingReason::NotRequeued { .. } => PendingVerdictKind::Held,
            PendingReason::RequeueBackoff { .. }
            | PendingReason::Fits { .. }
            | PendingReason::AwaitsRequeue { .. }
            | PendingReason::DeferredFit
            | PendingReason::NeedsPreemption { .. }
            | PendingReason::PendingPreemption { .. }
            | PendingReason::Insufficient { .. }
            | PendingReason::Evaluated { .. }
            | PendingReason::BlockedByHead { .. }
            | PendingReason::NotEvaluated { .. } => PendingVerdictKind::Waits,
        }
    }
}

impl From<PendingReason> for PendingVerdict {
    fn from(reason: PendingReason) -> Self {
        PendingVerdict {
            kind: reason.kind(),
            reason,
        }
    }
}

impl PendingVerdict {
    /// The reason as text, in the units of conditions.
    pub fn text(&self) -> String {
        self.reason.text(&ResourceFormatter::default())
    }
}

impl std::fmt::Display for PendingVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.text())
    }
}

impl Serialize for PendingVerdict {
    /// The value, and its text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("PendingVerdict", 3)?;
        fields.serialize_field("kind", &self.kind)?;
        fields.serialize_field("text", &self.text())?;
        fields.serialize_field("reason", &self.reason)?;
        fields.end()
    }
}
