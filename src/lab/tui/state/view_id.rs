//! Identifiers of views.

/// Identifies a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ViewId {
    /// Cohorts, ClusterQueues and LocalQueues.
    #[default]
    Queues,
    /// Workloads.
    Workloads,
    /// Evictions and preemptions.
    Evictions,
    /// Nodes and their devices.
    Nodes,
    /// Presets.
    Presets,
    /// Events.
    Events,
    /// Managed jobs of SkyPilot.
    Jobs,
}

impl ViewId {
    /// All views, from left to right.
    pub(crate) const ALL: [Self; 7] = [
        Self::Queues,
        Self::Workloads,
        Self::Evictions,
        Self::Nodes,
        Self::Presets,
        Self::Events,
        Self::Jobs,
    ];

    /// The index from the left, from zero.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// The view `steps` to the right, wrapping around.
    #[must_use]
    pub(crate) fn step(self, steps: isize) -> Self {
        let n = Self::ALL.len() as isize;
        Self::ALL[(self.index() as isize + steps).rem_euclid(n) as usize]
    }
}
