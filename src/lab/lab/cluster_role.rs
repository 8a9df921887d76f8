//! [`ClusterRole`]: whether the embedded cluster of a lab has worker clusters, or is one.

/// The role of an embedded cluster in MultiKueue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClusterRole {
    /// Neither manager nor worker.
    #[default]
    Single,
    /// A manager with this number of embedded worker clusters, `worker1` and so on.
    Manager {
        /// The number of worker clusters.
        workers: usize,
    },
    /// A copy of a cluster: without worker clusters, whatever `clusters.yaml` of presets names.
    WithoutWorkers,
    /// A worker.
    Worker {
        /// The name of the cluster.
        name: String,
    },
}

impl ClusterRole {
    /// Whether the cluster can have worker clusters.
    pub(crate) fn may_have_workers(&self) -> bool {
        matches!(self, Self::Single | Self::Manager { .. })
    }

    /// The name of a worker; None for other clusters.
    pub(crate) fn worker_name(&self) -> Option<&str> {
        match self {
            Self::Worker { name } => Some(name),
            _ => None,
        }
    }
}
