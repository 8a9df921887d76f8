//! The views there are.

/// A view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViewId {
    /// Queues as a cohort tree.
    #[default]
    Queues,
    /// Workloads.
    Workloads,
    /// Who evicted whom.
    Evictions,
    /// Nodes and their devices.
    Nodes,
    /// Presets.
    Presets,
    /// Events.
    Events,
}

impl ViewId {
    /// All views, from left to right.
    pub const ALL: [ViewId; 6] = [
        ViewId::Queues,
        ViewId::Workloads,
        ViewId::Evictions,
        ViewId::Nodes,
        ViewId::Presets,
        ViewId::Events,
    ];

    /// The name on the tab.
    pub fn title(self) -> &'static str {
        match self {
            ViewId::Queues => "Queues",
            ViewId::Workloads => "Workloads",
            ViewId::Evictions => "Preemptions",
            ViewId::Nodes => "Nodes",
            ViewId::Presets => "Presets",
            ViewId::Events => "Events",
        }
    }

    /// The place from the left, from zero.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The view `steps` to the right, going round.
    pub fn step(self, steps: isize) -> Self {
        let n = Self::ALL.len() as isize;
        Self::ALL[(self.index() as isize + steps).rem_euclid(n) as usize]
    }
}
