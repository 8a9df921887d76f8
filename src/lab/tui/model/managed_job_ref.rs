//! References to managed jobs of SkyPilot.

use super::SkyPilotCluster;

/// A reference to a managed job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ManagedJobRef {
    /// The job that launched a cluster, if the lab runs it.
    OfCluster(SkyPilotCluster),
    /// A job of the lab.
    Object {
        /// The name of its `ManagedJob`.
        name: String,
        /// Its id and name, for messages.
        title: String,
    },
}
